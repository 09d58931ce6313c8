"""Compiled and eager agree: on every operation, on expressions, on random graphs.

Each function is run eagerly, example by example, and by every engine on the whole batch:
its values, its gradients by the parameters and by the first argument.
"""

import itertools
import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from chainrule import Value, ops
from chainrule.compiler import runtime
from chainrule.compiler.backend_numpy import emit
from chainrule.compiler.engines import ENGINES
from chainrule.compiler.lower import lower
from chainrule.compiler.trace import record
from chainrule.operation import ROWS, VARIADIC
from chainrule.parsing import parse
from chainrule.structure import flatten
from chainrule.transforms import pull_back

INF, NAN = math.inf, math.nan
TESTED = ("numpy", "arrays", "python")

# --- holding engines to eager --------------------------------------------------------------------


def compiled(f, parameters, arrays, wanted):
    """A function's program, and the numbers that it takes for parameters."""
    structures = [flatten([0.0] * a.shape[1], "x")[1] for a in arrays]
    trace = record(f, structures, parameters)
    program = lower(trace, structures, len(parameters), wanted)
    theta = np.array([p.data for p in trace.parameters], dtype=np.float64)
    return program, theta


def eager(f, parameters, arrays, wanted):
    """Values of shape (rows, 1); gradients summed over the rows, or (rows, inputs)."""
    values, gradients = [], []
    for row in zip(*arrays, strict=True):
        x, *others = [r.tolist() for r in row]
        if wanted is not None:
            x = [Value(number) for number in x]
        y = f(x, *others)
        values.append([float(y)])
        gradients.append(pull_back([y], [1.0], parameters if wanted is None else x, graph=False))
    found = np.array(gradients, dtype=np.float64)
    return np.array(values), found.sum(axis=0) if wanted is None else found


def hold(f, parameters, arrays, engines=TESTED, agree=None):
    """Every engine must give what eager mode gives; returns how many statements there are."""
    agree = agree or in_norm
    for wanted in (None, 0):
        asked = parameters if wanted is None else []
        values, gradients = eager(f, asked, arrays, wanted)
        program, theta = compiled(f, asked, arrays, wanted)
        source = emit(program, wanted)
        rows = len(arrays[0])
        seed = np.ones((rows, 1))
        for engine in engines:
            run = ENGINES[engine](program, source, wanted, np.float64)
            by = f"{engine}, by {'parameters' if wanted is None else 'the input'}"
            outputs, found = run(theta, arrays, rows, seed)
            agree(outputs, values, f"value with gradient, {by}\n{source.text}")
            agree(found, gradients, f"gradient, {by}\n{source.text}")
            agree(run(theta, arrays, rows, None)[0], values, f"value, {by}\n{source.text}")
    return len(program.statements)


def in_norm(found, expected, what, tolerance=1e-12):
    """Non-finite numbers in the same places, the others to ``tolerance`` in the norm."""
    assert found.shape == expected.shape, what
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(
        np.where(finite, 0.0, found), np.where(finite, 0.0, expected), err_msg=what
    )
    distance = np.linalg.norm(found[finite] - expected[finite])
    assert distance <= tolerance * (1.0 + np.linalg.norm(expected[finite])), what


def each(found, expected, what):
    """Number by number: to a few ulp; in a gradient 0 and 2**-53 are one.

    Values may be 0 from 1e-300 on: so is NumPy's sigmoid, where exp(-x) overflows.
    """
    assert found.shape == expected.shape, what
    floor = 1e-300 if what.startswith("value") else 2.0**-53
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=floor, err_msg=what)


def test_the_comparison_itself_notices():
    w = Value(0.3)

    def f(x):
        return ops.tanh(w * x[0]) * x[1]

    def wrong(found, expected, what):
        in_norm(found, expected * (1.0 + 1e-9), what)

    batch = [np.array([[1.0, 2.0], [0.5, -1.0]])]
    hold(f, [w], batch)
    with pytest.raises(AssertionError):
        hold(f, [w], batch, agree=wrong)
    with pytest.raises(AssertionError):
        in_norm(np.array([1.0, NAN]), np.array([1.0, 2.0]), "")
    with pytest.raises(AssertionError):
        in_norm(np.array([1.0, INF]), np.array([1.0, -INF]), "")


