"""From scalar nodes to statements: what is fused, grouped and recognised, and how it is printed."""

import itertools
import re

import numpy as np
import pytest

from chainrule import Value, nn, ops
from chainrule.compiler.backend_numpy import _rows, _subscript, emit
from chainrule.compiler.lower import lower
from chainrule.compiler.program import Contract, Elementwise, Join, Reduce
from chainrule.compiler.rules import elementwise_partials
from chainrule.compiler.trace import record
from chainrule.structure import flatten

P = [Value(0.1 * i) for i in range(24)]


def program_of(f, inputs=3, parameters=P, wanted=None):
    structures = [flatten([0.0] * inputs, "x")[1]]
    return lower(record(f, structures, parameters), structures, len(parameters), wanted)


def statements(program):
    """A line for each statement: what it is, how wide, and how many nodes it stands for."""
    lines = []
    for s in program.statements:
        if isinstance(s, Contract):
            name = "+".join(
                f"{block.form}{block.p}x{block.q}" if block.form == "matrix" else
                "sum" if block.right is None else "products"
                for block in s.blocks
            )  # fmt: skip
        elif isinstance(s, Join):
            name = "join"
        else:
            name = s.op.name
        lines.append(f"{name} {s.target.size} {s.nodes}")
    return lines


def source(f, inputs=3, parameters=P, wanted=None):
    return emit(program_of(f, inputs, parameters, wanted), wanted).text


def layer(weights, x, n):
    return [ops.dot(weights[len(x) * i : len(x) * (i + 1)], x) for i in range(n)]


# --- fuse ----------------------------------------------------------------------------------------


def test_a_chain_of_additions_is_one_sum_of_products():
    program = program_of(lambda x: P[0] * x[0] + P[1] * x[1] + x[2] + 0.5)
    assert statements(program) == ["matrix1x1+sum+sum 1 5"]
    assert program.scalar_nodes == 5


def test_from_the_right_or_the_left_is_the_same():
    def right(x):
        return P[0] * x[0] + (P[1] * x[1] + (P[2] * x[2] + P[3]))

    def left(x):
        return ((P[0] * x[0] + P[1] * x[1]) + P[2] * x[2]) + P[3]

    def nary(x):
        return ops.sum([P[0] * x[0], P[1] * x[1], P[2] * x[2], P[3]])

    assert source(right) == source(left)
    assert statements(program_of(nary)) == ["matrix1x1+sum 1 4"]


def test_a_partial_sum_that_is_used_twice_is_a_result_of_its_own():
    program = program_of(lambda x: [(h := P[0] * x[0] + P[1]) + x[1] * x[2], ops.exp(h)])
    assert statements(program) == ["products+sum 1 2", "products+sum 1 2", "exp 1 1"]


def test_a_product_that_is_used_twice_is_no_part_of_a_sum():
    program = program_of(lambda x: (h := P[0] * x[0]) * h + h + x[1])
    assert [line.split()[0] for line in statements(program)] == ["mul", "products+sum+sum"]


def test_outputs_are_not_fused_away():
    program = program_of(lambda x: [h := P[0] * x[0], h + x[1]])
    assert [line.split()[0] for line in statements(program)] == ["mul", "add"]


def test_maxima_stay_in_order():
    """Fused, they would share ties differently."""
    program = program_of(lambda x: ops.maximum(ops.maximum(x[0], x[1]), x[2]))
    assert statements(program) == ["maximum 1 1", "maximum 1 1"]


def test_dead_nodes_go():
    program = program_of(lambda x: (ops.exp(x[0]) * P[3], ops.sin(x[1]))[1])
    assert statements(program) == ["sin 1 1"]
    assert program.scalar_nodes == 1


# --- group ---------------------------------------------------------------------------------------


