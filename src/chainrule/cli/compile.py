"""``chainrule compile``: the matrix program hidden in a network's neurons."""

from __future__ import annotations

import re
import textwrap
from typing import Any, Final

import click

from chainrule.cli.datasets import GENERATED, load_data
from chainrule.cli.output import console, show
from chainrule.cli.problem import Problem
from chainrule.errors import OptionError
from chainrule.nn import LOSSES, Network

__all__ = ["command"]

WIDTH: Final = 80
INDENT: Final = "  "


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  chainrule compile xor --show
  chainrule compile 64-32-10                       as for pictures of digits
  chainrule compile 2-8-1 --activation relu --show
  chainrule compile flowers.json --show            a network that was saved""",
)
@click.argument("network", metavar="NETWORK")
@click.option("--activation", metavar="NAME", help="Of the hidden layers.  [default: tanh]")
@click.option("--loss", type=click.Choice(list(LOSSES)), help="What training makes small.")
@click.option("--show", "shown", is_flag=True, help="Print the program beside the neurons.")
def command(network: str, activation: str | None, loss: str | None, shown: bool) -> None:
    """Find the matrix program in the neurons of NETWORK.

    NETWORK is a data set that `train` knows (xor, circle ...), a number of neurons for
    each layer such as 2-8-1, or a model file.
    """
    net, measure = _network(network, activation, loss)
    program = _compiled(net, measure)
    out = console()
    found = program.report
    show(
        out,
        *textwrap.wrap(str(net)[1:-1], WIDTH),
        f"Loss: {measure}",
        f"{found.scalar_nodes:,} scalar nodes became {found.statements:,} statements.",
        f"Compiled in {1000 * found.seconds:.1f} ms; {found.bytes_per_example:,} bytes per row.",
        *textwrap.wrap(found.note, WIDTH),
    )
    if shown:
        show(out, *_lines(net, measure, program))
    else:
        show(out, "", "To see the program, add --show.")


def _network(name: str, activation: str | None, loss: str | None) -> tuple[Network, str]:
    """The network, and the name of its loss."""
    if name.endswith(".json"):
        if activation is not None:
            raise OptionError("--activation is for a new network; the one in the file has its own.")
        net = Network.load(name)
        return net, loss or Problem.of(net, name).loss or "mse"
    if name in GENERATED:
        options = dict.fromkeys(["n", "classes", "target", "header", "delimiter"])
        data = load_data(name, loss=loss, seed=0, **options)
        problem = data.problem
        sizes = [len(problem.features), *data.recipe.hidden, problem.outputs]
        used = activation or data.recipe.activation
        return Network(sizes, used, problem.output_activation, seed=0), problem.loss
    if not re.fullmatch(r"[1-9]\d*(-[1-9]\d*)+", name):
        raise OptionError(
            f"NETWORK is one of {', '.join(GENERATED)}, or the number of inputs and of neurons in "
            f"each layer, such as 2-8-1, or a model file ending in .json; got {name!r}."
        )
    sizes = [int(size) for size in name.split("-")]
    measure = loss or ("mse" if sizes[-1] == 1 else "cross_entropy")
    LOSSES[measure].check_outputs(sizes[-1])
    last = LOSSES[measure].output_activation or "linear"
    return Network(sizes, activation or "tanh", last, seed=0), measure


def _compiled(net: Network, measure: str) -> Any:
    from chainrule.compiler import compile

    loss = LOSSES[measure].function
    step = compile(lambda x, y: loss(net(x), y), parameters=net.parameters())
    single = LOSSES[measure].outputs == "several" or net.sizes[-1] == 1
    step([[0.5] * net.sizes[0]], [1.0 if single else [1.0] * net.sizes[-1]])
    return step


def _lines(net: Network, measure: str, program: Any) -> list[str]:
    from chainrule.compiler.listing import listing

    names = [name for name, _ in net.named_parameters()]
    layers = {f"layers.{i}": layer for i, layer in enumerate(net.layers)}
    activations = {name: str(layer.neurons[0].activation) for name, layer in layers.items()}
    found = listing(program.program, program.source, names, activations, width=WIDTH - len(INDENT))
    wide = max([len(name) for name in layers])
    lines = ["", "Neurons, one number at a time:", ""]
    for name, layer in layers.items():
        count = f"{layer.n_outputs} neuron{'s' * (layer.n_outputs > 1)}"
        neuron = _neuron(activations[name], layer.n_inputs)
        lines.append(f"{INDENT}{name:{wide}}  {count}: {neuron}")
    lines.append(f"{INDENT}{'loss':{wide}}  {measure}(output, y)")
    for title, part in (
        ("Matrices, all rows of a batch at a time:", [*found.weights, "", *found.forward]),
        ("Backward, from the loss to the weights; seed is the weight of each row:", found.backward),
    ):
        lines += ["", title, "", *[f"{INDENT}{line}".rstrip() for line in part]]
    return lines


def _neuron(activation: str, inputs: int) -> str:
    """What one neuron computes, such as ``tanh(b + w0*x0 + w1*x1)``."""
    terms = [f"w{i}*x{i}" for i in range(inputs)]
    if inputs > 4:
        terms[2:-1] = ["..."]
    total = " + ".join(["b", *terms])
    return total if activation == "linear" else f"{activation}({total})"
