"""PyTorch's conventions, measured (PyTorch 2.13, float64), row by row.

`data/conventions.jsonl` holds what each operation gives at ordinary, extreme and singular
points, `data/expressions.jsonl` random expressions.  Where chainrule differs, it does so
for a reason: `DIFFERENCES` lists every case.
"""

import ast
import json
import math
import operator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chainrule import NotANumberError, Value, ops

INF, NAN = math.inf, math.nan


def rows(name):
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def title(row):
    return f"{row['expr']} at {row['inputs']}"


CONVENTIONS = rows("conventions.jsonl")
EXPRESSIONS = rows("expressions.jsonl")

# --- where chainrule differs from PyTorch ---------------------------------------------------


@dataclass
class Difference:
    """What chainrule gives instead, at one point, and why."""

    expr: str
    inputs: dict[str, float]
    ours: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def key(self):
        return key(self.expr, self.inputs)


def key(expr, inputs):
    return expr, tuple(sorted((name, str(float(x))) for name, x in inputs.items()))


FINER = "right to rounding; PyTorch loses it to cancellation or flushes it to zero"
NAN_THROUGH = "nan in, nan out: a gradient made of nan must not look healthy"
AT_INFINITY = "the limit, which exists; PyTorch multiplies inf by 0"
SUBNORMAL = (
    "1 / x, the local derivative of log, is beyond every float at 1e-320; PyTorch divides the "
    "gradient by x instead, which a number per edge cannot express"
)


def at(expr, point, reason, **ours):
    return Difference(expr, {"x": point}, ours, reason)


DIFFERENCES = [
    at("expm1(x)", -20.0, FINER, x=math.exp(-20.0)),
    at("expm1(x)", -40.0, FINER, x=math.exp(-40.0)),
    at("expm1(x)", -710.0, FINER, x=math.exp(-710.0)),
    at("sigmoid(x)", -710.0, FINER, value=math.exp(-710.0), x=math.exp(-710.0)),
    at("softplus(x)", -710.0, FINER, x=math.exp(-710.0)),
    at("silu(x)", -710.0, FINER, value=-710.0 * math.exp(-710.0), x=-709.0 * math.exp(-710.0)),
    at("gelu(x)", -20.0, FINER, value=-10.0 * math.erfc(math.sqrt(200.0))),
    at("relu(x)", NAN, NAN_THROUGH, x=NAN),
    at("abs(x)", NAN, NAN_THROUGH, x=NAN),
    at("leaky_relu(x)", NAN, NAN_THROUGH, x=NAN),
    at("elu(x)", NAN, NAN_THROUGH, x=NAN),
    *[
        Difference(f"{name}(x, y)", {"x": x, "y": y}, {"x": NAN, "y": NAN}, NAN_THROUGH)
        for name in ("maximum", "minimum")
        for x, y in ((NAN, 1.0), (1.0, NAN))
    ],
    at("silu(x)", INF, AT_INFINITY, x=1.0),
    at("silu(x)", -INF, AT_INFINITY, value=-0.0, x=0.0),
    at("gelu(x)", INF, AT_INFINITY, x=1.0),
    at("gelu(x)", -INF, AT_INFINITY, value=-0.0, x=0.0),
    at("log(x) * x", 1e-320, SUBNORMAL, x=INF),
    at("exp(log(x))", 1e-320, SUBNORMAL, x=INF),
]

DIFFERENT = {difference.key: difference for difference in DIFFERENCES}

# (0.5 + -2.12 ** 2) ** 1.7 are plain numbers, so Python computes a complex one, before any
# engine sees it.  PyTorch carries it on; chainrule knows real numbers only.
COMPLEX = "(0.5 + -2.12 ** 2) ** 1.7"

# --- reading an expression ------------------------------------------------------------------

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def evaluate(text, names):
    """The value of an arithmetic expression over ``names`` and the table's functions."""

    def of(node):
        match node:
            case ast.Constant(value=float() | int()):
                return node.value
            case ast.Name():
                return names[node.id]
            case ast.UnaryOp(op=ast.USub()):
                return -of(node.operand)
            case ast.BinOp():
                return OPERATORS[type(node.op)](of(node.left), of(node.right))
            case ast.Call(func=ast.Name(), keywords=[]):
                return getattr(ops, node.func.id)(*map(of, node.args))
        raise SyntaxError(f"{ast.unparse(node)} is not part of an expression")

    return of(ast.parse(text, mode="eval").body)


def test_the_reader_takes_expressions_only():
    assert evaluate("-x ** 2 + exp(1 - 1)", {"x": 3.0}) == -8.0
    for text in ("x.data", "[x]", "'x'", "x if x else x", "x < 1", "(lambda: x)()"):
        with pytest.raises(SyntaxError):
            evaluate(text, {"x": 3.0})


def ours(row):
    """What chainrule makes of a row: the value under "value", the gradients by name."""
    leaves = {name: Value(float(x)) for name, x in row["inputs"].items()}
    y = evaluate(row["expr"], leaves)
    y.backward()
    return {"value": y.data, **{name: leaves[name].grad for name in row["grads"]}}


def theirs(row):
    return {"value": float(row["value"]), **{k: float(g) for k, g in row["grads"].items()}}


def near(expected, rel):
    """Non-finite numbers exactly, finite ones to ``rel``; in a gradient 0 and 1e-16 are one."""
    return {
        name: pytest.approx(x, rel=rel, abs=0.0 if name == "value" else 2.0**-53, nan_ok=True)
        for name, x in expected.items()
    }


# --- the tests ---------------------------------------------------------------------------------


def test_every_measured_row_is_there():
    assert len(CONVENTIONS) == 543
    assert len(EXPRESSIONS) == 400


@pytest.mark.parametrize("row", CONVENTIONS, ids=title)
def test_convention(row):
    difference = DIFFERENT.get(key(row["expr"], row["inputs"]))
    got, expected = ours(row), theirs(row)
    for name in difference.ours if difference else ():  # test_difference_is_one looks at these
        del got[name], expected[name]
    assert got == near(expected, rel=4e-15)
    if got.get("value") == 0.0:
        assert math.copysign(1.0, got["value"]) == math.copysign(1.0, expected["value"])


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda d: f"{d.expr} at {d.inputs}")
def test_difference_is_one(difference):
    """An entry that no longer differs, or never was measured, must leave the list."""
    (row,) = [r for r in CONVENTIONS if key(r["expr"], r["inputs"]) == difference.key]
    for name, x in difference.ours.items():
        assert theirs(row)[name] != pytest.approx(x, rel=1e-9, abs=0.0, nan_ok=True)
        assert ours(row)[name] == pytest.approx(x, rel=1e-12, abs=0.0, nan_ok=True)
    assert difference.ours
    assert difference.reason


@pytest.mark.parametrize("row", EXPRESSIONS, ids=lambda row: row["expr"][:60])
def test_expression(row):
    if COMPLEX in row["expr"]:
        with pytest.raises(NotANumberError, match="complex numbers have no order"):
            ours(row)
        return
    assert ours(row) == near(theirs(row), rel=1e-13)
