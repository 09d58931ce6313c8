"""Explanations: every number in them against backward(), and how they read."""

import json
import math
import random
import re
from pathlib import Path

import pytest

from chainrule import (
    GraphError,
    OptionError,
    Value,
    exp,
    explain,
    greater,
    log,
    logsumexp,
    mul,
    no_grad,
    relu,
    stop_gradient,
    tanh,
    where,
)
from chainrule import sum as add_up
from chainrule.nn import Network
from chainrule.operation import ROWS, VARIADIC
from chainrule.parsing import parse
from chainrule.views.derivation import short

DATA = Path(__file__).parent / "data" / "expressions.jsonl"
EXPRESSIONS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def close(x, y):
    return x == y or (x != x and y != y) or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12)


def worked_example():
    w, x, b = Value(0.5, label="w"), Value(2.0, label="x"), Value(-1.5, label="b")
    return tanh(w * x + b), w, x, b


def check(explanation, nodes):
    """Every number of an explanation against backward() and against its own formulas.

    ``nodes`` are the values of the graph by the name that the explanation gives them.
    """
    found = explanation.derivation
    values = {part.name: part.value for part in found.parts}
    terms = {part.name: [] for part in found.parts}
    for part in found.parts:
        node = nodes[part.name]
        assert close(part.value, node.data)
        assert close(part.gradient, node.grad)
        if part.formula is not None:
            assert close(part.formula.evaluate(values), part.value)
        for edge in part.edges:
            assert close(edge.product, part.gradient * edge.local)
            terms[edge.operand].append((part.name, edge.product))
            if edge.formula is not None:
                assert close(edge.formula.evaluate(values), edge.local)
    for part in found.parts:
        if part.name != found.result and part.reached:
            total = sum([x for _, x in part.received]) + part.received_more[1]
            assert close(total, part.gradient)
            if found.wrt is None and not found.left_out:
                assert part.received_more == (0, 0.0)
                assert sorted(map(str, part.received)) == sorted(map(str, terms[part.name]))


def by_name(explanation, root):
    """The nodes of a graph that is shown whole, matched by walking down from the result."""
    parts = {part.name: part for part in explanation.derivation.parts}
    nodes = {}
    ahead = [(explanation.derivation.result, root)]
    while ahead:
        name, node = ahead.pop()
        if name in nodes:
            assert nodes[name] is node
            continue
        nodes[name] = node
        for operand, x in zip(parts[name].operands, node.operands, strict=True):
            if isinstance(operand, str):
                if operand in parts:
                    ahead.append((operand, x))
            else:
                assert close(operand, x)
    return nodes


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", EXPRESSIONS, ids=range(len(EXPRESSIONS)))
def test_every_number_of_the_reference_expressions(case):
    leaves = {name: Value(x, label=name) for name, x in case["inputs"].items()}
    y = parse(case["expr"]).evaluate(leaves)
    explanation = explain(y)
    assert {x.grad for x in leaves.values()} == {0.0}
    y.backward()
    check(explanation, by_name(explanation, y))
    gradients = explanation.to_dict()["gradients"]
    if not math.isclose(y.data, case["value"], rel_tol=1e-9):
        assert re.search(r"-[0-9.]+ \*\*", case["expr"])  # meant as (-2.12) ** 2
        return
    for name, expected in case["grads"].items():
        if name in gradients:
            assert math.isclose(gradients[name], expected, rel_tol=1e-6, abs_tol=1e-9)
        else:
            assert expected == 0.0
    assert max(map(len, str(explanation).splitlines())) <= 80
    check_markdown(explanation.markdown)
    check_tex(explanation.latex)


@pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)
def test_every_operation_is_explained(op):
    source = random.Random(1)
    xs = [Value(source.uniform(*ends), label=f"x{i}") for i, ends in enumerate(op.domain)]
    y = op.apply(tuple(xs))
    y.label = "y"
    explanation = explain(y)
    y.backward()
    check(explanation, by_name(explanation, y))
    assert " ".join(str(explanation).lower().split()).count(op.says.lower()) == 1
    part = next(x for x in explanation.derivation.parts if x.name == "y")
    assert part.formula is not None
    assert len(part.edges) + len(part.blocked) == len(xs)
    assert all(edge.formula is not None for edge in part.edges) or op.arity == VARIADIC
    check_markdown(explanation.markdown)


def test_gradients_are_neither_read_nor_written():
    y, w, x, b = worked_example()
    before = str(explain(y))
    for node in (y, w, x, b):
        node.grad = 17.0
    assert str(explain(y)) == before
    assert [node.grad for node in (y, w, x, b)] == [17.0] * 4