def test_the_same_operation_on_many_members_is_one_statement():
    program = program_of(lambda x: ops.sum([ops.tanh(ops.exp(v) * p) for v in x for p in P[:4]]))
    assert statements(program) == ["exp 3 3", "mul 12 12", "tanh 12 12", "sum 1 1"]
    exp, product, *_ = program.statements
    assert product.operands[0].group is exp.target
    assert product.operands[0].index.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert product.operands[1].index.tolist() == [0, 1, 2, 3] * 3


def test_other_operations_and_other_sources_are_other_statements():
    program = program_of(lambda x: [ops.sin(x[0]), ops.cos(x[0]), ops.sin(P[0]), ops.sin(x[1])])
    assert statements(program) == ["sin 2 2", "cos 1 1", "sin 1 1"]


def test_variadic_operations_with_equally_many_operands():
    program = program_of(
        lambda x: (
            ops.sum([ops.logsumexp([x[0], p, x[1], x[2]]) for p in P[:5]])
            * ops.logsumexp([x[0], x[1]])
        )
    )
    found = [s for s in program.statements if isinstance(s, Reduce)]
    assert [s.target.size for s in found] == [5, 1]
    assert [take.index.shape for take in found[0].rows] == [(5, 1), (5, 1), (5, 2)]


def test_what_is_the_same_for_all_examples_has_no_batch_axis():
    program = program_of(lambda x: ops.exp(P[0]) * x[0] + ops.exp(P[1]) * x[1])
    exp, total = program.statements
    assert not exp.target.batched
    assert total.target.batched


def test_what_needs_no_gradient_gets_none():
    program = program_of(
        lambda x: ops.less(P[0], x[0]) * P[1] + ops.stop_gradient(ops.exp(P[2])) + ops.sin(x[1])
    )
    smooth = {
        s.op.name: s.target.differentiable for s in program.statements if isinstance(s, Elementwise)
    }
    assert smooth == {"exp": True, "less": False, "stop_gradient": False, "sin": False}
    text = emit(program, None).text.split("# backward")[1]
    assert "np.exp" not in text
    assert "np.cos" not in text


def test_different_lengths_are_joined_where_that_saves_statements():
    """As in causal attention: position i looks at 0 .. i, so each sum has its own length."""

    def triangle(x):
        sums = [ops.dot(P[: i + 1], x[: i + 1]) for i in range(12)]
        return ops.sum([ops.tanh(ops.sin(ops.exp(v))) ** 2 for v in sums])

    program = program_of(triangle, inputs=12)
    assert any(isinstance(s, Join) for s in program.statements)
    after = [s for s in program.statements if isinstance(s, Elementwise) and s.op is ops.tanh]
    assert [s.target.size for s in after] == [12]


# --- recognise -----------------------------------------------------------------------------------


def test_a_layer_is_a_matrix_product():
    program = program_of(lambda x: ops.sum([ops.tanh(z) for z in layer(P, x, 8)]))
    assert statements(program)[0] == "matrix1x8 8 32"
    (block,) = program.statements[0].blocks
    assert block.left.group is program.inputs[0]
    assert block.left.index.tolist() == [[0, 1, 2]]
    assert block.right.index.tolist() == np.arange(24).reshape(8, 3).tolist()


def test_whichever_factor_comes_first():
    def turned(x):
        rows = [P[3 * i : 3 * i + 3] for i in range(8)]
        return ops.sum([ops.tanh(ops.dot(x, row)) for row in rows])

    assert source(turned) == source(lambda x: ops.sum([ops.tanh(z) for z in layer(P, x, 8)]))


def test_one_neuron_is_a_matrix_product_of_one_column():
    program = program_of(lambda x: ops.tanh(ops.dot(P[:3], x)))
    assert statements(program)[0] == "matrix1x1 1 4"
    assert "np.tanh(x @ W1.T)" in source(lambda x: ops.tanh(ops.dot(P[:3], x)))


