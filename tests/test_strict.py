"""Inside strict(), the operation that brings inf or nan into the world raises."""

import copy
import inspect
import math
import threading

import pytest

from chainrule import NonFiniteError, Value, exp, log, no_grad, sqrt, strict, tanh, where
from chainrule import sum as add_up
from chainrule.compiler import compile
from chainrule.modes import MODES
from chainrule.nn import Neuron
from chainrule.operation import ROWS

SPECIAL = [
    (op, operands)
    for op in ROWS.values()
    for operands, result in op.special
    if operands and not math.isfinite(result)
]


def line_here(offset=0):
    """How an error names the line of the caller, or one ``offset`` lines away."""
    frame = inspect.currentframe().f_back
    return f"line {frame.f_lineno + offset} of {frame.f_code.co_filename}"


@pytest.fixture(autouse=True)
def _leaves_no_mode_behind():
    before = MODES.used
    yield
    assert MODES.used == before
    assert MODES.here.watch is None


# --- forward ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("op", "operands"), SPECIAL, ids=lambda x: getattr(x, "name", str(x)))
def test_every_operation_raises_where_it_makes_inf_or_nan_and_only_there(op, operands):
    values = tuple(map(Value, operands))
    op.apply(values)  # outside, nothing raises
    with strict():
        if all(map(math.isfinite, operands)):
            with pytest.raises(NonFiniteError, match="finite"):
                op.apply(values)
        else:
            op.apply(values)


def test_the_message_names_operation_operands_and_line():
    p = Value(0.25, label="p")
    with strict(), pytest.raises(NonFiniteError) as caught:
        log(p * 4.0 - 1.0)
    said = str(caught.value).splitlines()
    assert said[0] == ("log((p * 4) - 1) is -inf, though its operand is finite: (p * 4) - 1 = 0")
    assert said[1].strip() == f"made at: {line_here(-3)}"
    assert said[2].strip().startswith("what to do: log needs an operand above 0.")


@pytest.mark.parametrize(
    ("compute", "said"),
    [
        (lambda a, b: a / b, "a / b is inf, though its operands are finite: a = 2, b = 0"),
        (lambda a, b: 1.0 / b, "1 / b is inf, though its operands are finite: b = 0"),
        (lambda a, b: (-a) ** 0.5, "(-a) ** 0.5 is nan, though its operands are finite: -a = -2"),
        (lambda a, b: exp(a * 400.0), "exp(a * 400) is inf, though its operand is finite: a * 400"),
        (lambda a, b: a * 1e308 * 1e308, "a * 1e+308 is inf, though its operands are finite: a"),
        (lambda a, b: Value(1e308) + Value(1e308), "Value(1e+308) + Value(1e+308) is inf"),
        (lambda a, b: Value(math.inf, (a, b), "mystery"), "mystery(a, b) is inf"),
        (lambda a, b: add_up([a * 5e307] * 9), "9 operands) is inf, though its operands are"),
    ],
)
def test_operations_are_spelled_as_people_write_them(compute, said):
    a, b = Value(2.0, label="a"), Value(0.0, label="b")
    with strict(), pytest.raises(NonFiniteError) as caught:
        compute(a, b)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()[0]) < 160


def test_the_line_is_that_of_the_users_code_not_of_the_package():
    neuron = Neuron(2, activation=lambda z: log(z - z), seed=1)
    with strict(), pytest.raises(NonFiniteError, match="log") as caught:
        neuron([1.0, 2.0])
    assert line_here(-3) in str(caught.value)  # the activation is the user's own code
    neuron = Neuron(2, activation="sigmoid", seed=1)
    neuron.weights[0].data = neuron.weights[1].data = 1e308
    with strict(), pytest.raises(NonFiniteError) as caught:
        neuron([10.0, 10.0])
    assert line_here(-1) in str(caught.value)


def test_an_operand_that_is_not_finite_already_is_nobodys_fault():
    x = Value(math.nan)
    with strict():
        assert math.isnan((x * 2.0 + 1.0).data)
        assert (Value(1.0) * math.inf).data == math.inf


def test_without_a_graph_too():
    with strict(), no_grad(), pytest.raises(NonFiniteError, match="log"):
        log(Value(0.0))


def test_a_value_that_merely_overflows_to_a_right_answer_is_fine():
    with strict():
        assert tanh(Value(1e300)).data == 1.0


# --- backward -----------------------------------------------------------------------------------