# --- every operation of the table ----------------------------------------------------------------

# Where an operand comes from: an input or a parameter for each member of a group, one for
# all members, or a constant.
ROLES = ("input", "parameter", "one input", "one parameter", "constant")
FIXED = [op for op in ROWS.values() if op.arity != VARIADIC]
COMBINATIONS = [
    (op, roles, n)
    for op in FIXED
    for roles in itertools.product(ROLES, repeat=op.arity)
    for n in (1, 3)
    if any(role != "constant" for role in roles)
    and (op.arity < 3 or len(set(roles)) > 1)
    and (n > 1 or not any(role.startswith("one") for role in roles))
]


def spread(domain, count, generator):
    low, high = domain
    return generator.uniform(low, high, size=count).round(3)


@pytest.mark.parametrize("op", FIXED, ids=lambda op: op.name)
def test_every_operation_in_every_mix_of_operands(op):
    generator = np.random.default_rng(1)
    for roles, n in [(roles, n) for o, roles, n in COMBINATIONS if o is op]:
        columns = []  # of the input
        parameters = []
        sources = []
        for role, domain in zip(roles, op.domain, strict=True):
            if role.endswith("input"):
                width = 1 if role.startswith("one") else n
                sources.append(("input", len(columns), width))
                columns += [spread(domain, 4, generator) for _ in range(width)]
            elif role.endswith("parameter"):
                width = 1 if role.startswith("one") else n
                sources.append(("parameter", len(parameters), width))
                parameters += [Value(float(x)) for x in spread(domain, width, generator)]
            else:
                sources.append(("constant", spread(domain, n, generator).tolist(), n))
        columns = columns or [np.zeros(4)]
        if op is ops.where:
            columns[0] = np.round(columns[0])  # some true, some false

        def f(x, sources=sources, parameters=parameters, n=n):
            def operand(source, i):
                kind, start, width = source
                if kind == "constant":
                    return start[i]
                vector = x if kind == "input" else parameters
                return vector[start + i % width]

            members = [op(*[operand(s, i) for s in sources]) for i in range(n)]
            return ops.sum([(0.5 + i) * y for i, y in enumerate(members)])

        hold(f, parameters, [np.stack(columns, axis=1)])


VECTORS = {
    "all of the input": lambda x, p: x,
    "all parameters": lambda x, p: p,
    "both": lambda x, p: [*x, *p],
    "mixed with constants": lambda x, p: [x[0], 0.5, *p, -1.0, x[1]],
    "one of them again and again": lambda x, p: [x[0], p[0], x[0], x[0]],
    "backwards": lambda x, p: [*x[::-1], *p[::-1]],
    "a single one": lambda x, p: [x[1]],
}


@pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS)
@pytest.mark.parametrize("members", [1, 3])
def test_logsumexp_and_sum(vector, members):
    parameters = [Value(x) for x in (0.3, -0.7, 1.1)]
    batch = np.random.default_rng(2).normal(size=(5, 3))
    for op in (ops.logsumexp, ops.sum):

        def f(x, op=op):
            terms = vector(x, parameters)
            return ops.sum([op([t * (1.0 + i) for t in terms]) for i in range(members)])

        hold(f, parameters, [batch])
        hold(lambda x, op=op: op(vector(x, parameters)), parameters, [batch])


@pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS)
@pytest.mark.parametrize("members", [1, 3])
def test_pick(vector, members):
    parameters = [Value(x) for x in (0.3, -0.7, 1.1)]
    generator = np.random.default_rng(3)
    count = len(vector([0.0] * 3, parameters))
    batch = generator.normal(size=(5, 3))
    index = generator.integers(0, count, size=(5, 2)).astype(float)

    def f(x, k):
        options = vector(x, parameters)
        picked = [ops.pick(k[i % 2], [t * t * (1.0 + i) for t in options]) for i in range(members)]
        return ops.sum(picked) * ops.pick(k[0], options) + ops.pick(count - 1, options)

    hold(f, parameters, [batch, index])


