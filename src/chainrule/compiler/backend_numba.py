"""The Numba back end: a program as plain loops, one example after the other.

Simple loops per statement are what LLVM optimises best; for small networks nothing
else comes near them.  A training run, updates included, is one native call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from chainrule.compiler.program import (
    Block,
    Contract,
    Elementwise,
    Group,
    Index,
    Join,
    Program,
    Reduce,
    Statement,
    Take,
    takes_of,
)
from chainrule.compiler.rules import RESULT, Speller, elementwise_partials, literal
from chainrule.compiler.trace import Leaf
from chainrule.compiler.update import Update
from chainrule.operation import CALL

__all__ = ["emit_evaluation", "emit_training"]

SPELLINGS: Final = {
    **{name: f"math.{name}({{0}})" for name in ("exp", "expm1", "log", "log1p", "sqrt")},
    **{name: f"math.{name}({{0}})" for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: f"math.{name}({{0}})" for name in ("sinh", "cosh", "tanh", "erf")},
    **{
        name: f"(1.0 if {{0}} {symbol} {{1}} else 0.0)"
        for name, symbol in {
            "less": "<",
            "less_equal": "<=",
            "greater": ">",
            "greater_equal": ">=",
            "equal": "==",
            "not_equal": "!=",
        }.items()
    },
    "abs": "math.fabs({0})",
    "where": "({1} if {0} != 0.0 else {2})",
    "stop_gradient": "{0}",
    "maximum": "maximum({0}, {1})",
    "minimum": "minimum({0}, {1})",
    "sigmoid": "sigmoid({0})",
    "log_sigmoid": "log_sigmoid({0})",
    "softplus": "softplus({0})",
    "relu": "relu({0})",
    "leaky_relu": "leaky_relu({0}, {1})",
    "elu": "elu({0}, {1})",
    "silu": "silu({0})",
    "gelu": "gelu({0})",
}

PRELUDE: Final = '''\
"""Written by the compiler of chainrule; safe to delete."""

import math

import numpy as np
from numba import njit

nan = math.nan
inf = math.inf
freedom = {"contract", "reassoc"}  # the order of sums; infinities and nan stay what they are
native = njit(error_model="numpy", cache=True, nogil=True, fastmath=freedom)
inlined = njit(error_model="numpy", inline="always")


@inlined
def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


@inlined
def log_sigmoid(x):
    return min(x, 0.0) - math.log1p(math.exp(-math.fabs(x)))


@inlined
def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-math.fabs(x)))


@inlined
def relu(x):
    return 0.0 if x <= 0.0 else x


@inlined
def leaky_relu(x, slope):
    return x if x > 0.0 else slope * x


@inlined
def elu(x, alpha):
    return x if x > 0.0 else alpha * math.expm1(x)


@inlined
def silu(x):
    return -0.0 if x == -inf else x * sigmoid(x)


@inlined
def gelu(x):
    return -0.0 if x == -inf else x * (0.5 * math.erfc(-x * math.sqrt(0.5)))


@inlined
def maximum(x, y):
    return nan if x != x or y != y else (x if x >= y else y)


@inlined
def minimum(x, y):
    return nan if x != x or y != y else (x if x <= y else y)
'''


def emit_evaluation(program: Program, wanted: int | None) -> str:
    """Source of ``evaluate``: outputs and, if asked for, gradients of a batch.

    ``evaluate(theta, inputs, seeds, outputs, gradient, backward)`` fills ``outputs``
    (rows, outputs) and adds to ``gradient``: of shape (parameters,), or (rows, size) of
    the wanted argument.  It returns 0, or 1 + the row at which an index was out of range.
    """
    writer = _Writer(program, wanted)
    inputs = "".join([f"all_{g.name}, " for g in program.inputs])
    body = writer.block
    body.add(f"def evaluate(theta, {inputs}seeds, outputs, gradient, backward):")
    with body.inside():
        writer.allocate()
        if wanted is None:
            body.add("dtheta = gradient")
        body.add("for row in range(outputs.shape[0]):")
        with body.inside():
            for group in program.inputs:
                body.add(f"{group.name} = all_{group.name}[row]")
            writer.forward()
            for i, take in enumerate(program.outputs):
                body.add(f"outputs[row, {i}] = {writer.element(take, '0')[0]}")
            body.add("if backward:")
            with body.inside():
                if wanted is not None:
                    body.add(f"d{program.inputs[wanted].name} = gradient[row]")
                body.add("seed = seeds[row]")
                writer.backward()
        body.add("return 0")
    return writer.source()


def emit_training(program: Program, update: Update, reduction: str) -> str:
    """Source of ``train``: whole epochs, updates included, in one native call.

    The program's outputs are the loss and then the network's outputs.  ``order`` has a
    line of row numbers for each epoch, or one line for all.  It stops before it would go
    past ``limit`` updates, and returns how far it came: the epoch, the batch, 1 if the
    loss is not finite or 2 if a parameter is not, the number of updates, and the loss.
    """
    writer = _Writer(program, None)
    count = program.requested
    states = update.states
    inputs = "".join([f"all_{g.name}, " for g in program.inputs])
    names = [f"s{i}" for i in range(states)]
    body = writer.block
    body.add(
        f"def train(theta, {inputs}order, size, rates, memory, step, limit, "
        "expected, threshold, losses, rights):"
    )
    with body.inside():
        writer.allocate()
        body.add(f"dtheta = np.zeros({program.parameters.size})")
        body.add("rows = order.shape[1]")
        body.add("for epoch in range(len(rates)):")
        with body.inside():
            body.add("lr = rates[epoch]")
            body.add("line = order[epoch % len(order)]")
            body.add("total = 0.0")
            body.add("right = 0")
            body.add("start = 0")
            body.add("batch = 0")
            body.add("while start < rows:")
            with body.inside():
                body.add("end = min(start + size, rows)")
                seed = "1.0 / (end - start)" if reduction == "mean" else "1.0"
                body.add(f"seed = {seed}")
                body.add("for place in range(start, end):")
                with body.inside():
                    body.add("row = line[place]")
                    for group in program.inputs:
                        body.add(f"{group.name} = all_{group.name}[row]")
                    writer.forward()
                    body.add(f"total += {writer.element(program.outputs[0], '0')[0]}")
                    _decide(writer, program.outputs[1:])
                    writer.backward()
                body.add("if not math.isfinite(total):")
                body.add("    return epoch, batch, 1, step, total")
                body.add("if step == limit:")
                body.add("    return epoch, batch, 0, step, total")
                body.add("step += 1")
                body.add("t = float(step)")
                _emit_update(writer, update, names, count)
                body.add("start = end")
                body.add("batch += 1")
            body.add("losses[epoch] = total")
            body.add("rights[epoch] = right")
        body.add("return len(rates), 0, 0, step, 0.0")
    return writer.source()


def _decide(writer: _Writer, outputs: Sequence[Take]) -> None:
    """Count a right answer: above the threshold, or the first of the largest."""
    body = writer.block
    if len(outputs) == 1:
        body.add(f"decided = 1 if {writer.element(outputs[0], '0')[0]} > threshold else 0")
    else:
        body.add("decided = 0")
        body.add(f"largest = {writer.element(outputs[0], '0')[0]}")
        for i, take in enumerate(outputs[1:], start=1):
            body.add(f"if {writer.element(take, '0')[0]} > largest:")
            body.add(f"    largest = {writer.element(take, '0')[0]}")
            body.add(f"    decided = {i}")
    body.add("right += decided == expected[row]")


def _emit_update(writer: _Writer, update: Update, names: list[str], count: int) -> None:
    body = writer.block
    spell = writer.speller
    if update.clip_value is not None:
        body.add(f"for i in range({count}):")
        with body.inside():
            lines, clipped = update.clip_value.spell(spell, {"g": "dtheta[i]"}, writer.fresh)
            for line in lines:
                body.add(line)
            body.add(f"dtheta[i] = {clipped[0]}")
    if update.clip_norm is not None:
        body.add("square = 0.0")
        body.add(f"for i in range({count}):")
        body.add("    square += dtheta[i] * dtheta[i]")
        lines, factor = update.clip_norm.spell(spell, {"square": "square"}, writer.fresh)
        for line in lines:
            body.add(line)
        body.add(f"scale = {factor[0]}")
    body.add("check = 0.0")
    body.add(f"for i in range({count}):")
    with body.inside():
        body.add("p = theta[i]")
        body.add("g = dtheta[i]" + (" * scale" if update.clip_norm is not None else ""))
        body.add("dtheta[i] = 0.0")
        known = {"p": "p", "g": "g", "t": "t", "lr": "lr"}
        for k, name in enumerate(names):
            body.add(f"{name} = memory[{k}, i]")
            known[name] = name
        lines, texts = update.rule.spell(spell, known, writer.fresh)
        for line in lines:
            body.add(line)
        body.add(f"new = {texts[0]}")
        body.add("theta[i] = new")
        body.add("check += new * 0.0")
        for k, text in enumerate(texts[1:]):
            body.add(f"memory[{k}, i] = {text}")
    body.add("if check != 0.0:")
    body.add("    return epoch, batch, 2, step, total")


# --- writing -------------------------------------------------------------------------------


class _Lines:
    """Lines of source, indented."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self._opened: list[int] = []

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def inside(self) -> _Lines:
        """The body of a loop or condition; one without lines gets a ``pass``."""
        return self

    def __enter__(self) -> None:
        self.depth += 1
        self._opened.append(len(self.lines))

    def __exit__(self, *_: object) -> None:
        if len(self.lines) == self._opened.pop():
            self.add("pass")
        self.depth -= 1


