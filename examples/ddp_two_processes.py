"""A network of chainrule's under PyTorch's DistributedDataParallel, on two processes.

Each process works on half of the rows, and DistributedDataParallel averages their
gradients.  The result must be the gradient of all rows in one process, and
that of chainrule, number by number.  Run it with

    python examples/ddp_two_processes.py

It needs PyTorch.  The processes talk over the loopback interface alone.
"""

import os
import sys
import tempfile
from pathlib import Path

import torch
from torch.nn.parallel import DistributedDataParallel

from chainrule import Network, mse_loss
from chainrule.data import moons
from chainrule.interop.torch import to_module
from chainrule.ops import mean

PROCESSES = 2
ROWS = 40


def problem():
    """The same network and rows in every process."""
    X, y = moons(ROWS, seed=1)
    return Network([2, 8, 1], activation="tanh", output_activation="linear", seed=0), X, y


def gradients_of(module, X, y):
    """The gradient of the mean squared error, as one flat list."""
    outputs = module(torch.tensor(X, dtype=torch.float64))
    targets = torch.tensor(y, dtype=torch.float64).reshape(-1, 1)
    torch.nn.functional.mse_loss(outputs, targets).backward()
    return torch.cat([p.grad.reshape(-1) for p in module.parameters()])


def work(rank, folder):
    """One of the processes: its share of the rows, and the averaged gradient."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=PROCESSES
    )
    net, X, y = problem()
    parallel = DistributedDataParallel(to_module(net))
    found = gradients_of(parallel, X[rank::PROCESSES], y[rank::PROCESSES])
    torch.save(found, f"{folder}/gradient{rank}.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    os._exit(0)  # a thread of gloo's that still runs would abort an ordinary exit


def scalar_gradients():
    """The same from chainrule, put into PyTorch's order."""
    net, X, y = problem()
    mean([mse_loss(net(x), t) for x, t in zip(X, y, strict=True)]).backward()
    found = []
    for layer in net.layers:
        found += [w.grad for neuron in layer.neurons for w in neuron.weights]
        found += [neuron.bias.grad for neuron in layer.neurons]
    return torch.tensor(found, dtype=torch.float64)


def main():
    if sys.platform.startswith("linux"):
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    net, X, y = problem()
    alone = gradients_of(to_module(net), X, y)
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (folder,), nprocs=PROCESSES)
        shared = [
            torch.load(Path(folder, f"gradient{rank}.pt"), weights_only=True)
            for rank in range(PROCESSES)
        ]
    print(f"{len(alone)} gradients of {len(X)} rows, on {PROCESSES} processes and on one")
    worst = max(float((found - alone).norm()) for found in shared)
    scalar = float((scalar_gradients() - alone).norm())
    print(f"two processes differ from one by {worst:.1e}, in norm")
    print(f"chainrule differs from PyTorch by {scalar:.1e}")
    return 0 if max(worst, scalar) < 1e-12 else 1


if __name__ == "__main__":
    sys.exit(main())