@pytest.mark.parametrize("name", runtime.__all__)
def test_runtime_functions_are_the_rows_they_are_named_after(name):
    """Bit for bit where NumPy's elementary functions allow it, at special points exactly."""
    op = ROWS.get(name)
    if op is None or op.arity == VARIADIC:
        return
    ordinary = [-800.0, -30.0, -2.5, -1e-9, -0.0, 0.0, 1e-300, 0.3, 1.0, 17.0, 700.0]
    points = [*ordinary, INF, -INF, NAN]
    rest = [0.25] * (op.arity - 1)
    expected = np.array([op.forward(x, *rest) for x in points])
    with np.errstate(all="ignore"):
        found = getattr(runtime, name)(np.array(points), *rest)
    np.testing.assert_allclose(found, expected, rtol=4e-16, atol=0.0)
    zeros = (expected == 0.0) & np.isfinite(points)
    assert (np.signbit(found[zeros]) == np.signbit(expected[zeros])).all()


@pytest.mark.parametrize("op", FIXED, ids=lambda op: op.name)
def test_special_points_of_the_table(op):
    """All in one batch, so that the rows take different branches."""
    if op.special:
        batch = np.array([operands for operands, _ in op.special])
        hold(lambda x: op(*x), [], [batch], agree=each)


@pytest.mark.parametrize("values", [values for values, _ in ops.logsumexp.special if values])
def test_special_points_of_logsumexp(values):
    hold(ops.logsumexp, [], [np.array([values])], agree=each)


# --- expressions with known results --------------------------------------------------------------


def rows(name):
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def by_expression(name):
    """For each expression the names in it, and the points at which it was measured."""
    found = {}
    for row in rows(name):
        names = tuple(row["inputs"])
        point = [float(x) for x in row["inputs"].values()]
        found.setdefault((row["expr"], names), []).append(point)
    return [(expr, names, np.array(points)) for (expr, names), points in found.items()]


CONVENTIONS = by_expression("conventions.jsonl")


@pytest.mark.parametrize(("expr", "names", "points"), CONVENTIONS, ids=[c[0] for c in CONVENTIONS])
def test_special_points(expr, names, points):
    formula = parse(expr)

    def f(x):
        return formula.evaluate(dict(zip(names, x, strict=True)))

    hold(f, [], [points], agree=each)  # all in one batch
    parameters = [Value(0.0) for _ in names]
    for point in points:
        for parameter, x in zip(parameters, point, strict=True):
            parameter.data = float(x)
        hold(lambda _: f(parameters), parameters, [np.zeros((1, 1))], agree=each)


EXPRESSIONS = by_expression("expressions.jsonl")


@pytest.mark.parametrize("part", range(10))
def test_expressions(part):
    for expr, names, points in EXPRESSIONS[part::10]:
        formula = parse(expr)
        a, b, *others = [Value(float(x)) for x in points[0]]

        def f(x, formula=formula, names=names, given=(a, b), others=others):
            known = [x[0], x[1], *others] if len(x) > 1 else [*given, *others]
            return formula.evaluate(dict(zip(names, known, strict=True)))

        nearby = points[0, :2] + np.array([[0.0, 0.0], [0.25, -0.5]])
        hold(f, others, [nearby])
        hold(f, [a, b], [np.zeros((1, 1))])


def test_all_expressions_were_there():
    assert len(EXPRESSIONS) == 400
    assert sum(len(points) for _, _, points in CONVENTIONS) == 543


# --- branches that no gradient may pass ----------------------------------------------------------

POSITIVE = np.array([[0.0, 1.0], [4.0, 0.0], [-1.0, 2.0], [0.25, -1.0]])


def chosen(x, inside, outside=0.0):
    return ops.where(ops.greater(x, 0.0), inside, outside)