def test_the_first_local_derivative_that_is_not_finite_raises_and_no_gradient_is_touched():
    w, x = Value(2.0, label="w"), Value(0.0, label="x")
    w.grad = 7.0
    with strict():
        root = sqrt(x)
        loss = w * root
        loss.label = "loss"
        root.grad = 5.0
        with pytest.raises(NonFiniteError) as caught:
            loss.backward()
    assert str(caught.value).splitlines()[:6] == [
        "the derivative of sqrt(x) by x is inf at x = 0",
        "    the derivative of the root is one over twice the root",
        f"    made at: {line_here(-9)}",
        "    path from the loss:",
        "        loss = w * sqrt(x) = 0",
        "        sqrt(x) = 0",
    ]
    assert (w.grad, x.grad, root.grad, loss.grad) == (7.0, 0.0, 5.0, 0.0)
    loss.backward()  # outside, all goes its way
    assert (w.grad, x.grad) == (7.0, math.inf)


def test_the_one_nearest_to_the_loss_comes_first():
    x = Value(0.0, label="x")
    with strict():
        inner = sqrt(x)
        loss = sqrt(inner * 3.0)
        with pytest.raises(NonFiniteError, match=r"derivative of sqrt\(sqrt\(x\) \* 3\)"):
            loss.backward()


def test_a_gradient_that_overflows_raises():
    x = Value(1e-300, label="x")
    y = x * 1e200 * 1e200
    with strict(), pytest.raises(NonFiniteError) as caught:
        y.backward()
    said = str(caught.value)
    assert said.startswith("the gradient of x becomes inf: x * 1e+200 passes on 1e+200 (its own")
    assert "made at" not in said  # it was computed outside
    assert x.grad == 0.0


def test_a_sum_of_gradients_that_overflows_raises():
    x = Value(1e-10, label="x")
    with strict():
        y = x * 1e308 + x * 1e308
        with pytest.raises(NonFiniteError, match=r"becomes inf: .* on top of what it had"):
            y.backward()


def test_the_branch_not_taken_does_not_matter_on_the_way_back():
    x = Value(0.0)
    with strict():
        where(x > 0.0, sqrt(x), x * 3.0).backward()
    assert x.grad == 3.0


def test_a_finite_pass_gives_what_it_gives_outside():
    x = Value(0.3)
    with strict():
        y = tanh(x * x) + exp(x) / x
        y.backward()
    inside, x.grad = x.grad, 0.0
    y.backward()
    assert x.grad == inside


def test_a_rule_of_ones_own_is_carried_out_unexamined():
    x, z = Value(2.0), Value(0.0, label="z")
    with strict():
        inner = sqrt(z) + x
        out = Value(inner.data, (inner,), "mine")
        out._backward = lambda: setattr(inner, "grad", inner.grad + math.inf * out.grad)
        with pytest.raises(NonFiniteError, match=r"derivative of sqrt\(z\) by z"):
            (out * 2.0).backward()
        out = Value(1.0, (x,), "mine")
        out._backward = lambda: setattr(x, "grad", math.inf)
        (out * 2.0).backward()
    assert x.grad == math.inf


# --- the block ----------------------------------------------------------------------------------


def test_it_nests_and_ends_with_the_outermost_block():
    x = Value(0.0, label="x")
    with strict():
        y = sqrt(x)
        with strict(), pytest.raises(NonFiniteError, match=f"made at: {line_here(-1)}"):
            y.backward()
        with pytest.raises(NonFiniteError):
            log(x)
    assert log(x).data == -math.inf


def test_it_ends_when_an_exception_leaves_it():
    with pytest.raises(KeyError), strict():
        raise KeyError
    assert log(Value(0.0)).data == -math.inf


def test_as_a_decorator():
    @strict()
    def loss(p):
        return -log(p)

    assert loss(Value(1.0)).data == 0.0
    for _ in range(2):
        with pytest.raises(NonFiniteError):
            loss(Value(0.0))
    assert log(Value(0.0)).data == -math.inf


def test_it_belongs_to_its_thread():
    found = []
    with strict():
        thread = threading.Thread(target=lambda: found.append(log(Value(0.0)).data))
        thread.start()
        thread.join()
    assert found == [-math.inf]


def test_a_copy_does_not_get_the_line_of_a_node_that_is_gone():
    x = Value(0.0)
    with strict():
        y = sqrt(x) * 2.0
        lines = MODES.here.watch
        gone = [x * 1.0 for x in [x] * 5000]
        addresses = {id(node) for node in gone}
        del gone
        copies = [copy.deepcopy(y) for _ in range(500)]
        assert any(id(node) in addresses for node in copies)  # else this test is void
        assert all(lines.line(node) is None for node in copies)
        assert lines.line(y) == line_here(-8)


def test_a_function_can_be_compiled_inside():
    with strict():
        step = compile(lambda w, x: tanh(w * x))
        assert step(0.5, 2.0) == pytest.approx(math.tanh(1.0))
