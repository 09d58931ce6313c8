"""The grammar, the errors, and that printed formulas read back to the same numbers."""

import math
import pickle
import re
import struct
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chainrule import ops
from chainrule.errors import OptionError, ParseError
from chainrule.operation import ROWS, VARIADIC
from chainrule.parsing import parse
from chainrule.symbol import Symbol

NAMES = ("a", "b", "c")
VALUES = {"a": 2.0, "b": 3.0, "c": 5.0, "x": 0.5, "w[0,1]": 7.0, "net.b": 8.0, "θ": 9.0}


def bits(number):
    """A float as bytes; one kind of nan only, because its sign has no meaning."""
    return struct.pack("d", math.nan if number != number else number)


# --- the grammar ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("10 - 4 - 3", 3.0),
        ("10 - (4 - 3)", 9.0),
        ("24 / 4 / 2", 3.0),
        ("24 / (4 / 2)", 12.0),
        ("2 * 6 / 4", 3.0),
        ("2 ** 3 ** 2", 512.0),
        ("(2 ** 3) ** 2", 64.0),
        ("-2 ** 2", -4.0),
        ("(-2) ** 2", 4.0),
        ("2 ** -1", 0.5),
        ("2 ** -1 * 4", 2.0),
        ("2 ** -2 ** 2", 2.0**-4),
        ("4 ** -(1 / 2)", 0.5),
        ("-2 * -3", 6.0),
        ("2 - -3", 5.0),
        ("2 + +3", 5.0),
        ("- - -2", -2.0),
        ("+-2", -2.0),
        ("1.5 + .5 + 2. + 1e2 + 1E-2 + 2.5e+1", 129.01),
        ("a*b+c", 11.0),
        ("a\t*\n( b+c )", 16.0),
        ("w[0,1] + net.b * θ", 79.0),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("2 * pi", math.tau),
        ("a < b", 1.0),
        ("a + 1 >= b", 1.0),
        ("a + 1 > b", 0.0),
        ("a <= 1", 0.0),
        ("a == 2", 1.0),
        ("a != 2", 0.0),
        ("(a < b) < c", 1.0),
        ("a < (b < c)", 0.0),
        ("where(a < b, 10, 20)", 10.0),
        ("sum()", 0.0),
        ("sum(a, b, c, 1)", 11.0),
        ("sum(a)", 2.0),
        ("logsumexp(1000, 1000) - 1000", math.log(2.0)),
        ("pick(1, a, b, c)", 3.0),
        ("pick(a, a, b, c)", 5.0),
        ("maximum(a, minimum(b, c))", 3.0),
        ("leaky_relu(-1)", -0.01),
        ("leaky_relu(-1, 0.5)", -0.5),
        ("abs(-a)", 2.0),
        ("less(a, b) + pow(a, b) + add(1, neg(1))", 9.0),
        ("stop_gradient(a)", 2.0),
        ("((((a))))", 2.0),
    ],
)
def test_grammar(text, expected):
    assert parse(text).evaluate(VALUES) == pytest.approx(expected, rel=1e-15)


def test_nan_is_a_number():
    assert math.isnan(parse("nan").evaluate())


@pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)
def test_every_row_by_name(op):
    names = NAMES[: 3 if op.arity == VARIADIC else op.arity]
    found = parse(f"{op.name}({', '.join(names)})")
    assert found.op is op
    assert [operand.name for operand in found.operands] == list(names)
    assert parse(found.text).op is op


def test_nothing_is_computed_while_reading():
    assert parse("1 + 2").text == "1 + 2"
    assert parse("x * 1 + 0").text == "x * 1 + 0"


def test_a_name_is_one_symbol():
    f = parse("x * x")
    assert f.operands[0] is f.operands[1]


# --- errors -----------------------------------------------------------------------------------

