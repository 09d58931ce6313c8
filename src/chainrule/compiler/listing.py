"""A program for readers: each statement beside the scalar operations that it stands for."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chainrule.compiler.program import (
    Contract,
    Elementwise,
    Group,
    Join,
    Program,
    Statement,
    takes_of,
)

__all__ = ["Listing", "listing"]

_WORDS: Final = {
    "add": "sum",
    "sub": "difference",
    "mul": "product",
    "div": "quotient",
    "neg": "sign change",
    "pow": "power",
}
"""What the result of an operation is called, where that is not the operation's name."""


@dataclass(frozen=True)
class Listing:
    """A program as lines of source with comments, each at most as wide as asked for.

    Attributes:
        weights: which parameters stand in which matrix.
        forward: the statements.
        backward: their derivatives.
    """

    weights: list[str]
    forward: list[str]
    backward: list[str]


def listing(
    program: Program,
    source: str,
    names: Sequence[str],
    activations: Mapping[str, str],
    width: int = 80,
) -> Listing:
    r"""Say which scalar operations became which statement.

    Args:
        program: a network's loss on one example.
        source: the same in NumPy.
        names: of the parameters, such as ``"layers.0.neurons.2.bias"``.
        activations: of each layer, by its name, such as ``{"layers.0": "tanh"}``.
        width: characters per line.

    Returns:
        The lines.

    Example:
        >>> from chainrule import compile
        >>> from chainrule.nn import Network, mse_loss
        >>> net = Network([2, 4, 1], activation="tanh", output_activation="linear")
        >>> names, parameters = zip(*net.named_parameters())
        >>> step = compile(lambda x, y: mse_loss(net(x), y), parameters=parameters)
        >>> _ = step([[1.0, 2.0]], [1.0])
        >>> found = listing(step.program, step.source, names, {"layers.0": "tanh"})
        >>> print(*found.forward[:4], sep="\n")
        # layers.0: 4 neurons x (2 products, 2 sums, 1 tanh)
        h1 = np.tanh(x @ W1.T + b1)
        # layers.1: 1 neuron x (4 products, 4 sums)
        z2 = h1 @ W2.T + b2
    """
    head, _, rest = source.partition("def forward_backward")
    inlined = {s.target for s in program.statements if f"    {s.target.name} = " not in head}
    sums = {s.target for s in program.statements if isinstance(s, Contract)}
    parts = _parts(program, [_layer(name) for name in names], activations, inlined & sums)
    by_name = {s.target.name: s for s in program.statements}
    weights, forward = _sections(head)
    backward = rest.partition("# backward\n")[2].splitlines()
    found = Listing([], [], [])
    for line in weights:
        found.weights.extend(_wrapped(line, width))
    before = ""
    for line in forward:
        statement = by_name.get(line.split(" = ")[0].split(", ")[0])
        if statement is not None:
            comment = _comment(program, statement, parts, inlined)
            found.forward.extend(textwrap.wrap(comment, width, subsequent_indent="#   "))
        found.forward.extend(_wrapped(line.partition("  # ")[0], width))
    for line in [each.strip() for each in backward]:
        if not line or line.startswith("return "):
            continue
        target = line.split(" ")[0].lstrip("d")
        part = parts.get(by_name[target].target, before) if target in by_name else before
        if part != before:
            found.backward.append(f"# {part}")
        before = part
        found.backward.extend(_wrapped(line, width))
    return found


def _sections(head: str) -> tuple[list[str], list[str]]:
    """The lines of ``forward``: names of parameters, and statements."""
    lines = [line.strip() for line in head.splitlines()[1:]]
    lines = [line for line in lines if not line.startswith("return ")]
    if "" not in lines:
        return [], lines
    at = lines.index("")
    if " = theta[" not in (lines[0] if lines else ""):
        return [], [line for line in lines if line]
    return lines[:at], [line for line in lines[at:] if line]


def _layer(name: str) -> str:
    """The part of a network that a parameter is in."""
    layer, _, _ = name.partition(".neurons.")
    return layer


def _parts(
    program: Program, layers: Sequence[str], activations: Mapping[str, str], sums: set[Group]
) -> dict[Group, str]:
    """The layer that each statement belongs to, or ``"loss"`` for what comes after the last.

    What a later layer reads belongs to the layer before; so does the activation of the
    last layer, and what shares a line of source with ``sums`` of a layer.
    """
    parts: dict[Group, str] = {}
    feeding: set[Group] = set()
    for statement in reversed(program.statements):
        takes = takes_of(statement)
        if statement.target in feeding or any(take.group is program.parameters for take in takes):
            feeding.update([take.group for take in takes])
    for statement in program.statements:
        own: dict[str, None] = {}
        read: dict[str, None] = {}
        for take in takes_of(statement):
            if take.group is program.parameters:
                own.update(dict.fromkeys([layers[i] for i in take.index.ravel().tolist()]))
            elif take.group in parts:
                read[parts[take.group]] = None
        at = "loss"
        if own:
            at = ", ".join(own)
        elif read and (
            statement.target in feeding
            or _bends(statement, read, activations)
            or any(take.group in sums for take in takes_of(statement))
        ):
            at = ", ".join(read)
        parts[statement.target] = at
    return parts


def _bends(statement: Statement, read: dict[str, None], activations: Mapping[str, str]) -> bool:
    """Whether a statement is the activation of the layer that it reads."""
    (first, *others) = read
    return (
        isinstance(statement, Elementwise)
        and not others
        and activations.get(first) == statement.op.name
    )


def _comment(
    program: Program, statement: Statement, parts: Mapping[Group, str], inlined: set[Group]
) -> str:
    """For example ``# layers.0: 4 neurons x (2 products, 2 sums, 1 tanh)``."""
    size = statement.target.size
    counts: dict[str, int] = {}
    line = [statement]
    read = {take.group for take in takes_of(statement)}
    for each in reversed(program.statements):
        if each.target in inlined & read:
            line.append(each)
            read.update([take.group for take in takes_of(each)])
    for each in reversed(line):
        _count(each, each.target.size // size, counts)
    if not counts:
        return "# side by side"
    listed = ", ".join([f"{n} {word}{'s' * (n > 1)}" for word, n in counts.items()])
    part = parts[statement.target]
    if part == "loss":
        return f"# loss: {listed}" if size == 1 else f"# loss: {size} x ({listed})"
    return f"# {part}: {size} neuron{'s' * (size > 1)} x ({listed})"


def _count(statement: Statement, members: int, counts: dict[str, int]) -> None:
    """Add the scalar operations of some members."""
    if isinstance(statement, Contract):
        blocks = [block for block in statement.blocks if block.right is not None]
        products = sum([block.left.index.shape[1] for block in blocks])
        sums = statement.nodes // statement.target.size - products
        found = {"product": products, "sum": sums}
    elif isinstance(statement, Join):
        found = {}
    else:
        name = statement.op.name
        found = {_WORDS.get(name, name): 1}
    for word, n in found.items():
        if n:
            counts[word] = counts.get(word, 0) + n * members


def _wrapped(line: str, width: int) -> list[str]:
    """A statement, continued on indented lines where it is too long."""
    return textwrap.wrap(line, width, subsequent_indent="        ", break_long_words=False)