def test_a_value_with_several_uses_gets_the_sum_over_its_paths():
    a = Value(3.0, label="a")
    y = a * a + exp(a) * 2.0
    explanation = explain(y)
    y.backward()
    check(explanation, by_name(explanation, y))
    part = explanation.derivation.parts[0]
    assert [name for name, _ in part.received] == ["v2", "v1", "v1"]
    assert part.gradient == pytest.approx(6.0 + 2.0 * math.exp(3.0))
    assert "dy/da = 40.1711 (from v2) + 3 (from v1) + 3 (from v1) = 46.1711" in explanation.text
    assert "to a (operand 1): local derivative = a = 3" in explanation.text


def test_what_no_gradient_passes_to_is_said():
    a, x = Value(3.0, label="a"), Value(2.0, label="x")
    y = where(greater(a, x), a, exp(x))
    text = explain(y).text
    assert "to v2: no gradient passes" in text
    assert "v2 = exp(x)\n" not in text.split("Backward")[1]  # nothing comes there
    assert "  dy/dx = 0\n" in text + "\n"
    assert "to a: no gradient passes" in explain(stop_gradient(a)).text


def test_numbers_that_are_not_finite_are_shown_as_they_are():
    text = explain(log(Value(0.0, label="p"))).text
    assert "y = log(p) = log(0) = -inf" in text
    assert "local derivative = 1 / p = 1 / 0 = inf" in text


def test_minus_zero_is_shown_as_zero():
    assert str(short(-0.0)) == "0.0"
    assert "-0 " not in explain(Value(0.0, label="x") * Value(-1.0, label="w")).text


# --- the paths to one input ----------------------------------------------------------------------


def test_only_the_paths_to_one_input():
    y, w, x, _ = worked_example()
    for explanation in (explain(y, wrt=w), explain(y, "w")):
        found = explanation.derivation
        assert found.wrt == "w"
        assert [(part.name, edge.operand) for part in found.parts for edge in part.edges] == [
            ("v1", "w"),
            ("v2", "v1"),
            ("y", "v2"),
        ]
        assert explanation.to_dict()["gradients"] == {"w": pytest.approx(1.572895, abs=1e-6)}
        assert "dy/dx" not in explanation.text
    z = tanh(exp(x) * w) * relu(x)
    assert "(passes no gradient on to w)" in explain(z, w).text
    assert "exp(x)" in explain(z, w).text  # in the expression alone
    assert "v1 = exp(x)" not in explain(z, w).text


def test_by_an_intermediate_value():
    y, w, x, b = worked_example()
    product = w * x
    product.label = "p"
    y = tanh(product + b)
    found = explain(y, product)
    assert found.to_dict()["gradients"] == {"p": pytest.approx(1 - y.data**2)}
    assert "p  = 1\n" in found.text
    assert explain(y, y).to_dict()["gradients"] == {"y": 1.0}


def test_an_input_that_no_gradient_reaches():
    a, x = Value(3.0, label="a"), Value(2.0, label="x")
    text = explain(where(greater(a, x), a, exp(x)), "x").text
    assert "Result: the gradient by x, to which no gradient passes from y" in text
    assert "to v2: no gradient passes" in text
    assert text.endswith("dy/dx = 0")


# --- names ---------------------------------------------------------------------------------------


def test_names_come_from_labels_and_are_unique():
    same = [Value(1.0, label="a"), Value(2.0, label="a"), Value(3.0)]
    odd = [Value(4.0, label=x) for x in ("hidden 1", "2nd", "exp", "pi", "layers.0.w.1", "?")]
    y = add_up(same + odd)
    found = explain(y).derivation
    assert [x.name for x in found.parts] == [
        *("a", "a_2", "x1", "hidden_1", "n_2nd", "exp_2", "pi_2", "layers[0].w[1]", "n_", "y"),
    ]
    assert found.parts[3].label == "hidden 1"
    assert parse(found.parts[-1].formula.text).names == found.inputs
    assert "dy/d(layers[0].w[1]) = 1" in explain(y).text
    check_tex(explain(y).latex)


def test_the_result_does_not_take_a_name_that_is_in_use():
    y = Value(2.0, label="y") * 3.0
    assert explain(y).text.startswith("result = y * 3")
    y.label = "loss"
    assert explain(y).text.startswith("loss = y * 3")
    v = Value(2.0, label="v1")
    assert explain((v * 3.0) ** 2).text.startswith("y = (v1 * 3) ** 2")
    assert "v2 = v1 * 3" in explain((v * 3.0) ** 2).text


# --- large graphs --------------------------------------------------------------------------------