ERRORS = [
    ("", 1, "the formula is empty"),
    ("  ", 3, "the formula is empty"),
    ("tanh(w*x + b", 5, "this parenthesis is never closed; add a )"),
    ("(a * (b + c)", 1, "this parenthesis is never closed"),
    ("((a)", 1, "this parenthesis is never closed"),
    ("(a + b))", 8, "there is no ( that this ) could close"),
    (")", 1, "expected a number, a name, a function or a parenthesis, but found ')'"),
    ("a +", 4, "expected a number, .* but the formula ends here"),
    ("a + * b", 5, "expected a number, .* but found '*'"),
    ("a b", 3, "expected an operator .* but found 'b'; products need a *"),
    ("2x", 2, "expected an operator .* but found 'x'; products need a *"),
    ("2 (x)", 3, "but found '('; products need a *"),
    ("(x)(y)", 4, "but found '('; products need a *"),
    ("x ^ 2", 3, "but found '^'. Powers are written **."),
    ("x = 2", 3, "Equality is written ==."),
    ("a × b", 3, "Products are written *."),
    ("\N{MINUS SIGN}a", 1, "Use the hyphen of the keyboard"),
    ("[a]", 1, "Use round parentheses"),
    ("w[a]", 2, "an index is a number right after a name, as in w[0]"),
    ("a $ b", 3, "but found '$'"),
    ("a.", 2, "but found '.'"),
    ("a < b < c", 7, "comparisons cannot be chained; put one of them in parentheses"),
    ("where(a < b == c, 1, 2)", 13, "comparisons cannot be chained"),
    ("tanhh(x)", 1, "there is no function 'tanhh'; did you mean tanh?"),
    ("1 + Sin(x)", 5, "did you mean sin?"),
    ("ln(x)", 1, "did you mean log?"),
    ("max(a, b)", 1, "did you mean maximum?"),
    ("leaky(a)", 1, "did you mean leaky_relu?"),
    ("x(2)", 1, "there is no function 'x'; for a product write x * (...). The functions are abs, "),
    ("pi(2)", 1, "pi is a number, not a function; for a product write pi * (...)"),
    ("__import__('os')", 1, "there is no function '__import__'"),
    ("sin", 1, "sin is a function: write sin(...)"),
    ("2 * sin x", 5, "sin is a function: write sin(...)"),
    ("exp()", 1, "exp takes 1 operand; 0 were given"),
    ("exp(a, b)", 1, "exp takes 1 operand; 2 were given"),
    ("1 + where(a, b)", 5, "where takes 3 operands; 2 were given"),
    ("maximum(a)", 1, "maximum takes 2 operands; 1 was given"),
    ("leaky_relu(a, b, c)", 1, "leaky_relu takes 1 or 2 operands; 3 were given"),
    ("pick(a)", 1, "pick takes at least 2 operands; 1 was given"),
    ("pick()", 1, "pick takes at least 2 operands; 0 were given"),
    ("a, b", 2, "a comma belongs between the operands of a function"),
    ("exp((a, b))", 7, "a comma belongs between the operands of a function"),
    ("sum(,)", 5, "but found ','"),
    ("sum(a,)", 7, "but found ')'"),
    ("()", 2, "but found ')'"),
    ("1e400", 1, "1e400 is larger than any float"),
    ("'a'", 1, 'but found "\'"'),
]


@pytest.mark.parametrize(("text", "column", "problem"), ERRORS, ids=[e[0] for e in ERRORS])
def test_errors_point_at_the_column(text, column, problem):
    with pytest.raises(ParseError) as caught:
        parse(text)
    error = caught.value
    pattern = ".*".join(re.escape(part) for part in problem.split(".*"))
    assert re.search(pattern, error.problem)
    assert (error.text, error.column) == (text, column)
    first, shown, caret = str(error).split("\n")
    assert first == f"{error.problem} (column {column})"
    assert shown.strip() == text.strip()
    assert caret.index("^") == len("    ") + column - 1


def test_long_texts_are_shown_around_the_mistake():
    text = "a + " * 50 + "?" + " + b" * 50
    with pytest.raises(ParseError) as caught:
        parse(text)
    _, shown, caret = str(caught.value).split("\n")
    assert len(shown) < 100
    assert shown[caret.index("^")] == "?"
    assert shown.strip().startswith("...")
    assert shown.endswith("...")


def test_line_breaks_do_not_move_the_caret():
    with pytest.raises(ParseError) as caught:
        parse("a +\n\tb ?")
    _, shown, caret = str(caught.value).split("\n")
    assert shown[caret.index("^")] == "?"


def test_the_error_survives_pickling_and_is_a_value_error():
    with pytest.raises(ValueError, match="column 3") as caught:
        parse("a +"[:2] + "$")
    twin = pickle.loads(pickle.dumps(caught.value))
    assert str(twin) == str(caught.value)
    assert (twin.text, twin.column, twin.problem) == ("a $", 3, caught.value.problem)


@pytest.mark.parametrize("bad", [None, 3.0, b"x", ["x"], Symbol("x")])
def test_not_a_text(bad):
    with pytest.raises(OptionError, match="needs a formula as text"):
        parse(bad)


# --- size -------------------------------------------------------------------------------------

N = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "(" * N + "x" + ")" * N,
        "-" * N + "x",
        "tanh(" * N + "x" + ")" * N,
        "x+" * N + "x",
        "x**" * N + "x",
        " " * N + "x" + " " * N,
        "sum(" + "x," * N + "x)",
        "1" * N + "e-" + str(N),
        "x" * N,
    ],
    ids=lambda text: text.strip()[:6],
)
def test_deep_and_long_texts_are_read(text):
    start = time.perf_counter()
    assert isinstance(parse(text), Symbol)
    assert time.perf_counter() - start < 20.0


@pytest.mark.parametrize(
    "text",
    ["(" * N, "(" * N + "x", ")" * N, "x" + ")" * N, "sin(" * N, "+" * N, "x<" * N, "x." * N],
    ids=lambda text: text[:4],
)
def test_deep_and_long_mistakes_are_errors(text):
    start = time.perf_counter()
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert len(str(caught.value)) < 1000
    assert time.perf_counter() - start < 20.0


def test_texts_may_not_be_endless():
    with pytest.raises(ParseError, match="at most 1,000,000 characters; this text has 1,000,001"):
        parse("x" * 1_000_001)


# --- printed formulas read back to the same numbers -------------------------------------------

ANY = st.floats()


@st.composite
def formulas(draw):
    """A formula over all rows, with any floats as numbers."""
    pool = [Symbol(name) for name in NAMES]
    for _ in range(draw(st.integers(1, 12))):
        rows = sorted(ROWS.values(), key=lambda op: (op.precedence, op.name))
        op = draw(st.sampled_from(rows[:6]) | st.sampled_from(rows))
        arity = draw(st.integers(0, 3)) if op.arity == VARIADIC else op.arity
        operands = [draw(st.sampled_from(pool) | ANY) for _ in range(arity)]
        if op is ops.pick:  # its index must be one
            operands = [ops.equal(pool[-1], pool[0]), pool[-1], *operands, pool[0]]
        pool.append(op.apply(tuple(map(as_symbol, operands))))
        pool[-1] = as_symbol(pool[-1])
    return pool[-1]


def as_symbol(operand):
    return operand if isinstance(operand, Symbol) else Symbol(operand)


@pytest.mark.slow
@settings(derandomize=True, max_examples=1000, deadline=None)
@given(formulas(), st.fixed_dictionaries({name: ANY | st.floats(-3, 3) for name in NAMES}))
@example(-(Symbol("a") * Symbol("b")), {"a": 0.0, "b": -1.0, "c": 0.0})
@example(Symbol("a") - Symbol(-0.0), {"a": 0.0, "b": 0.0, "c": 0.0})
def test_printed_formulas_read_back_to_the_same_bits(f, values):
    again = parse(f.text)
    assert bits(again.evaluate(values)) == bits(f.evaluate(values))
    assert parse(again.text).text == again.text


@settings(derandomize=True, max_examples=300)
@given(ANY)
def test_numbers_read_back_to_the_same_bits(number):
    assert bits(parse(Symbol(number).text).evaluate()) == bits(number)


@pytest.mark.parametrize(
    "text",
    [
        "a - (b - c)",
        "a - b - c",
        "a + (b + c)",
        "a * (b * c)",
        "a / (b * c)",
        "a / b * c",
        "(a ** b) ** c",
        "a ** b ** c",
        "-a ** 2",
        "(-a) ** 2",
        "a ** -b",
        "a ** (b * c)",
        "a ** (-b * c)",
        "-(a + b)",
        "-a * b",
        "-a / b",
        "(a + b) * c",
        "a * (-b)",
        "a - (-2)",
        "(-2) ** a",
        "-(-a)",
        "-(-a * b)",
        "(a < b) < c",
        "a < (b < c)",
        "a + 1 < -b",
        "(a < b) * c",
        "-(a < b)",
        "where(a < b, a, b)",
        "leaky_relu(a)",
        "leaky_relu(a, 0.2)",
        "elu(a, b)",
        "pick(a, b, c)",
        "1000000 * a",
        "1e+16 * a",
        "1e-05 + 0.1",
        "w[0,1] * net.b",
    ],
)
def test_text_that_is_printed_as_it_was_written(text):
    assert parse(text).text == text


@settings(derandomize=True, max_examples=500, deadline=None)
@given(st.text("ab12.+-*/()<=, sinwherex[]e", max_size=20) | st.text(max_size=10))
def test_any_text_is_read_or_refused_properly(text):
    found, error = None, None
    try:
        found = parse(text)
    except ParseError as caught:
        error = caught
    if error is None:
        assert parse(found.text).text == found.text
    else:
        assert 1 <= error.column <= len(text) + 1
        assert str(error).startswith(error.problem)