BRANCHES = {
    "a root": lambda x, p: chosen(x[0], ops.sqrt(x[0])),
    "the other branch": lambda x, p: ops.where(ops.less_equal(x[0], 0.0), 1.0, ops.log(x[0])),
    "a chain of operations": lambda x, p: chosen(x[0], ops.exp(ops.sqrt(ops.log(x[0]) + 5.0))),
    "a sum of products": lambda x, p: chosen(x[0], ops.sqrt(x[0]) * p[0] + ops.log(x[0]) * x[0]),
    "a matrix product": lambda x, p: ops.sum(
        [chosen(x[0], ops.dot(p[3 * i : 3 * i + 3], [ops.log(x[0]), ops.div(1.0, x[0]), x[0]]))
         for i in range(2)]
    ),
    "a layer of logarithms": lambda x, p: ops.sum(
        [chosen(x[i % 2], ops.dot(p[2 * i : 2 * i + 2], [ops.log(v) for v in x])) for i in range(3)]
    ),
    "a matrix of logarithms": lambda x, p: ops.sum(
        [
            chosen(x[0] * x[1], ops.dot(p[2 * i : 2 * i + 2], v))
            for v in ([ops.log(x[0]), ops.log(x[1])], [ops.log(x[1]), ops.log(x[0])])
            for i in range(3)
        ]
    ),
    "branches within branches": lambda x, p: chosen(
        x[0], chosen(x[0] - 1.0, ops.log(x[0] - 1.0), ops.sqrt(x[0])), ops.sqrt(-x[0])
    ),
    "parameters alone": lambda x, p: chosen(x[0], ops.sqrt(p[0] - 0.5) * p[1], p[2]),
    "parameters alone, in a matrix product": lambda x, p: ops.sum(
        [chosen(x[0] - i, ops.dot([ops.sqrt(q - 0.5) for q in p[:3]], p[3 * i : 3 * i + 3]))
         for i in range(2)]
    ),
    "a branch used elsewhere too": lambda x, p: chosen(x[0], ops.sqrt(x[0])) + ops.exp(
        ops.sqrt(x[0]) * 0.0
    ),
    "logsumexp": lambda x, p: chosen(x[0], ops.logsumexp([ops.log(x[0]), ops.sqrt(x[0]), p[0]])),
    "pick": lambda x, p: ops.pick(ops.greater(x[0], 0.0), [p[0] * x[0], ops.sqrt(x[0]) * p[1]]),
    "several roots": lambda x, p: ops.sum([chosen(x[0] - k, ops.sqrt(x[0] - k)) for k in range(3)]),
    "a root in one branch for two": lambda x, p: chosen(x[0], ops.sqrt(x[0]), p[0])
    * chosen(x[0] - 1.0, ops.sqrt(x[0]), p[0]),
    "stop_gradient": lambda x, p: ops.stop_gradient(ops.sqrt(x[0])) * p[0] + x[0],
    "a comparison alone": lambda x, p: ops.less(ops.sqrt(x[0]), p[0]) * p[1],
}  # fmt: skip


@pytest.mark.parametrize("f", BRANCHES.values(), ids=BRANCHES)
def test_branches_not_taken(f):
    """At 0 the derivatives inside are infinite; rows of one batch take different branches."""
    parameters = [Value(x) for x in (0.5, 0.75, 1.5, 0.3, 0.8, 2.0)]

    def of(x):
        return f(x, parameters)

    hold(of, parameters, [POSITIVE])
    for row in POSITIVE:
        hold(of, parameters, [row[None]])


@pytest.mark.parametrize("rows", [1, 4])
def test_an_adjoint_that_is_none_meets_no_infinity_in_a_product(rows):
    """`masked_product` against its meaning, term by term."""
    generator = np.random.default_rng(5)
    d = generator.normal(size=(rows, 3))
    mask = generator.random((rows, 3)) < 0.5
    d = np.where(mask, d, 0.0)
    other = generator.normal(size=(3, 2))
    np.testing.assert_allclose(runtime.masked_product(d, mask, other), d @ other)
    other[1] = INF, NAN
    expected = np.array(
        [
            [sum(d[r, j] * other[j, k] for j in range(3) if mask[r, j]) for k in range(2)]
            for r in range(rows)
        ]
    )
    batched = np.stack([other] * rows)
    with np.errstate(invalid="ignore"):
        together = runtime.masked_product(d, mask, other)
        alone = runtime.masked_product(d[0], mask[0], other)
        stacked = runtime.masked_product(d[:, None, :], mask[:, None, :], batched)
    np.testing.assert_allclose(together, expected)
    np.testing.assert_allclose(alone, expected[0])
    np.testing.assert_allclose(stacked[:, 0], expected)