def test_shared_weights_at_several_places_are_a_matrix_times_a_matrix():
    def f(x):
        places = [x[0:2], x[2:4], x[4:6]]
        return ops.sum(
            [ops.tanh(ops.dot(P[2 * i : 2 * i + 2], v)) for v in places for i in range(4)]
        )

    program = program_of(f, inputs=6)
    assert statements(program)[0] == "matrix3x4 12 36"
    text = emit(program, None).text
    assert "h1 = np.tanh((x.reshape(-1, 2) @ W1.T).reshape(-1, 12))" in text
    assert "dW1 += dz1.reshape(-1, 4).T @ x.reshape(-1, 2)" in text


def test_a_matrix_of_one_example_times_another():
    def f(x):
        a, b = [x[0:2], x[2:4]], [x[4:6], x[6:8], x[8:10]]
        return ops.sum([ops.tanh(ops.dot(v, w)) for v in a for w in b])

    program = program_of(f, inputs=10, wanted=0)
    assert statements(program)[0] == "matrix2x3 6 18"


def test_row_by_row_products():
    program = program_of(
        lambda x: ops.sum([ops.tanh(x[i] * P[i] + x[2 - i] * P[i + 3]) for i in range(3)])
    )
    assert statements(program)[0] == "products 3 9"


def test_a_broadcast_is_no_gather():
    text = source(lambda x: ops.sum([ops.tanh(v - x[1]) for v in x]))
    assert "x - x[:, 1:2]" in text


def test_nothing_of_a_matrix_product_is_lost():
    """Each block says which terms it has; together they are those that were traced."""

    def f(x):
        return ops.sum(
            [ops.tanh(ops.dot(x, P[3 * i : 3 * i + 3]) + x[i] * P[12 + i] + P[9]) for i in range(3)]
        )

    contract = program_of(f).statements[0]
    for i in range(3):
        terms = {
            (block.left.group.kind, left, block.right.group.kind if block.right else "", right)
            for block in contract.blocks
            for left, right in block.pairs(i)
        }
        sums = {("parameter", 9, "", -1)}
        pairs = {frozenset(t) for t in [(("input", j), ("parameter", 3 * i + j)) for j in range(3)]}
        pairs.add(frozenset([("input", i), ("parameter", 12 + i)]))
        assert {t for t in terms if t[3] < 0} == sums
        assert {frozenset([t[:2], t[2:]]) for t in terms if t[3] >= 0} == pairs


@pytest.mark.parametrize("name", ["mse", "cross_entropy", "binary_cross_entropy", "hinge"])
def test_losses_of_networks_are_few_statements(name):
    parameters = [Value(0.01 * i) for i in range(64 * 32 + 32 + 32 * 10 + 10)]

    def loss(x, y):
        first, rest = parameters[: 64 * 32], parameters[64 * 32 :]
        hidden = [ops.tanh(z + b) for z, b in zip(layer(first, x, 32), rest[:32], strict=True)]
        z = [z + b for z, b in zip(layer(rest[32:], hidden, 10), rest[352:], strict=True)]
        if name == "cross_entropy":
            return nn.LOSSES[name](z, y)
        if name == "binary_cross_entropy":
            return nn.LOSSES[name](ops.sigmoid(z[0]), y)
        return nn.LOSSES[name](z[0], y)

    structures = [flatten([0.0] * 64, "x")[1], flatten(0.0, "y")[1]]
    program = lower(record(loss, structures, parameters), structures, len(parameters), None)
    assert len(program.statements) <= (14 if name == "binary_cross_entropy" else 12)


# --- print ---------------------------------------------------------------------------------------


def read(text, array):
    """What a printed subscript or view takes of an array."""
    for slice_, shape, turn in re.findall(r"\[([^]]*)\]|\.reshape\(([^)]*)\)|(\.T)", text):
        if shape:
            array = array.reshape([int(n) for n in shape.split(",")])
        elif turn:
            array = array.T
        else:
            parts = [
                slice(*[int(n) if n else None for n in part.split(":")])
                for part in slice_.split(", ")
            ]
            array = array[tuple(parts)]
    return array


