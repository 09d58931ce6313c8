"""What goes into a `Value` and what comes out: numbers, and the refusal of all else."""

import math
import operator
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import chainrule
from chainrule import (
    GraphError,
    NotANumberError,
    ShapeError,
    Value,
    ops,
)
from chainrule.engine import in_use
from chainrule.errors import describe, users_line
from chainrule.operation import number

INF, NAN = math.inf, math.nan


def gradients_of(y, *leaves):
    y.backward()
    return tuple([x.grad for x in leaves])


def refusal(error, call, *args):
    """The message of the error that a call must raise."""
    with pytest.raises(error) as caught:
        call(*args)
    assert type(caught.value) is error
    return str(caught.value)


# --- numbers in, numbers out ---------------------------------------------------------------

NUMBERS = [
    3,
    True,
    2.5,
    Fraction(1, 4),
    Decimal("1.5"),
    np.float16(1.5),
    np.float32(1.5),
    np.float64(1.5),
    np.longdouble(1.5),
    np.int8(-3),
    np.uint64(7),
    np.bool_(True),
]


@pytest.mark.parametrize("x", NUMBERS, ids=lambda x: f"{type(x).__name__}")
def test_every_real_number_becomes_a_float(x):
    v = Value(0.0)
    v.data = x
    results = (Value(x), v, Value(1.0) * x, x * Value(1.0), chainrule.add(0.0, x) + Value(0.0))
    for result in results:
        assert type(result) is Value
        assert type(result.data) is float
        assert result.data == float(x)
    assert [type(operand) for operand in (x * Value(1.0)).operands] == [float, Value]


def test_numpy_scalars_on_the_left_of_every_operator():
    v = Value(3.0)
    two = np.float64(2)
    assert (two + v).data == 5.0
    assert (two - v).data == -1.0
    assert (two * v).data == 6.0
    assert (two / v).data == 2.0 / 3.0
    assert (two**v).data == 8.0
    assert bool(two < v)
    assert not two >= v


def test_numpy_arrays_answer_element_by_element():
    v = Value(3.0)
    for array in (np.array([1.0, 2.0]) * v, v * np.array([1.0, 2.0])):
        assert array.dtype == object
        assert [x.data for x in array] == [3.0, 6.0]
        assert all(type(x) is Value for x in array)
    assert [x.data for x in v ** np.array([1.0, 2.0])] == [3.0, 9.0]
    assert (v < np.array([1.0, 5.0])).tolist() == [False, True]
    assert (np.array(2.0) * v).data == 6.0
    (e,) = np.exp(np.array([v]))
    assert e.data == math.exp(3.0)
    assert e.operands == (v,)


def test_conversion_to_plain_numbers():
    v = Value(-2.75)
    assert float(v) == -2.75
    assert int(v) == -2
    assert bool(v)
    assert not Value(0.0)
    assert math.exp(v) == math.exp(-2.75)


def test_ordering_compares_data():
    a, b = Value(1.0), Value(2.0)
    assert a < b
    assert a <= b
    assert b > a
    assert b >= a
    assert a < 1.5 < b
    assert a <= 1
    assert 3 > a  # noqa: SIM300  the number in front is the point
    assert a >= Fraction(1, 2)
    assert not a < NAN
    assert max([a, b]) is b
    assert sorted([b, a]) == [a, b]
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError, match="not supported between instances"):
            compare(a, "1")


def test_equality_is_identity_and_hashing_works():
    a, b = Value(1.0), Value(1.0)
    assert a != b
    assert a != 1.0
    assert {a: "a", b: "b"}[a] == "a"
    assert len({a, b, a}) == 2


def test_detach_is_a_leaf_of_its_own():
    a = Value(2.0, label="a")
    d = a.detach()
    assert d is not a
    assert (d.data, d.label, d.operands) == (2.0, "a", ())
    assert gradients_of(a * d, a, d) == (2.0, 2.0)
    assert (a * 3).detach().operands == ()


def test_sum_of_python():
    a, b = Value(1.0), Value(2.0)
    total = sum([a, b, a])
    assert total.data == 4.0
    assert gradients_of(total, a, b) == (2.0, 1.0)


