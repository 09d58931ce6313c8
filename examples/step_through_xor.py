"""Write a page that plays backpropagation through a network that learns XOR.

A network of two hidden neurons and one output sees one row of XOR's table.  Open the page
that this writes in any browser, and go through the forward and the backward pass with the
arrow keys.

Run it with: python examples/step_through_xor.py [page.html]
"""

import sys

from chainrule import Network, Value, mse_loss, step_through


def xor_loss():
    """The loss for the row (1, 0), after a little training, and with short names."""
    rows, targets = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 0.0]
    net = Network([2, 2, 1], activation="tanh", output_activation="sigmoid", seed=5)
    net.fit(rows, targets, lr=1.0, epochs=40, progress=False)
    net.zero_grad()

    hidden, (output,) = net.layers[0].neurons, net.layers[1].neurons
    for i, neuron in enumerate(hidden, 1):
        neuron.bias.label = f"b{i}"
        for j, weight in enumerate(neuron.weights, 1):
            weight.label = f"w{i}{j}"
    output.bias.label = "c"
    for i, weight in enumerate(output.weights, 1):
        weight.label = f"u{i}"

    x = [Value(1.0, label="x1"), Value(0.0, label="x2")]
    h = [neuron(x) for neuron in hidden]
    for i, value in enumerate(h, 1):
        value.label = f"h{i}"
    p = output(h)
    p.label = "p"
    loss = mse_loss(p, 1.0)
    loss.label = "loss"
    return loss


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "xor.html"
    steps = step_through(xor_loss(), path, title="Backpropagation through a network for XOR")
    print(f"{steps} written to {path}")