def test_of_a_large_graph_the_most_important_part():
    net = Network([3, 8, 8, 1], seed=1)
    loss = (net([0.1, 0.2, 0.3]) - 1.0) ** 2
    loss.label = "loss"
    explanation = explain(loss)
    found = explanation.derivation
    assert 40 <= len(found.parts) <= 60
    assert found.size - len(found.parts) == found.left_out > 200
    assert f"{found.left_out} of {found.size} values are left out" in explanation.text
    assert "uses left out)" in explanation.text
    assert "(how it was computed is left out)" in explanation.text
    assert found.expression is None
    loss.backward()
    check(explanation, by_name(explanation, loss))
    check_markdown(explanation.markdown)
    assert explain(loss, limit=1000).derivation.left_out == 0


def test_the_strongest_gradients_are_chosen():
    weak, strong = Value(1.0, label="weak"), Value(1.0, label="strong")
    left, right = weak * 1.0, strong * 1.0
    for _ in range(40):
        left, right = left * 0.5, right * 1.5
    text = explain(left + right, limit=50).text
    assert "dy/dstrong" in text
    assert "dy/dweak" not in text


def test_of_many_operands_those_that_receive_most_are_chosen():
    y = logsumexp([Value(float(i % 50), label=f"q{i}") for i in range(200)])
    shown = {edge.operand for edge in explain(y).derivation.parts[-1].edges}
    assert shown == {f"q{i}" for i in range(200) if i % 50 >= 48}


def test_the_way_to_the_one_input_is_found_first():
    x = Value(1.0, label="x")
    y = x * 0.1
    for i in range(30):
        y = y + Value(10.0, label=f"b{i}") * Value(10.0, label=f"c{i}")
    text = explain(y, "x").text
    assert "v1 = x * 0.1" not in text  # 30 sums with their other operands: too long a way
    assert "(from 1 use left out)" in text
    text = explain(y, "x", limit=100).text
    assert "= x * 0.1 = 1 * 0.1 = 0.1" in text


def test_an_operation_on_many_operands():
    xs = [Value(float(i), label=f"q{i}") for i in range(200)]
    y = add_up(xs)
    explanation = explain(y)
    y.backward()
    check(explanation, {**{x.label: x for x in xs}, "y": y})
    assert "y = sum(q0, ..., 200 operands) = 19900" in explanation.text.replace("  ", " ")
    assert "to 192 more operands, which are left out" in explanation.text
    assert "192 more" in explanation.markdown
    whole = explain(y, limit=300)
    assert len(whole.derivation.parts[-1].edges) == 200
    y = logsumexp(xs[:50])
    explanation = explain(y)
    assert all(edge.formula is None for edge in explanation.derivation.parts[-1].edges)
    check_markdown(explanation.markdown)


def test_a_deep_graph():
    x = Value(1.0, label="x")
    y = x * 1.0
    for _ in range(100_000):
        y = y * 1.0
    found = explain(y).derivation
    assert found.size == 100_002
    assert len(found.parts) == 60


def test_formulas_stay_readable():
    ws = [Value(0.1 * i, label=f"a_rather_long_name_{i}") for i in range(6)]
    text = explain(tanh(add_up(ws) * ws[0])).text
    assert max(map(len, text.splitlines())) <= 80


def test_a_note_that_does_not_fit_stands_below():
    long = Value(3.0, label="a_name_" + "x" * 50)
    text = explain(Value(2.0, label="w") * tanh(Value(1.0, label=long.label + "y")), "w").text
    assert max(map(len, text.splitlines())) <= 80
    product = tanh(long)
    product.label = "p" * 50
    text = explain(Value(2.0, label="w") * product, "w").text
    assert "\n     (passes no gradient on to w)\n" in text


# --- the ways to write it ------------------------------------------------------------------------


def test_the_worked_example():
    y, *_ = worked_example()
    explanation = explain(y)
    assert str(explanation) == explanation.text
    assert repr(explanation) == "<explanation of y>"
    assert explanation._repr_markdown_() == explanation.markdown
    assert explanation.text.splitlines()[:19] == [
        "y = tanh(w * x + b)",
        "",
        "Forward pass: every value from its operands",
        "  w  = 0.5",
        "  x  = 2",
        "  b  = -1.5",
        "  v1 = w * x = 0.5 * 2 = 1",
        "  v2 = v1 + b = 1 + (-1.5) = -0.5",
        "  y  = tanh(v2) = tanh(-0.5) = -0.462117",
        "",
        "Backward pass: upstream gradient times local derivative, result first",
        "",
        "  y = tanh(v2)",
        "    dy/dy = 1",
        "    The derivative of tanh is one minus its square: at most 1, and near 0 once",
        "    saturated.",
        "    to v2: local derivative = 1 - y ** 2 = 1 - (-0.462117) ** 2 = 0.786448",
        "      passes on 1 * 0.786448 = 0.786448",
        "",
    ]
    assert explanation.text.isascii()