def test_unary_plus_changes_nothing():
    a = Value(2.0)
    assert +a is a
    assert gradients_of(-a, a) == (-1.0,)


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "named", "advice"),
    [
        ("3", "'3' (a str)", "float(...)"),
        (b"3", "b'3' (a bytes)", "float(...)"),
        (np.str_("3"), "(a str_)", "float(...)"),
        ([1], "[1] (a list)", "[Value(x) for x in ...]"),
        ({"a": 1}, "{'a': 1} (a dict)", "element by element"),
        (iter([1]), "(a list_iterator)", "element by element"),
        (np.array([1.0]), "array([1.]) (a ndarray)", "element by element"),
        (np.array(1.0), "array(1.) (a ndarray)", ".item()"),
        (1j, "1j (a complex)", ".real"),
        (np.complex64(1j), "(a complex64)", ".real"),
        (None, "None (a NoneType)", "return"),
        (Value(1), "Value(data=1.0, grad=0.0) (a Value)", ".data"),
        (object, "<class 'object'> (a type)", "an int or a float"),
        (np.datetime64("2020-01-01"), "(a datetime64)", "an int or a float"),
        (Decimal("sNaN"), "(a Decimal)", "an int or a float"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_number_is_refused_by_name(given, named, advice):
    message = refusal(NotANumberError, Value, given)
    assert message.startswith("Value needs a real number; got ")
    assert named in message
    assert advice in message
    assert isinstance(NotANumberError(), TypeError)
    v = Value(7.0)
    with pytest.raises(NotANumberError, match=r"Value\.data needs a real number") as caught:
        v.data = given
    assert named in str(caught.value)
    assert v.data == 7.0


@pytest.mark.parametrize("huge", [10**400, 10**5000, Fraction(10**400)], ids=lambda x: "")
def test_numbers_beyond_every_float(huge):
    for call in (Value, Value(1.0).__add__, chainrule.exp):
        assert "larger than any float" in refusal(NotANumberError, call, huge)


@pytest.mark.parametrize("other", ["a", b"a", None, 1j, [1.0], (1.0,), {}, set()], ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow"])
def test_operators_explain_themselves_to_newcomers(name, other):
    spell = getattr(operator, name)
    v = Value(1.0)
    for operands in ((v, other), (other, v)):
        message = refusal(NotANumberError, spell, *operands)
        assert re.match(r"the operator (\+|-|\*|/|\*\*) needs a real number; got ", message)
        assert describe(other) in message
        assert "What to do" in message


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow"])
def test_operators_leave_other_types_their_turn(name):
    class Other:
        def answer(self, other):
            return "mine"

        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = answer

    v, spell = Value(1.0), getattr(operator, name)
    assert spell(v, Other()) == "mine"
    for other in (object(), np.datetime64("2020-01-01")):
        if in_use().name == "python":  # compiled, they try the other side themselves
            assert getattr(v, f"__{name}__")(other) is NotImplemented
            assert getattr(v, f"__r{name}__")(other) is NotImplemented
        with pytest.raises(TypeError, match="unsupported operand"):
            spell(v, other)
        with pytest.raises(TypeError, match="unsupported operand"):
            spell(other, v)


def test_bad_children():
    a = Value(1.0)
    message = refusal(NotANumberError, Value, 1.0, a)
    assert "with the comma" in message
    assert "Value(data, (a,), op)" in message
    assert "got 3 (an int)" in refusal(NotANumberError, Value, 1.0, 3)
    assert "an operand needs a real number; got 'x'" in refusal(
        NotANumberError, Value, 1.0, (a, "x")
    )


def test_a_rule_that_cannot_be_called():
    message = refusal(GraphError, setattr, Value(1.0) * 2.0, "_backward", None)
    assert "_backward must be a function without arguments; got None" in message


def test_bad_iterables():
    for who in (ops.sum, ops.logsumexp, chainrule.softmax, chainrule.log_softmax, chainrule.mean):
        message = refusal(NotANumberError, who, Value(1.0))
        assert "takes an iterable of numbers or Values" in message
        assert f"{who.__name__}([a, b])" in message
    assert "dot() takes an iterable" in refusal(NotANumberError, chainrule.dot, [1.0], 2.0)
    assert "got 1 and 2" in refusal(ShapeError, chainrule.dot, [1.0], [1.0, 2.0])
    for who in (chainrule.softmax, chainrule.log_softmax, chainrule.mean):
        assert "at least one value" in refusal(ShapeError, who, [])
    assert "sum needs a real number; got 'a'" in refusal(NotANumberError, ops.sum, ["a"])


def test_a_mistake_inside_a_users_generator_stays_the_users():
    def broken():
        yield Value(1.0)
        raise TypeError("mine")

    for call in (ops.sum, chainrule.mean, lambda children: Value(1.0, children)):
        assert refusal(TypeError, call, broken()) == "mine"


def test_pick_refuses_an_index_that_is_not_there():
    options = [Value(1.0), Value(2.0)]
    for index in (2, -1, 0.5, NAN, INF):
        message = refusal(ShapeError, chainrule.pick, index, options)
        assert f"index {index:g} for 2 option(s)" in message
        assert "from 0 to 1" in message
    assert "at least one option" in refusal(ShapeError, chainrule.pick, 0, [])


def test_describe_survives_anything():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert describe(Broken()) == "an object that cannot be shown (a Broken)"
    assert describe("x" * 100, 10) == "'xxxxxx... (a str)"
    assert describe("a\nb") == r"'a\nb' (a str)"
    assert describe(1) == "1 (an int)"
    assert number(2, "x") == 2.0


def test_users_line_is_the_innermost_outside_the_package():
    with pytest.raises(NotANumberError) as caught:
        Value("three")
    assert users_line(caught.value).endswith("test_numbers.py")
    assert users_line(caught.value).startswith(f"line {caught.tb.tb_lineno} of ")
    assert users_line(RuntimeError("never raised")).endswith("test_numbers.py")
