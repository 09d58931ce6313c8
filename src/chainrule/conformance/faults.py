"""The known mistakes, in words: what each is, a hint, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["FAULTS", "Fault", "describe_fault", "fault_of", "methods_of"]


@dataclass(frozen=True)
class Fault:
    """A kind of mistake; ``{op}`` in its texts is the operation.

    Attributes:
        stage: mistakes of a lower stage hide others and are to be mended first: 0 Python,
            1 the backward pass, 2 the rule of an operation, 3 state between passes,
            4 networks.
        title: the mistake in a phrase.
        hint: where to look, without the answer.
        fix: the answer.
        loose: which numbers come out depends on the order in which nodes are met.
    """

    stage: int
    title: str
    hint: str
    fix: str
    loose: bool = False


FAULTS: Final = {
    # --- Python
    "missing import": Fault(
        0,
        "`math` is used but never imported",
        "Which names does this function use that the file never defines?",
        "Put `import math` at the top of the file.",
    ),
    "annotation": Fault(
        0,
        "the file fails while it is loaded",
        "Python reads annotations and default arguments while it defines a class; which of "
        "them names something that does not exist yet?",
        "Write `from __future__ import annotations` at the top, or put the name in quotes.",
    ),
    "isinstance swapped": Fault(
        0,
        "the arguments of `isinstance` are swapped in {op}",
        "In which order does `isinstance` take the object and the class?",
        "Write `isinstance(other, Value)`: first the object, then the class.",
    ),
    "number of arguments": Fault(
        0,
        "{op} calls the constructor with arguments that it does not take",
        "Compare the call with the parameters of `__init__`.",
        "Give the constructor as many arguments as `__init__` declares.",
    ),
    "math of a value": Fault(
        0,
        "{op} gives a whole value to a function of `math`, which takes a number",
        "What kind of thing does the function of `math` receive here?",
        "Use the number inside: `math.f(self.data)`, not `math.f(self)`.",
    ),
    "unhashable": Fault(
        0,
        "`__eq__` is defined without `__hash__`, so values fit in no set",
        "What does Python do to `__hash__` when a class defines `__eq__`?",
        "Remove `__eq__`, or add `__hash__ = object.__hash__` and compare by identity.",
    ),
    "returns nothing": Fault(
        0,
        "{op} returns nothing",
        "What does a function give that ends without `return`?",
        "End the method with `return out`.",
    ),
    "reflected nothing": Fault(
        0,
        "the reflected {op}, a number on the left, returns nothing",
        "What is `2 {sym} a` in your engine? Look at the method whose name begins with `__r`.",
        "Return the result in the reflected method.",
    ),
    "calls itself": Fault(
        0,
        "the reflected {op}, a number on the left, calls itself for ever",
        "Which method does Python call for the expression that the method returns?",
        "Write the value on the left there: `return self {sym} other`.",
    ),
    "closure called": Fault(
        0,
        "in {op} the closure is called where it should be stored",
        "What does `out._backward` hold after the assignment: a function or its result?",
        "Assign the function itself: `out._backward = _backward`, without parentheses.",
    ),
    "constant": Fault(
        0,
        "{op} does not take a plain number as the other operand",
        "What is `other.data` when `other` is 2?",
        "Begin with `other = other if isinstance(other, Value) else Value(other)`.",
    ),
    "constant in backward": Fault(
        0,
        "{op} takes a plain number forward, but crashes on it in the backward pass",
        "What does the backward rule do with the operand when that is a plain number?",
        "Wrap it first: `other = other if isinstance(other, Value) else Value(other)`.",
    ),
    "growing labels": Fault(
        0,
        "every operation joins the label texts of its operands, which double at every use",
        "How long is the label after 40 additions of a value to itself?",
        "Store the operation's own name only, not those of its operands.",
    ),
    "truthy comparison": Fault(
        0,
        "a comparison gives a value, which is always true",
        "What does `if a < b` do with the object that the comparison returns?",
        "Return a plain bool: `return self.data < other.data`.",
    ),
    "integer data": Fault(
        0,
        "data is cut to a whole number",
        "What is stored for `Value(0.5)`?",
        "Store `float(data)`, or `data` as it is.",
    ),
    # --- the backward pass
    "hidden backward": Fault(
        1,
        "the constructor sets an attribute named like the backward method, which hides it",
        "What does `value.backward` refer to once `__init__` has run?",
        "Give the stored closure another name, such as `_backward`.",
    ),
    "no seed": Fault(
        1,
        "the result's own gradient is never set to 1 before the pass",
        "What is the derivative of the result by itself?",
        "Set `self.grad = 1.0` before the loop over the nodes.",
    ),
    "seed is the data": Fault(
        1,
        "the pass starts from the result's data instead of 1",
        "What is the derivative of the result by itself?",
        "Set `self.grad = 1.0`.",
    ),
    "seed is 2": Fault(
        1,
        "the pass starts from a number that is not 1",
        "What is the derivative of the result by itself?",
        "Set `self.grad = 1.0`.",
    ),
    "seed added": Fault(
        1,
        "the seed is added to the result's gradient instead of set",
        "What is the result's gradient at the start of a second pass?",
        "Write `self.grad = 1.0`, not `+=`.",
    ),
    "seeded everywhere": Fault(
        1,
        "every node is seeded with 1, not only the result",
        "Which nodes does your code give the gradient 1, and which should get it?",
        "Seed only the node on which backward() is called.",
    ),
    "root by parent": Fault(
        1,
        "the result is taken to be the node that nobody uses, not the one backward() is called on",
        "What happens if another value has been computed from this result?",
        "Seed `self`, whoever else may use it.",
    ),
    "root only": Fault(
        1,
        "backward() runs the step of the result alone",
        "Who calls the steps of the nodes further down?",
        "Call the step of every node, results before operands.",
    ),
    "forward order": Fault(
        1,
        "the nodes are handled operands first, so their gradients are not there yet",
        "In which order does your list of nodes run: from the inputs, or from the result?",
        "Go through the topological order in reverse: `for v in reversed(topo)`.",
    ),
    "order": Fault(
        1,
        "a node passes its gradient on before all that use it have given theirs",
        "Draw a value used by two others, one deeper than the other. Which is handled first?",
        "Order the nodes topologically: append a node after all its operands (post-order), "
        "then go through that list in reverse.",
        loose=True,
    ),
    "no visited set": Fault(
        1,
        "a node that is reached on several paths is handled several times",
        "How often does your code come by a node that two others use?",
        "Keep a set of nodes already visited, and go into each node once.",
        loose=True,
    ),
    "visited guards wrong line": Fault(
        1,
        "there is a visited set, but a node still gets into the order several times",
        "Which lines does the test of the visited set guard?",
        "Put both the way into the operands and the append under the test.",
        loose=True,
    ),
    "every path": Fault(
        1,
        "the pass walks every path, which takes exponential time",
        "How many paths lead through 40 diamonds, and how many nodes are there?",
        "Visit each node once, in topological order, with its gradient summed up.",
    ),
    "flags kept": Fault(
        3,
        "nodes are flagged as visited and the flags are never cleared: a second pass does nothing",
        "What does a second call of backward() find in the flags of the first?",
        "Keep the visited nodes in a set that is made anew in every pass.",
    ),
    "one consumer": Fault(
        1,
        "each node remembers only the last node that uses it",
        "Where does your engine keep who uses a value, and how many fit there?",
        "Give every user's part to the operand: add, from each user.",
        loose=True,
    ),
    "consumers leak": Fault(
        3,
        "a node takes gradients from everything that ever used it, other losses included",
        "From which nodes does the sum take gradients when two losses share a leaf?",
        "Go only through the nodes below the one on which backward() is called.",
        loose=True,
    ),
    "assigned": Fault(
        2,
        "`=` where `+=` belongs in {op}: a value used twice keeps only the last gradient",
        "What happens to the gradient that is already there when a value is used twice?",
        "Add to the gradient: `self.grad += ...`, for every operand.",
        loose=True,
    ),
    "root gradient 0": Fault(
        3,
        "the result's own gradient is not there after the pass",
        "What is `y.grad` after `y.backward()`?",
        "Leave the result's gradient at 1.0.",
    ),
    "middle gradients 0": Fault(
        3,
        "gradients of the nodes on the way are not there after the pass",
        "What is the gradient of an intermediate value after backward()?",
        "Do not reset the nodes after the pass.",
    ),
    "leaves wiped": Fault(
        3,
        "every pass wipes the leaves' gradients, so two losses do not add up",
        "What is left of the first loss after the second backward()?",
        "Reset only intermediate nodes; leaves accumulate until they are zeroed.",
    ),
    # --- rules
    "own factor": Fault(
        2,
        "in {op} an operand is multiplied by its own data instead of the other's",
        "What is the derivative of a * b by a?",
        "`self.grad += other.data * out.grad`, and the other way round.",
    ),
    "no upstream": Fault(
        2,
        "the upstream gradient is missing in {op}",
        "What multiplies the local derivative in the chain rule?",
        "Multiply by `out.grad`.",
    ),
    "no gradient": Fault(
        2,
        "nothing arrives at the operands of {op}",
        "Follow the gradient down: does the result know its operands, and is its rule stored?",
        "Give the new value its operands, and assign `out._backward = _backward`.",
    ),
    "grad for data": Fault(
        2,
        "in {op} `.grad` is read where `.data` is meant",
        "Which attribute holds the other factor?",
        "`self.grad += other.data * out.grad`.",
    ),
    "by identity": Fault(
        2,
        "{op} finds the other operand by identity, which fails when both are the same value",
        "What does the rule do in `a {sym} a`?",
        "Treat the operands by their place, left and right, not by who they are.",
    ),
    "value as gradient": Fault(
        2,
        "in {op} the gradient becomes a value instead of a number",
        "Of which type is `a.grad` after the pass?",
        "Multiply numbers: `other.data * out.grad`.",
    ),
    "sign": Fault(
        2,
        "the gradient of {op} has the wrong sign",
        "What happens to the result when the operand grows a little?",
        "Turn the sign of the local derivative.",
    ),
    "not squared": Fault(
        2,
        "a square is missing in the derivative of {op}",
        "Derive the formula once more on paper.",
        "(a / b)' by b is -a / b**2; tanh' is 1 - tanh**2.",
    ),
    "floor": Fault(
        2,
        "{op} rounds: `//` where `/` belongs",
        "What is 7 / 2 in your engine?",
        "Use `/`.",
    ),
    "no coefficient": Fault(
        2,
        "the factor n is missing in the derivative of a**n",
        "What is the derivative of a**3 at 1?",
        "n * a**(n - 1).",
    ),
    "exponent kept": Fault(
        2,
        "the exponent is not reduced by one in the derivative of a**n",
        "What is the derivative of a**2 at 3?",
        "n * a**(n - 1).",
    ),
    "no exponent gradient": Fault(
        2,
        "a value is accepted as exponent, but gets no gradient",
        "In a**b, what is b's gradient?",
        "Refuse values as exponents, or add a**b * log(a) * out.grad to the exponent.",
    ),
    "no log": Fault(
        2,
        "the logarithm is missing in the exponent's gradient",
        "What is the derivative of 2**x?",
        "a**b * log(a).",
    ),
    "at output": Fault(
        2,
        "the derivative of {op} is taken at the output where the input belongs",
        "Is the formula in terms of x or of y? Which of them did you put in?",
        "log' is 1 / input; exp' is the output itself, not exp of it.",
    ),
    "at input": Fault(
        2,
        "the derivative of {op} is taken at the input where the output belongs",
        "Is the formula in terms of x or of y? Which of them did you put in?",
        "exp' = y, tanh' = 1 - y**2, sigmoid' = y * (1 - y), sqrt' = 1 / (2 y), y the output.",
    ),
    "other rule": Fault(
        2,
        "the backward formula of {op} belongs to another function",
        "Which function has the derivative that you wrote?",
        "tanh' = 1 - y**2; sigmoid' = y * (1 - y); for GELU derive the form you compute.",
    ),
    "gate open": Fault(
        2,
        "ReLU passes the gradient on for negative inputs too",
        "What is ReLU's slope at -1?",
        "Multiply by 1 where the output is positive and by 0 elsewhere; mind that "
        "`out.data >= 0` is always true.",
    ),
    "gate at 0": Fault(
        2,
        "ReLU's gradient at 0 is 1; the convention is 0",
        "Which comparison decides at exactly 0?",
        "Use `>`, not `>=`: PyTorch and most others give 0 there.",
    ),
    "gate reversed": Fault(
        2,
        "ReLU's gate is reversed",
        "What is ReLU's slope at 1 and at -1?",
        "Multiply by 1 where the input is positive.",
    ),
    "gate by gradient": Fault(
        2,
        "ReLU's gate looks at the upstream gradient instead of the data",
        "What decides whether a ReLU is active?",
        "`(out.data > 0) * out.grad`.",
    ),
    "slope": Fault(
        2,
        "{op}'s slope on the left is not that of its values",
        "Which factor does the forward pass use for negative inputs?",
        "Use the same factor in backward.",
    ),
    "wrong value": Fault(
        2,
        "{op} computes a wrong value in the forward pass",
        "Compare the number with a calculator before you look at gradients.",
        "Correct the forward formula.",
    ),
    "swapped": Fault(
        2,
        "the reflected {op} has its operands swapped: 2 {sym} a is computed as a {sym} 2",
        "What is 10 {sym} a in your engine?",
        "Write `other` on the left: it is what stood on the left.",
    ),
    "reflected": Fault(
        2,
        "the reflected {op} carries out another operation",
        "What is `2 {sym} a` in your engine? Read the method whose name begins with `__r`.",
        "Carry out {sym} there.",
    ),
    # --- inherited limits
    "stale": Fault(3, "gradients of an earlier pass are still in the nodes", "", ""),
    "recursive": Fault(3, "the backward pass is recursive", "", ""),
    "late": Fault(3, "backward reads the operands' data late", "", ""),
    "overflow": Fault(3, "{op} overflows", "", ""),
    "zip cuts": Fault(4, "zip cuts rows of the wrong length", "", ""),
    # --- networks
    "layers not chained": Fault(
        4,
        "the layers are not chained: each gets the network's input",
        "What does the second layer receive?",
        "`for layer in self.layers: x = layer(x)`, and return x.",
    ),
    "layer sizes": Fault(
        4,
        "every layer is sized for the network's first input",
        "How many inputs does the second layer have?",
        "Layer i takes as many inputs as layer i - 1 has neurons.",
    ),
    "activation lost": Fault(
        4,
        "the activation is computed and its result thrown away",
        "What does the neuron return?",
        "Return the result of the activation: `return act.tanh()`.",
    ),
    "parameters without bias": Fault(
        4,
        "parameters() leaves out the biases",
        "How many parameters does a neuron of three inputs have?",
        "`return self.w + [self.b]`.",
    ),
    "parameters of a layer missing": Fault(
        4,
        "parameters() leaves out a layer",
        "How many parameters should a 3-4-2-1 network have?",
        "Collect those of all layers.",
    ),
    "parameters grow": Fault(
        4,
        "parameters() gives more with every call",
        "Does parameters() change a list that the model keeps?",
        "Build a new list: `self.w + [self.b]`, not `self.w.append(self.b)`.",
    ),
    "zero_grad does nothing": Fault(
        4,
        "zero_grad leaves the gradients as they are",
        "Does the loop change the parameters, or only a name?",
        "`for p in self.parameters(): p.grad = 0.0`.",
    ),
}
"""All kinds of mistakes."""

LIMITS: Final = frozenset({"stale", "recursive", "late", "overflow", "zip cuts"})
"""Kinds that are reported as inherited limits and never diagnosed."""

WORDS: Final = {
    "+": "addition", "-": "subtraction", "*": "multiplication", "/": "division",
    "**": "the power", "neg": "negation", "all": "every operation",
}  # fmt: skip

SPECIAL: Final = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "**": "pow", "neg": "neg",
}  # fmt: skip


def fault_of(name: str) -> Fault:
    """The kind of mistake behind a name such as ``"assigned:*"``."""
    return FAULTS[name.partition(":")[0]]


def describe_fault(name: str) -> Fault:
    """A kind of mistake, its texts filled in for the operation.

    Example:
        >>> describe_fault("no upstream:tanh").title
        'the upstream gradient is missing in tanh'
    """
    fault = fault_of(name)
    op = name.partition(":")[2]
    said = WORDS.get(op, op)

    def fill(text: str) -> str:
        return text.replace("{op}", said).replace("{sym}", op)

    return Fault(fault.stage, fill(fault.title), fill(fault.hint), fill(fault.fix), fault.loose)


def methods_of(name: str) -> list[str]:
    """Names of the methods in which a mistake may stand, the likeliest first."""
    kind, _, op = name.partition(":")
    if kind in ("integer data", "hidden backward", "growing labels"):
        return ["__init__"]
    if kind == "truthy comparison":
        return ["__lt__"]
    if kind == "unhashable":
        return ["__eq__"]
    if kind in ("layers not chained", "layer sizes", "parameters of a layer missing"):
        member = {"layer sizes": "__init__", "layers not chained": "__call__"}
        return [f"network.{member.get(kind, 'parameters')}"]
    if kind == "activation lost":
        return ["neuron.__call__"]
    if kind in ("parameters without bias", "parameters grow"):
        return ["neuron.parameters", "layer.parameters"]
    if kind == "zero_grad does nothing":
        return ["zero_grad"]
    if op and op != "all":
        dunder = SPECIAL.get(op, op)
        if kind in ("swapped", "reflected", "reflected nothing", "calls itself"):
            return [f"__r{dunder}__"]
        return [f"__{dunder}__", dunder] if op in SPECIAL else [op]
    return ["backward"]