def test_regular_indices_are_slices():
    size = 12
    array = np.arange(size)
    for start, step, n in itertools.product(range(size), range(1, 5), range(1, 6)):
        index = start + step * np.arange(n)
        if index[-1] < size:
            assert read(f"[{_subscript(index, size) or ':'}]", array).tolist() == index.tolist()
    assert _subscript(array, size) == ""
    assert _subscript(np.array([3, 3, 3]), size) == "3:4"
    for irregular in ([0, 2, 3], [3, 2, 1], [0, 0, 1], [1, 0]):
        assert _subscript(np.array(irregular), size) is None


def test_regular_matrices_are_views():
    size = 24
    array = np.arange(size)
    views = 0
    for start, down, across, n, k in itertools.product(
        range(8), range(1, 9), range(1, 9), range(1, 5), range(1, 5)
    ):
        index = start + down * np.arange(n)[:, None] + across * np.arange(k)
        if index[-1, -1] >= size:
            continue
        text = _rows(index, size)
        if text is not None:
            views += 1
            view = read(text, array)
            assert view.tolist() == index.tolist(), text
            assert np.shares_memory(view, array)
    assert views > 1000
    assert _rows(np.arange(6).reshape(2, 3), size) == "[0:6].reshape(2, 3)"
    assert _rows(np.arange(6).reshape(3, 2).T, size) == "[0:6].reshape(3, 2)[:, :].T"
    assert _rows(np.array([[0, 1], [0, 1]]), size) is None
    assert _rows(np.array([[0, 1], [1, 2]]), size) is None


@pytest.mark.parametrize(
    ("f", "line"),
    [
        (lambda x: x[0] * (x[1] + x[2]), "loss = x[:, 0:1] * v1"),
        (lambda x: x[0] - (x[1] - x[2]), "loss = x[:, 0:1] - v1"),
        (lambda x: ops.neg(x[0]) ** 2, "loss = v1 * v1"),
        (lambda x: x[0] ** 3, "loss = x[:, 0:1] ** 3.0"),
        (lambda x: x[0] ** -0.5, "loss = x[:, 0:1] ** (-0.5)"),
        (lambda x: (-2.0) ** x[0], "loss = (-2.0) ** x[:, 0:1]"),
        (lambda x: x[0] * -2.0, "loss = x[:, 0:1] * -2.0"),
        (lambda x: -x[0], "loss = -x[:, 0:1]"),
        (
            lambda x: ops.where(ops.less(x[0], 1.0), x[1], 0.0),
            "loss = np.where(v1, x[:, 1:2], 0.0)",
        ),
        (lambda x: ops.less(x[0], 1.0), "loss = (1.0 * (x[:, 0:1] < 1.0))"),
    ],
)
def test_expressions_keep_their_parentheses(f, line):
    assert line in source(f)


def test_rules_are_the_tables():
    (statement,) = program_of(lambda x: ops.tanh(x[0]), wanted=0).statements
    expression = elementwise_partials(statement)
    (partial,) = expression.partials
    names = [op.name if op else "leaf" for op in expression.trace.ops]
    assert names[partial.node] == "sub"
    assert not partial.gate


def test_programs_without_branches_have_no_masks():
    text = source(lambda x: ops.logsumexp([ops.relu(z) for z in layer(P, x, 8)]))
    assert "masked" not in text
    assert "np.where(m" not in text


def test_only_what_is_behind_a_branch_is_masked():
    def f(x):
        h = [ops.tanh(z) for z in layer(P[:9], x, 3)]
        roots = [ops.where(ops.greater(v, 0.0), ops.sqrt(v), 0.0) for v in h]
        return ops.sum([*roots, *h])

    text = source(f)
    (masked,) = re.findall(r"np\.where\((m\w+),", text)
    assert masked == "m" + re.findall(r"(\w+) = np\.sqrt", text)[0]