Spelled = tuple[str, int]

_SHORT: Final = 30  # statements that one function still holds without compiling too slowly
_PART: Final = 10  # statements per function where they are more

_PASSED: Final = re.compile(r"\b(?:d?theta|seed|d?x\d+|values|adjoints|reached)\b")

_COMPARED: Final = re.compile(r"if \(1\.0 if ([^()]*) else 0\.0\) != 0\.0 else")
_TRUTH: Final = re.compile(r"\(1\.0 if ([^()]*) else 0\.0\)")


class _Writer:
    """Writes the loops of one example, forward and backward."""

    def __init__(self, program: Program, wanted: int | None) -> None:
        self.program = program
        self.wanted = program.parameters if wanted is None else program.inputs[wanted]
        self.block = _Lines()
        self.speller = Speller(SPELLINGS, "inf", "nan")
        self.tables: dict[Any, str] = {}
        self.table_lines: list[str] = []
        self.counts: dict[str, int] = {}
        for i, group in enumerate(program.inputs):
            group.name = f"x{i}"
        for i, statement in enumerate(program.statements):
            statement.target.name = f"v{i}"
        self.functions: list[str] = []
        self.offsets = _packed(program.statements)
        self.expressions = {
            id(s): elementwise_partials(s)
            for s in program.statements
            if isinstance(s, Elementwise) and s.target.differentiable
        }
        self.reached, self.whole = self._reach()
        self.merged = self._merge()

    def fresh(self, stem: str) -> str:
        self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}{self.counts[stem]}"

    def source(self) -> str:
        tables = "\n".join(self.table_lines)
        functions = [*self.functions, "\n".join(self.block.lines)]
        return f"{PRELUDE}\n\n{tables}\n" + "".join([f"\n\n@native\n{f}\n" for f in functions])

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What is written inside becomes a function of its own, if the program is long.

        The time that Numba takes grows faster than the length of a function.
        """
        if not self.offsets:
            yield
            return
        outer, self.block = self.block, _Lines()
        try:
            with self.block.inside():
                yield
        finally:
            lines, self.block = self.block.lines, outer
        passed = sorted(set(_PASSED.findall("\n".join(lines))))
        call = f"{self.fresh(name)}({', '.join(passed)})"
        self.functions.append("\n".join([f"def {call}:", *(lines or ["    pass"])]))
        self.block.add(call)

    def table(self, stem: str, array: Any) -> str:
        key = (stem, array.shape, array.tobytes())
        if key not in self.tables:
            name = self.fresh(stem)
            self.tables[key] = name
            spelled = [self.speller.number(float(x))[0] for x in array.ravel()]
            numbers = ", ".join(spelled if stem == "C" else [str(int(x)) for x in array.ravel()])
            self.table_lines.append(f"{name} = np.array([{numbers}]).reshape({array.shape})")
        return self.tables[key]

    # --- what reaches what -----------------------------------------------------------------

    def _reach(self) -> tuple[set[Group], set[Group]]:
        """Groups a gradient may miss in part, and groups whose adjoint is set by one loop."""
        always: dict[Group, Any] = {}
        given: dict[Group, int] = {}
        whole: set[Group] = set()

        def reach(take: Take, index: Index, by: Any) -> None:
            group = take.group
            if not group.differentiable:
                return
            known = always.setdefault(group, np.zeros(group.size, dtype=bool))
            np.logical_or.at(known, index, by)
            given[group] = given.get(group, 0) + 1
            flat = np.sort(index.ravel())
            if len(flat) == group.size and (flat == np.arange(group.size)).all():
                whole.add(group)

        first = self.program.outputs[0]
        reach(first, first.index, True)
        for statement in reversed(self.program.statements):
            target = statement.target
            if not target.differentiable or target not in always:
                continue
            by = always[target]
            if isinstance(statement, Elementwise):
                partials = self.expressions[id(statement)].partials
                for take, partial in zip(statement.operands, partials, strict=True):
                    if partial is not None:
                        reach(take, take.index, by & (not partial.gate))
            elif isinstance(statement, Reduce):
                for take in statement.rows:
                    reach(take, take.index, by[:, None] & (statement.op.name != "pick"))
            elif isinstance(statement, Join):
                for piece, start, end in statement.spans():
                    reach(piece, piece.index, by[start:end])
            else:
                for block in statement.blocks:
                    left, right = block.flat()
                    reach(block.left, left, by[:, None])
                    if block.right is not None and right is not None:
                        reach(block.right, right, by[:, None])
        always.pop(self.program.parameters, None)
        masked = {group for group, known in always.items() if not known.all()}
        alone = {g for g in whole if given[g] == 1 and g not in masked and g is not self.wanted}
        self.live = set(always)
        return masked, alone

    def _merge(self) -> dict[Group, Contract]:
        """Sums that only an activation reads: both are computed in one loop."""
        uses: dict[Group, list[tuple[Statement | None, Take]]] = {}
        for take in self.program.outputs:
            uses.setdefault(take.group, []).append((None, take))
        for statement in self.program.statements:
            for take in takes_of(statement):
                uses.setdefault(take.group, []).append((statement, take))
        merged: dict[Group, Contract] = {}
        for statement in self.program.statements:
            target = statement.target
            if not isinstance(statement, Contract) or len(uses.get(target, ())) != 1:
                continue
            user, take = uses[target][0]
            if (
                isinstance(user, Elementwise)
                and user.op.arity == 1
                and (take.index == np.arange(target.size)).all()
                and target not in self.reached
                and user.target not in self.reached
                and not any(block.form == "matrix" and block.p > 1 for block in statement.blocks)
                and not self._reads_operand(user)
            ):
                merged[target] = statement
        return merged

    def _reads_operand(self, statement: Elementwise) -> bool:
        """Whether the derivative needs the operand itself, not only the result."""
        expression = self.expressions.get(id(statement))
        if expression is None:
            return False
        trace = expression.trace
        operand = trace.leaf(Leaf("input", place=0))
        roots = [p.node for p in expression.partials if p is not None and p.number is None]
        return operand in roots or any(operand in operands for operands in trace.operands)

    def allocate(self) -> None:
        """Scratch space for one example."""
        if self.offsets:
            size = max([place + group.size for group, place in self.offsets.items()])
            self.block.add(f"values = np.empty({size})")
            self.block.add(f"adjoints = np.empty({size})")
            self.block.add(f"reached = np.empty({size}, np.bool_)")
            return
        for statement in self.program.statements:
            group = statement.target
            if group.size == 1 or group in self.merged:
                continue
            self.block.add(f"{group.name} = np.empty({group.size})")
            if group in self.live:
                self.block.add(f"d{group.name} = np.empty({group.size})")
            if group in self.reached:
                self.block.add(f"m{group.name} = np.empty({group.size}, np.bool_)")

    # --- reading ---------------------------------------------------------------------------

    def slot(self, prefix: str, group: Group, place: str) -> str:
        """A member of a vector; the only member of one is a variable, kept in a register."""
        if group in self.offsets:
            array = {"": "values", "d": "adjoints", "m": "reached"}[prefix]
            return f"{array}[{self.offsets[group]} + {place}]"
        if group.kind == "computed" and group.size == 1:
            return f"{prefix}{group.name}"
        return f"{prefix}{group.name}[{place}]"

    def place(self, index: Index, i: str, k: str = "0") -> str:
        """The place of a member as an expression of the loop variables."""
        first = index.flat[0]
        if index.ndim == 1:
            index = index[:, None]
        n, width = index.shape
        down = int(index[1, 0] - index[0, 0]) if n > 1 else 0
        across = int(index[0, 1] - index[0, 0]) if width > 1 else 0
        expected = first + down * np.arange(n)[:, None] + across * np.arange(width)
        if not (index == expected).all():
            name = self.table("I", index)
            return f"{name}[{i}, {k}]"
        terms = []
        for step, variable in ((down, i), (across, k)):
            if step and variable != "0":
                terms.append(variable if step == 1 else f"{step} * {variable}")
        if first or not terms:
            terms.insert(0, str(int(first)))
        return " + ".join(terms)

    def element(self, take: Take, i: str, k: str = "0") -> Spelled:
        group = take.group
        if group.kind == "constant":
            number = literal(take)
            if number is not None:
                return self.speller.number(number)
            assert group.values is not None
            values = group.values[take.index]
            name = self.table("C", values if values.ndim == 2 else values[:, None])
            return f"{name}[{i}, {k}]", CALL
        return self.slot("", group, self.place(take.index, i, k)), CALL

    def loop(self, variable: str, count: int) -> tuple[str, Any]:
        """Open a loop, or none for a single turn; the variable's text and what closes it."""
        if count == 1:
            return "0", _Nothing()
        self.block.add(f"for {variable} in range({count}):")
        return variable, self.block.inside()

    # --- forward ---------------------------------------------------------------------------

    def forward(self) -> None:
        for part in _parts(self.program.statements):
            with self.part("forward"):
                self._forward_part(part)

    def _forward_part(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            if isinstance(statement, Elementwise):
                i, inside = self.loop("i", statement.target.size)
                with inside:
                    contract = self.merged.get(statement.operands[0].group)
                    if contract is not None:
                        self._sum(contract, i)
                        text, _ = self.speller.apply(statement.op, [("acc", CALL)])
                        self.block.add(f"{self.slot('', statement.target, i)} = {_tidy(text)}")
                        continue
                    operands = [self.element(take, i) for take in statement.operands]
                    text, _ = self.speller.apply(statement.op, operands)
                    self.block.add(f"{self.slot('', statement.target, i)} = {_tidy(text)}")
            elif isinstance(statement, Reduce):
                self._forward_reduce(statement)
            elif isinstance(statement, Contract) and statement.target not in self.merged:
                self._forward_contract(statement)

    def _sum(self, statement: Contract, i: str) -> None:
        """Add up the terms of one member in ``acc``."""
        body = self.block
        body.add("acc = 0.0")
        for block in sorted(statement.blocks, key=lambda block: block.right is not None):
            k, inner = self.loop("k", block.left.index.shape[1])
            with inner:
                body.add(f"acc += {self._term(block, i, k)}")

    def _forward_contract(self, statement: Contract) -> None:
        body, target = self.block, statement.target
        if any(b.form == "matrix" and b.p > 1 for b in statement.blocks):
            i, inside = self.loop("i", target.size)
            with inside:
                body.add(f"{self.slot('', target, i)} = 0.0")
            for block in sorted(statement.blocks, key=lambda block: block.right is not None):
                self._terms(block, f"{self.slot('', target, '{0}')} += {{1}}")
            return
        i, inside = self.loop("i", target.size)
        with inside:
            self._sum(statement, i)
            body.add(f"{self.slot('', target, i)} = acc")

    def _term(self, block: Block, i: str, k: str) -> str:
        """One term, for forms with one loop over the members (p = 1)."""
        if block.right is None:
            return self.element(block.left, i, k)[0]
        row = "0" if block.form == "matrix" else i
        return f"{self.element(block.left, row, k)[0]} * {self.element(block.right, i, k)[0]}"

    def _terms(self, block: Block, line: str) -> None:
        """A line for every term of a block; ``{0}`` is the member and ``{1}`` the term."""
        body = self.block
        if block.form == "matrix" and block.right is not None:
            a, outer = self.loop("a", block.p)
            with outer:
                c, middle = self.loop("c", block.q)
                with middle:
                    k, inner = self.loop("k", block.left.index.shape[1])
                    with inner:
                        left = self.element(block.left, a, k)[0]
                        right = self.element(block.right, c, k)[0]
                        member = f"{block.q} * {a} + {c}" if block.p > 1 else c
                        body.add(line.format(member, f"{left} * {right}"))
            return
        i, outer = self.loop("i", len(block.left.index))
        with outer:
            k, inner = self.loop("k", block.left.index.shape[1])
            with inner:
                body.add(line.format(i, self._term(block, i, k)))

    def _forward_reduce(self, statement: Reduce) -> None:
        body = self.block
        i, inside = self.loop("i", statement.target.size)
        with inside:
            result = self.slot("", statement.target, i)
            if statement.op.name == "pick":
                count = sum([take.index.shape[1] for take in statement.rows])
                body.add(f"chosen = {self.element(statement.leading[0], i)[0]}")
                body.add(f"if not (0.0 <= chosen < {count} and chosen == math.floor(chosen)):")
                body.add('    raise IndexError("pick")')
                body.add("at = int(chosen)")
                start = 0
                for take in statement.rows:
                    end = start + take.index.shape[1]
                    at = f"at - {start}" if start else "at"
                    body.add(f"if {start} <= at < {end}:")
                    body.add(f"    {result} = {self.element(take, i, f'({at})')[0]}")
                    start = end
                return
            body.add("top = -inf")
            for take in statement.rows:
                k, inner = self.loop("k", take.index.shape[1])
                with inner:
                    body.add(f"x = {self.element(take, i, k)[0]}")
                    body.add("if x > top or x != x:")
                    body.add("    top = x")
            body.add("if math.isfinite(top):")
            with body.inside():
                body.add("rest = 0.0")
                body.add("found = False")
                for take in statement.rows:
                    k, inner = self.loop("k", take.index.shape[1])
                    with inner:
                        body.add(f"x = {self.element(take, i, k)[0]}")
                        body.add("if x == top and not found:")
                        body.add("    found = True")
                        body.add("else:")
                        body.add("    rest += math.exp(x - top)")
                body.add(f"{result} = top + math.log1p(rest)")
            body.add("else:")
            body.add(f"    {result} = top")

    # --- backward --------------------------------------------------------------------------

    def backward(self) -> None:
        body = self.block
        cleared: list[Group] = [s.target for s in self.program.statements]
        if self.wanted.kind == "input":
            cleared.append(self.wanted)
        if self.offsets:
            body.add("adjoints[:] = 0.0")
            body.add("reached[:] = False")
        for group in cleared:
            if group not in self.live or group in self.merged or group in self.offsets:
                continue
            if group not in self.whole:
                i, inside = self.loop("i", group.size)
                with inside:
                    body.add(f"{self.slot('d', group, i)} = 0.0")
            if group in self.reached and group.kind == "computed":
                i, inside = self.loop("i", group.size)
                with inside:
                    body.add(f"{self.slot('m', group, i)} = False")
        first = self.program.outputs[0]
        self._give(first, "0", "0", "seed")
        for part in _parts(self.program.statements[::-1]):
            with self.part("backward"):
                self._backward_part(part)

    def _backward_part(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            target = statement.target
            if not target.differentiable or target not in self.live or target in self.merged:
                continue
            if isinstance(statement, Elementwise):
                i, inside = self.loop("i", target.size)
                with inside, self.mask(target, i):
                    self._back_elementwise(statement, i)
            elif isinstance(statement, Reduce):
                i, inside = self.loop("i", target.size)
                with inside, self.mask(target, i):
                    self._back_reduce(statement, i)
            elif isinstance(statement, Contract):
                for block in statement.blocks:
                    self._back_block(block, target)

    def mask(self, target: Group, i: str) -> Any:
        """Open a condition for a member that a gradient may not have reached."""
        if target not in self.reached:
            return _Nothing()
        self.block.add(f"if {self.slot('m', target, i)}:")
        return self.block.inside()

    def _give(self, take: Take, i: str, k: str, amount: str) -> None:
        """Add to the adjoint of a member."""
        group = take.group
        if not group.differentiable:
            return
        place = self.place(take.index, i, k)
        sign = "=" if group in self.whole else "+="
        self.block.add(f"{self.slot('d', group, place)} {sign} {amount}")
        if group in self.reached and group.kind == "computed":
            self.block.add(f"{self.slot('m', group, place)} = True")

    def _back_elementwise(self, statement: Elementwise, i: str) -> None:
        body, target = self.block, statement.target
        expression = self.expressions[id(statement)]
        wanted = [
            (take, partial)
            for take, partial in zip(statement.operands, expression.partials, strict=True)
            if partial is not None and take.group.differentiable
        ]

        def leaf(place: int) -> Spelled:
            if place == RESULT:
                return self.slot("", target, i), CALL
            return self.element(statement.operands[place], i)

        roots = [partial.node for _, partial in wanted if partial.number is None]
        lines, texts = self.speller.expression(expression.trace, roots, leaf, self.fresh)
        for line in lines:
            body.add(_tidy(line))
        adjoint = self.slot("d", target, i)
        for take, partial in wanted:
            contract = self.merged.get(take.group)
            if contract is not None:
                slope = texts[partial.node][0] if partial.number is None else repr(partial.number)
                body.add(f"d = {adjoint} * ({_tidy(slope)})")
                for block in contract.blocks:
                    self._back_terms(block, i, "0" if block.form == "matrix" else i)
            elif partial.gate:
                body.add(f"if {_condition(texts[partial.node][0])}:")
                with body.inside():
                    self._give(take, i, "0", adjoint)
            elif partial.number is not None:
                number = self.speller.number(partial.number)[0]
                special = {"1.0": adjoint, "-1.0": f"-{adjoint}"}
                self._give(take, i, "0", special.get(number, f"{adjoint} * {number}"))
            else:
                text, precedence = texts[partial.node]
                text = _tidy(text if precedence >= 2 else f"({text})")
                self._give(take, i, "0", f"{adjoint} * {text}")

    def _back_reduce(self, statement: Reduce, i: str) -> None:
        body, target = self.block, statement.target
        adjoint = self.slot("d", target, i)
        result = self.slot("", target, i)
        if statement.op.name == "pick":
            body.add(f"at = int({self.element(statement.leading[0], i)[0]})")
            start = 0
            for take in statement.rows:
                end = start + take.index.shape[1]
                body.add(f"if {start} <= at < {end}:")
                with body.inside():
                    self._give(take, i, f"(at - {start})" if start else "at", adjoint)
                start = end
            return
        body.add("share = 0.0")
        for take in statement.rows:
            k, inner = self.loop("k", take.index.shape[1])
            with inner:
                body.add(f"share += math.exp({self.element(take, i, k)[0]} - {result})")
        for take in statement.rows:
            k, inner = self.loop("k", take.index.shape[1])
            with inner:
                weight = f"math.exp({self.element(take, i, k)[0]} - {result}) / share"
                self._give(take, i, k, f"{adjoint} * ({weight})")

    def _back_block(self, block: Block, target: Group) -> None:
        matrix = block.form == "matrix" and block.p > 1
        a, outer = self.loop("a", block.p) if matrix else ("0", _Nothing())
        with outer:
            i, middle = self.loop("i", block.q if matrix else target.size)
            with middle:
                member = f"{block.q} * {a} + {i}" if matrix else i
                with self.mask(target, member):
                    self.block.add(f"d = {self.slot('d', target, member)}")
                    self._back_terms(block, i, a if block.form == "matrix" else i)

    def _back_terms(self, block: Block, i: str, row: str) -> None:
        """Hand ``d``, the adjoint of one member, on to the terms of its sum."""
        k, inner = self.loop("k", block.left.index.shape[1])
        with inner:
            if block.right is None:
                self._give(block.left, i, k, "d")
            else:
                x = self.element(block.left, row, k)[0]
                w = self.element(block.right, i, k)[0]
                self._give(block.left, row, k, f"d * {w}")
                self._give(block.right, i, k, f"d * {x}")


def _packed(statements: Sequence[Statement]) -> dict[Group, int]:
    """Where each vector lies in one array that holds them all; empty for a short program.

    A long program is cut into functions, and these are given the array.  In it a join
    is nothing to be done: its pieces lie side by side.
    """
    found: dict[Group, int] = {}
    joins = [s for s in statements if isinstance(s, Join)]
    if len(statements) <= _SHORT and not joins:
        return found
    size = 0
    for join in joins:
        found[join.target] = size
        for piece, start, _ in join.spans():
            found[piece.group] = size + start
        size += join.target.size
    for statement in statements:
        if statement.target not in found:
            found[statement.target] = size
            size += statement.target.size
    return found


def _parts(statements: Sequence[Statement]) -> list[Sequence[Statement]]:
    return [statements[i : i + _PART] for i in range(0, len(statements), _PART)]


@dataclass
class _Nothing:
    """A loop of a single turn."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def _tidy(text: str) -> str:
    """``(a if (1.0 if x < y else 0.0) != 0.0 else b)`` reads better as ``(a if x < y else b)``."""
    before = ""
    while before != text:
        before = text
        text = _COMPARED.sub(r"if \1 else", text)
    return text


def _condition(text: str) -> str:
    found = _TRUTH.fullmatch(text)
    return found[1] if found else f"{text} != 0.0"