# --- random graphs -------------------------------------------------------------------------------

UNARY = (
    *(ops.tanh, ops.sin, ops.cos, ops.atan, ops.erf, ops.sigmoid, ops.log_sigmoid, ops.softplus),
    *(ops.relu, ops.abs, ops.elu, ops.leaky_relu, ops.silu, ops.gelu, ops.neg, ops.stop_gradient),
    lambda v: ops.exp(ops.tanh(v)),
    lambda v: ops.log(1.5 + ops.sin(v)),
    lambda v: ops.sqrt(1.0 + v * v),
    lambda v: ops.pow(v, 2.0),
    lambda v: ops.div(1.0, 1.0 + v * v),
    lambda v: (1.5 + ops.sin(v)) ** 0.7,
    lambda v: v * v,
    lambda v: v + v,
)
BINARY = (
    *(ops.add, ops.sub, ops.mul, ops.maximum, ops.minimum, ops.leaky_relu),
    lambda v, w: ops.div(v, 1.0 + w * w),
    lambda v, w: ops.pow(1.5 + ops.sin(v), ops.tanh(w)),
    lambda v, w: ops.elu(ops.tanh(v), w),
    lambda v, w: v * w + v,
    lambda v, w: v - v * w,
)
COMPARISONS = (
    *(ops.less, ops.less_equal, ops.greater, ops.greater_equal, ops.equal, ops.not_equal),
)
SINGULAR = (ops.sqrt, ops.log, lambda v: ops.div(1.0, v), ops.sin, lambda v: v * v)