def test_a_value_that_was_not_computed():
    x = Value(3.0, label="x")
    text = explain(x).text
    assert text.startswith("x was given, not computed: there is no operation to explain")
    assert "Backward" not in text
    assert "Backward" not in explain(x).markdown
    assert explain(x).to_dict()["gradients"] == {"x": 1.0}


def check_tex(tex):
    assert tex.count("{") == tex.count("}")
    assert tex.count(r"\left") - tex.count(r"\left\{") == tex.count(r"\right")
    assert tex.count(r"\begin{") == tex.count(r"\end{")


def check_markdown(markdown):
    columns = None
    for line in markdown.splitlines():
        assert line == line.rstrip()
        assert line.count("$") % 2 == 0
        formulas = line.split("$")[1::2]
        for formula in formulas:
            assert formula == formula.strip()  # else GitHub does not take it for a formula
            check_tex(formula)
        if line.startswith("|"):
            columns = columns or line.count("|")
            assert line.count("|") == columns  # a bar in a formula would end the cell
        else:
            columns = None


def test_a_bar_in_a_formula_does_not_end_a_cell():
    markdown = explain(abs(Value(-2.0, label="x"))).markdown
    check_markdown(markdown)
    assert r"\left\vert{}x\right\vert{}" in markdown


def test_markdown_has_what_the_text_has():
    y, *_ = worked_example()
    markdown = explain(y).markdown
    assert r"$y = \tanh\left(w \cdot x + b\right)$" in markdown
    assert r"| $v_{1}$ | $w \cdot x$ | $0.5 \cdot 2$ | $1$ |" in markdown
    assert "The derivative of tanh is one minus its square" in markdown
    assert r"$\frac{\mathrm{d} y}{\mathrm{d} w} = " in markdown
    assert markdown.endswith("= 0.786448$\n")


def test_data_is_plain_and_exact():
    y, w, x, b = worked_example()
    data = json.loads(json.dumps(explain(y).to_dict()))
    y.backward()
    assert data["expression"] == "tanh(w * x + b)"
    assert data["latex"] == r"\tanh\left(w \cdot x + b\right)"
    assert data["gradients"] == {"w": w.grad, "x": x.grad, "b": b.grad}
    assert (data["size"], data["left_out"], data["wrt"]) == (6, 0, None)
    part = data["parts"][-1]
    assert part["edges"][0]["local"] == 1.0 - math.tanh(-0.5) ** 2
    assert part["operands"] == ["v2"]
    assert data["parts"][0]["received"] == [{"source": "v1", "amount": w.grad}]


# --- refusals ------------------------------------------------------------------------------------


def test_what_cannot_be_explained():
    x = Value(2.0, label="x")
    with pytest.raises(GraphError, match=r"takes the Value to explain; got 2\.0 \(a float\)"):
        explain(2.0)
    with no_grad():
        y = x * 3.0
    with pytest.raises(GraphError, match="no_grad"):
        explain(y)
    mine = Value(4.0, (x,), "mine")
    with pytest.raises(GraphError, match="hand-made operation 'mine' has a rule of its own"):
        explain(mine * 2.0)
    with pytest.raises(OptionError, match="limit"):
        explain(x * 2.0, limit=0)


def test_a_hand_made_operation_in_a_branch_not_taken_does_no_harm():
    x = Value(2.0, label="x")
    mine = Value(4.0, (x,), "mine")
    found = explain(where(1.0 * x, x, mine))
    assert "mine(x) = 4" in found.text
    assert found.derivation.expression is None
    check_markdown(found.markdown)


def test_a_wide_one_does_none_in_a_large_graph():
    xs = [Value(float(i), label=f"x{i}") for i in range(20)]
    mine = Value(4.0, xs, "mine")
    found = explain(where(1.0 * xs[1], xs[1], mine), limit=15)
    assert "mine" in found.text


def test_a_wrt_that_is_not_there():
    y, *_ = worked_example()
    with pytest.raises(OptionError, match=r"wrt='z' \(a str\).*inputs: 'w', 'x', 'b'\."):
        explain(y, "z")
    with pytest.raises(OptionError, match="was not computed from wrt=Value"):
        explain(y, Value(1.0))
    with pytest.raises(OptionError, match="wrt must be a Value of the graph or its label"):
        explain(y, 3)
    twins = mul(Value(1.0, label="a"), Value(2.0, label="a"))
    with pytest.raises(OptionError, match="2 values have the label 'a'; give the Value itself"):
        explain(twins, "a")