class RandomGraph:
    """A function of two vectors, made step by step out of vectors made before.

    Comparisons look at leaves only: between computed numbers a difference of one ulp,
    which is allowed, could take the other branch.
    """

    def __init__(self, seed):
        self.seed = seed
        chance = random.Random(seed)
        widths = chance.choice([1, 2, 3, 6]), chance.choice([1, 2, 4])
        count = chance.choice([0, 1, 5, 12, 24])
        self.requested = chance.choice([0, count, count, count // 2])
        self.parameters = [Value(round(chance.uniform(-1.0, 1.0), 3)) for _ in range(count)]
        self.steps = chance.randint(1, 8)
        rows = (1, 2, 7, 64)[seed % 4]
        generator = np.random.default_rng(seed)
        x = generator.normal(size=(rows, widths[0]))
        if seed % 3 == 0:
            x = generator.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=x.shape)  # ties, and zeros
        index = generator.integers(0, 3, size=(rows, widths[1])).astype(float)
        self.batch = [x, index]

    def __call__(self, x, index):
        self.chance = random.Random(self.seed + 1_000_000)
        constants = [0.5, -0.25, 0.0, 1.0, 2.0]
        self.index = index
        self.leaves = [v for v in (x, index, self.parameters, constants) if v]
        self.pool = list(self.leaves)
        kinds = (
            *(self.elementwise, self.binary, self.layer, self.layer, self.matrices),
            *(self.matrices, self.branch, self.pick, self.logsumexp, self.products),
            *(self.gather, self.fold, self.stopped),
        )
        for _ in range(self.steps):
            new = self.chance.choice(kinds)()
            how = self.chance.random()
            op = ops.tanh if how < 0.4 else self.chance.choice(UNARY) if how < 0.6 else None
            if op is not None:
                new = [op(v) for v in new]
            self.pool.append(new)
        how = self.chance.randrange(6)
        if how == 0:
            return self.pool[-1][0]
        if how == 1:
            return ops.sum(self.pool[-1])
        return ops.sum([ops.sin(v) for vector in self.pool[-how:] for v in vector])

    def vector(self, n, of=None, one=0.3):
        """n numbers from one vector: one of them, in turn, or in any order."""
        source = self.chance.choice(of or self.pool)
        how = self.chance.random()
        if how < one:
            return [self.chance.choice(source)] * n
        if how < one + 0.3:
            return [source[i % len(source)] for i in range(n)]
        return [self.chance.choice(source) for _ in range(n)]

    def size(self):
        return self.chance.choice([1, 2, 3, 6])

    def elementwise(self):
        op = self.chance.choice(UNARY)
        return [op(v) for v in self.chance.choice(self.pool)]

    def binary(self):
        op, n = self.chance.choice(BINARY), self.size()
        return [op(v, w) for v, w in zip(self.vector(n), self.vector(n), strict=True)]

    def layer(self):
        """Neurons: rows of weights times one vector, with a bias or without."""
        x = self.chance.choice(self.pool)
        n, k = self.size(), len(x)
        flat = self.vector(n * k)
        across = self.chance.random() < 0.7
        rows = [[flat[i * k + j if across else j * n + i] for j in range(k)] for i in range(n)]
        bias = self.vector(n) if self.chance.random() < 0.5 else [0.0] * n
        if self.chance.random() < 0.5:
            return [
                sum([w * v for w, v in zip(row, x, strict=True)], start=b)
                for row, b in zip(rows, bias, strict=True)
            ]
        return [ops.dot(row, x) + b for row, b in zip(rows, bias, strict=True)]

    def matrices(self):
        """A matrix times a matrix, either of them perhaps transposed, in any order."""
        p, q, k = (self.chance.choice([1, 2, 2, 3]) for _ in range(3))
        a, b = self.vector(p * k, one=0.1), self.vector(k * q, one=0.1)
        turned = self.chance.random() < 0.5, self.chance.random() < 0.5
        places = [(i, j) for i in range(p) for j in range(q)]
        if self.chance.random() < 0.2:
            self.chance.shuffle(places)
        return [
            ops.sum(
                a[m * p + i if turned[0] else i * k + m] * b[j * k + m if turned[1] else m * q + j]
                for m in range(k)
            )
            for i, j in places
        ]

    def gather(self):
        return [self.chance.choice(self.chance.choice(self.pool)) for _ in range(self.size())]

    def branch(self):
        n = self.size()
        raw, other = self.vector(n, self.leaves), self.vector(n)
        how = self.chance.random()
        if how < 0.3:
            inside = [self.chance.choice(SINGULAR)(v) for v in raw]
            return [chosen(v, y, w) for v, y, w in zip(raw, inside, other, strict=True)]
        if how < 0.6:
            g, h = self.chance.choice(SINGULAR), self.chance.choice(SINGULAR)
            return [
                chosen(v, g(v) * w + h(v) * 0.5, w * w) for v, w in zip(raw, other, strict=True)
            ]
        compare, more = self.chance.choice(COMPARISONS), self.vector(n, self.leaves)
        third = self.vector(n)
        return [
            ops.where(compare(v, m), w, t)
            for v, m, w, t in zip(raw, more, other, third, strict=True)
        ]

    def pick(self):
        return [
            ops.pick(
                self.chance.choice([*self.index, 2.0]),
                [*self.vector(2), self.chance.choice(self.chance.choice(self.pool))],
            )
            for _ in range(self.chance.choice([1, 2, 3]))
        ]

    def logsumexp(self):
        if self.chance.random() < 0.3:
            return ops.softmax(self.chance.choice(self.pool))
        n, k = self.chance.choice([1, 2, 3]), self.chance.choice([1, 2])
        m = self.size()
        return [ops.logsumexp(self.vector(m) + self.vector(k)) for _ in range(n)]

    def products(self):
        """Sums of products and single terms, drawn from anywhere."""
        n = self.chance.choice([1, 2, 3])
        pairs = [(self.vector(n), self.vector(n)) for _ in range(self.chance.choice([1, 2, 4]))]
        singles = [self.vector(n) for _ in range(self.chance.choice([0, 1, 3]))]
        return [
            ops.sum([v[i] * w[i] for v, w in pairs] + [v[i] for v in singles]) for i in range(n)
        ]

    def fold(self):
        first, *others = self.chance.choice(self.pool)
        for v in others:
            first = self.chance.choice([ops.maximum, ops.minimum])(first, v)
        return [first]

    def stopped(self):
        return [ops.stop_gradient(v) * v for v in self.chance.choice(self.pool)]


@pytest.mark.parametrize("part", range(10))
def test_random_graphs(part):
    for seed in range(part, 500, 10):
        graph = RandomGraph(seed)
        hold(graph, graph.parameters[: graph.requested], graph.batch)


def test_random_graphs_have_everything_in_them():
    """The generator must not quietly become tame."""
    seen, forms, batches, sizes = set(), set(), set(), []
    for seed in range(500):
        graph = RandomGraph(seed)
        program, _ = compiled(graph, [], graph.batch, 0)
        sizes.append(program.scalar_nodes)
        for statement in program.statements:
            seen.add(getattr(statement, "op", ops.sum).name)
            for block in getattr(statement, "blocks", ()):
                if block.right is not None:
                    many = block.p > 1 and block.q > 1
                    batched = block.left.group.batched, block.right.group.batched
                    forms.add((block.form, many, batched))
        batches.add(len(graph.batch[0]))
    smooth = {"asin", "acos", "expm1", "log1p", "tan", "sinh", "cosh"}
    assert seen >= {op.name for op in ROWS.values()} - smooth
    assert batches == {1, 2, 7, 64}
    assert max(sizes) > 150
    for batched in itertools.product([True, False], repeat=2):
        assert ("matrix", True, batched) in forms
        assert ("rows", False, batched) in forms


# --- shapes of their own -------------------------------------------------------------------------

P = [Value(x) for x in (0.4, -0.2, 0.9, 1.3, -0.6, 0.7)]
EDGE_CASES = {
    "an input as it is": lambda x, p: x[1],
    "a parameter as it is": lambda x, p: p[2],
    "a constant": lambda x, p: 3.0,
    "a constant of several": lambda x, p: ops.sum([1.0, 2.0]) * 2.0,
    "parameters only": lambda x, p: ops.tanh(p[0] * p[1]) + p[2],
    "an input used many times": lambda x, p: x[0] * x[0] + x[0] + x[0],
    "a square, differentiated": lambda x, p: ops.sum([v * v for v in x]),
    "twice the same": lambda x, p: ops.sum([v + v for v in p]),
    "x - x": lambda x, p: x[0] - x[0],
    "products in both orders": lambda x, p: (
        ops.sin(x[0] * p[0] + p[1]) + ops.cos(p[1] + x[0] * p[0])
    ),
    "a value made inside": lambda x, p: sum(x, start=Value(0.0)) * Value(2.0) + ops.exp(Value(1.0)),
    "several values made inside": lambda x, p: ops.sum(
        [ops.sin(Value(0.5)) * v + ops.sin(Value(0.5)) for v in x]
    ),
    "a value computed before": lambda x, p: BEFORE * x[0],
    "views at the end of the parameters": lambda x, p: ops.sum(
        [ops.sin(ops.dot(p[i::3], x[:2])) for i in range(3)]
    ),
    "every second parameter": lambda x, p: ops.sum([ops.sin(p[2 * i] * x[i]) for i in range(3)]),
    "a matrix with gaps": lambda x, p: ops.sum(
        [ops.sin(ops.dot(p[3 * i + 1 : 3 * i + 3], x[:2])) for i in range(2)]
    ),
    "one column": lambda x, p: ops.sum([ops.sin(p[i] * x[0]) for i in range(6)]),
    "parameters times a matrix of inputs": lambda x, p: ops.sum(
        [ops.sin(ops.dot(p[2 * i : 2 * i + 2], x[j : j + 2])) for i in range(3) for j in range(2)]
    ),
    "a matrix of inputs times parameters": lambda x, p: ops.sum(
        [ops.sin(ops.dot(p[2 * i : 2 * i + 2], x[j : j + 2])) for j in range(2) for i in range(3)]
    ),
    "an outer product": lambda x, p: ops.sum([ops.sin(a * b) for a in x for b in p]),
    "an outer product of parameters": lambda x, p: ops.sum(
        [ops.sin(a * b) for a in p[:2] for b in p[2:]]
    ),
    "a repeated index in a matrix": lambda x, p: ops.sum(
        [ops.sin(ops.dot([p[i], p[i], p[0]], x)) for i in range(3)]
    ),
    "a power that varies": lambda x, p: ops.sum([(1.5 + ops.sin(v)) ** w for v in x for w in p]),
    "powers of one number": lambda x, p: ops.sum([x[0] ** k for k in range(5)]),
    "one times": lambda x, p: 1.0 * x[0] * 1.0 + p[0] ** 1,
    "zero times infinity": lambda x, p: 0.0 * ops.exp(1000.0 * x[0]),
    "a condition that is known": lambda x, p: (
        ops.where(1.0, x[0], p[0]) + ops.where(0.0, x[0], p[1])
    ),
    "an index that is known": lambda x, p: ops.pick(1, [x[0], p[0] * x[1], 2.0]),
    "an unused result": lambda x, p: (ops.exp(x[0] * p[5]), ops.sin(x[1]))[1],
    "terms that cross": lambda x, p: ops.sum(
        [x[i] * x[2 - i] + p[i] * p[2 - i] + x[i] * p[i] for i in range(3)]
    ),
    "sums of different lengths": lambda x, p: ops.sum(
        [ops.tanh(ops.exp(ops.sin(ops.dot(p[: i + 1], (x + x)[: i + 1])))) ** 2 for i in range(6)]
    ),
    "sums of different lengths, of parameters": lambda x, p: ops.sum(
        [ops.tanh(ops.exp(ops.sin(ops.dot(p[: i + 1], p[: i + 1])))) ** 2 for i in range(6)]
    ),
    "sums of different lengths in a branch": lambda x, p: ops.sum(
        [
            chosen(x[i % 3], ops.sqrt(x[i % 3] * ops.exp(ops.dot(p[: i + 1], (x + x)[: i + 1]))))
            for i in range(6)
        ]
    ),
    "attention": lambda x, p: ops.sum(
        [
            weight * value
            for i in range(3)
            for weight, value in zip(
                ops.softmax([x[i] * p[0] * x[j] * p[1] for j in range(3)]),
                [ops.tanh(x[j] * p[2]) for j in range(3)],
                strict=True,
            )
        ]
    ),
}
BEFORE = ops.tanh(P[0] * 2.0) * P[1]


@pytest.mark.parametrize("f", EDGE_CASES.values(), ids=EDGE_CASES)
@pytest.mark.parametrize("requested", [6, 2, 0])
@pytest.mark.parametrize("rows", [1, 5])
def test_edge_cases(f, requested, rows):
    batch = np.random.default_rng(7).normal(size=(rows, 3))
    hold(lambda x: f(x, P), P[:requested], [batch])


def test_single_precision():
    """Computed in it throughout, and right to it."""
    for seed in range(0, 500, 10):
        graph = RandomGraph(seed)
        asked = graph.parameters[: graph.requested]
        values, gradients = eager(graph, asked, graph.batch, None)
        if not (np.isfinite(values).all() and np.isfinite(gradients).all()):
            continue
        program, theta = compiled(graph, asked, graph.batch, None)
        run = ENGINES["numpy"](program, emit(program, None), None, np.float32)
        batch = [x.astype(np.float32) for x in graph.batch]
        rows = len(values)
        seed = np.ones((rows, 1), np.float32)
        outputs, found = run(theta.astype(np.float32), batch, rows, seed)
        assert found.dtype == np.float32
        in_norm(outputs.astype(float), values, "value", tolerance=1e-4)
        in_norm(found.astype(float), gradients, "gradient", tolerance=1e-4)
