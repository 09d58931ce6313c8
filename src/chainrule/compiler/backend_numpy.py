"""The NumPy back end: a program as readable source, for a whole batch at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from chainrule import ops
from chainrule.compiler import runtime
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
from chainrule.compiler.rules import RESULT, Expression, Speller, elementwise_partials, literal
from chainrule.compiler.update import Update
from chainrule.operation import CALL

__all__ = ["Source", "emit", "emit_update"]

SPELLINGS: Final = {
    "exp": "np.exp({0})",
    "expm1": "np.expm1({0})",
    "log": "np.log({0})",
    "log1p": "np.log1p({0})",
    "sqrt": "np.sqrt({0})",
    "sin": "np.sin({0})",
    "cos": "np.cos({0})",
    "tan": "np.tan({0})",
    "asin": "np.arcsin({0})",
    "acos": "np.arccos({0})",
    "atan": "np.arctan({0})",
    "sinh": "np.sinh({0})",
    "cosh": "np.cosh({0})",
    "tanh": "np.tanh({0})",
    "erf": "erf({0})",
    "abs": "np.abs({0})",
    "maximum": "np.maximum({0}, {1})",
    "minimum": "np.minimum({0}, {1})",
    "less": "(1.0 * ({0} < {1}))",
    "less_equal": "(1.0 * ({0} <= {1}))",
    "greater": "(1.0 * ({0} > {1}))",
    "greater_equal": "(1.0 * ({0} >= {1}))",
    "equal": "(1.0 * ({0} == {1}))",
    "not_equal": "(1.0 * ({0} != {1}))",
    "where": "np.where({0}, {1}, {2})",
    "stop_gradient": "{0}",
    "sigmoid": "sigmoid({0})",
    "log_sigmoid": "log_sigmoid({0})",
    "softplus": "softplus({0})",
    "relu": "relu({0})",
    "leaky_relu": "leaky_relu({0}, {1})",
    "elu": "elu({0}, {1})",
    "silu": "silu({0})",
    "gelu": "gelu({0})",
}


def emit(program: Program, wanted: int | None) -> Source:
    """Write a program in NumPy.

    Args:
        program: what to write.
        wanted: the argument that a gradient is asked for; None for the parameters.

    Returns:
        The source and what it needs.
    """
    return _Writer(program, wanted).write()


@dataclass(slots=True)
class Source:
    """An emitted program.

    Attributes:
        text: the source, two functions: ``forward(theta, inputs, rows)`` gives the
            outputs, of shape (rows, outputs); ``forward_backward(theta, inputs, seed,
            rows)`` gives the first, then the others if there are any, and the gradient
            of the first, weighted by ``seed`` of shape (rows, 1) and summed.
        constants: the arrays of numbers that the source names.
    """

    text: str
    constants: dict[str, Any]

    def load(self, dtype: Any = np.float64) -> dict[str, Any]:
        """The functions that the source defines, with constants of the given dtype."""
        namespace: dict[str, Any] = {"np": np}
        for name, array in self.constants.items():
            namespace[name] = array.astype(dtype) if array.dtype.kind == "f" else array
        namespace.update({name: getattr(runtime, name) for name in runtime.__all__})
        exec(compile(self.text, "<chainrule program>", "exec"), namespace)  # our own text
        return namespace


Spelled = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _CrossEntropy:
    """Logits, the index of the right one, and a name for the softmax."""

    logits: Take
    index: Take
    shares: str


class _Writer:
    def __init__(self, program: Program, wanted: int | None) -> None:
        self.program = program
        self.wanted = program.parameters if wanted is None else program.inputs[wanted]
        self.speller = Speller(SPELLINGS, "np.inf", "np.nan")
        self.constants: dict[str, Any] = {}
        self.named: dict[Any, str] = {}  # an index array or a view: its name
        self.views: list[tuple[str, str]] = []  # names for parts of theta, and their subscripts
        self.counts: dict[str, int] = {}
        self.read: set[Group] = set()  # what the present function names
        self.inlined: dict[Group, Spelled] = {}
        self.used_views: set[str] = set()
        self.added_to: set[str] = set()  # views of theta whose gradient is accumulated
        self._name_groups()
        self.expressions: dict[int, Expression] = {
            id(s): elementwise_partials(s)
            for s in program.statements
            if isinstance(s, Elementwise) and s.target.differentiable
        }
        self.masked = self._masked()
        self.cross_entropies = self._cross_entropies()

    def _cross_entropies(self) -> dict[int, _CrossEntropy | None]:
        """Three statements that are the cross-entropy of logits, by the last one's id.

        ``logsumexp(z - pick(t, z))`` shares its exponentials with its derivative if it
        is computed as one.  The first two of the statements stand for None.
        """
        made = {s.target: s for s in self.program.statements}
        uses: dict[Group, int] = {}
        for statement in self.program.statements:
            for take in takes_of(statement):
                uses[take.group] = uses.get(take.group, 0) + 1
        found: dict[int, _CrossEntropy | None] = {}
        for last in self.program.statements:
            if not (isinstance(last, Reduce) and last.op.name == "logsumexp"):
                continue
            centred = made.get(last.rows[0].group)
            if not (isinstance(centred, Elementwise) and centred.op.name == "sub"):
                continue
            logits, chosen = centred.operands
            picking = made.get(chosen.group)
            if (
                isinstance(picking, Reduce)
                and picking.op.name == "pick"
                and last.target.size == picking.target.size == 1
                and all(
                    len(rows) == 1 and (rows[0].index[0] == np.arange(logits.group.size)).all()
                    for rows in (last.rows, picking.rows)
                    if rows[0].index.shape[1] == logits.group.size
                )
                and len(last.rows) == len(picking.rows) == 1
                and last.rows[0].index.shape[1] == picking.rows[0].index.shape[1]
                and _subscript(logits.index, logits.group.size) == ""
                and picking.rows[0].group is logits.group
                and picking.rows[0].index.shape[1] == logits.group.size
                and logits.group.batched
                and picking.leading[0].group.batched
                and uses[centred.target] == uses[picking.target] == 1
                and not self.masked & {last.target, centred.target, picking.target, logits.group}
                and not {take.group for take in self.program.outputs}
                & {centred.target, picking.target}
            ):
                found[id(centred)] = found[id(picking)] = None
                found[id(last)] = _CrossEntropy(logits, picking.leading[0], self.fresh("p"))
        return found

    # --- names -----------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}{self.counts[stem]}"

    def _name_groups(self) -> None:
        """Names as in a textbook: z for sums, h for what an activation makes of them."""
        names = ["x", "y"] if len(self.program.inputs) <= 2 else None
        for i, group in enumerate(self.program.inputs):
            group.name = names[i] if names else f"x{i + 1}"
        sums: set[Group] = set()
        for statement in self.program.statements:
            target = statement.target
            if isinstance(statement, Contract):
                target.name = self.fresh("z")
                sums.add(target)
            elif (
                isinstance(statement, Elementwise)
                and statement.op.arity == 1
                and statement.operands[0].group in sums
            ):
                target.name = self.fresh("h")
            else:
                target.name = self.fresh("v")
        last = self.program.outputs[0].group
        if len(self.program.outputs) == 1 and last.kind == "computed" and last.size == 1:
            last.name = "loss"

    def constant(self, stem: str, array: Any) -> str:
        key = (stem, array.shape, array.tobytes())
        if key not in self.named:
            self.named[key] = self.fresh(stem)
            self.constants[self.named[key]] = array
        return self.named[key]

    # --- reading ---------------------------------------------------------------------------

    def base(self, group: Group) -> Spelled:
        if group in self.inlined:
            return self.inlined[group]
        self.read.add(group)
        return group.name, CALL

    def vector(self, take: Take, index: Index | None = None) -> Spelled:
        """Members of a group, of shape (n,) or (rows, n), or (.., 1) where all are one."""
        index = take.index if index is None else index
        group = take.group
        if group.kind == "constant":
            number = literal(Take(group, index))
            if number is not None:
                return self.speller.number(number)
            assert group.values is not None
            return self.constant("c", group.values[index]), CALL
        if group.kind == "parameter":
            return self.view("b", index), CALL
        subscript = _subscript(index, group.size)
        text, precedence = self.base(group)
        if subscript == "":
            return text, precedence
        if subscript is None:
            subscript = self.constant("I", index)
        if precedence < CALL:
            text = f"({text})"
        return f"{text}[:, {subscript}]" if group.batched else f"{text}[{subscript}]", CALL

    def matrix(self, take: Take) -> str:
        """Members of a group, of shape (n, k) or (rows, n, k)."""
        return self._matrix(take, f"{len(take.index)}, ")

    def stacked(self, take: Take) -> str:
        """Members of a group, of shape (n, k) or, those of all examples, (rows * n, k)."""
        return self._matrix(take, "")

    def _matrix(self, take: Take, n_text: str) -> str:
        group, index = take.group, take.index
        n, k = index.shape
        if group.kind == "constant":
            assert group.values is not None
            return self.constant("C", group.values[index])
        if group.kind == "parameter":
            return self.view("W", index)
        text, _ = self.base(group)
        start = int(index[0, 0])
        if (index.ravel() == np.arange(start, start + n * k)).all():
            part = "" if n * k == group.size else f"[:, {start}:{start + n * k}]"
            if group.batched:
                return f"{text}{part}.reshape(-1, {n_text}{k})"
            return f"{text}{part.replace(':, ', '')}.reshape({n}, {k})"
        name = self.constant("I", index)
        if not group.batched:
            return f"{text}[{name}]"
        return f"{text}[:, {name}]" if n_text else f"{text}[:, {name}].reshape(-1, {k})"

    def view(self, stem: str, index: Index) -> str:
        """A name for part of theta, as a view where it is regular."""
        key = (index.shape, index.tobytes())
        if key not in self.named:
            size = self.program.parameters.size
            subscript = _subscript(index, size) if index.ndim == 1 else _rows(index, size)
            name = self.fresh(stem)
            if subscript is None:
                subscript = f"[{self.constant('I', index)}]"
                self.named[key, "gathered"] = name
            elif index.ndim == 1:
                subscript = f"[{subscript or ':'}]"
            self.named[key] = name
            self.views.append((name, subscript))
        self.used_views.add(self.named[key])
        return self.named[key]

    # --- the functions ---------------------------------------------------------------------

    def write(self) -> Source:
        forward = self._forward_function()
        both = self._both_function()
        return Source(forward + "\n\n" + both, self.constants)

    def _forward_function(self) -> str:
        self.read, self.used_views = set(), set()
        self.inlined = {}
        lines = self._forward_lines(keep=set())
        lines.append(f"return {self._outputs(self.program.outputs)}")
        return self._function("forward", "rows", lines, backward=False)

    def _both_function(self) -> str:
        self.read, self.used_views = set(), set()
        self.inlined = {}
        backward = self._backward_lines()
        keep = set(self.read)
        self.inlined = {}
        lines = ["# forward", *self._forward_lines(keep), "", "# backward", *backward]
        if self.wanted is self.program.parameters:
            gradient = "dtheta"
            if self.program.requested < self.program.parameters.size:
                gradient += f"[:{self.program.requested}]"
        else:
            gradient = f"d{self.wanted.name}"
        outputs = self.program.outputs
        found = [self._outputs(outputs[:1]), self._outputs(outputs[1:])]
        lines.append(f"return {', '.join([*found[: len(outputs)], gradient])}")
        return self._function("forward_backward", "seed, rows", lines, backward=True)

    def _function(self, name: str, extra: str, lines: list[str], backward: bool) -> str:
        inputs = "".join([f"{group.name}, " for group in self.program.inputs])
        head = []
        for view, subscript in self.views:
            if view in self.used_views:
                head.append(f"{view} = theta{subscript}")
        if backward and self.wanted is self.program.parameters:
            head.append("dtheta = np.zeros_like(theta)")
            for view, subscript in self.views:
                if view in self.added_to:
                    head.append(f"d{view} = dtheta{subscript}")
        body = "\n".join(
            [f"    {line}".rstrip() for line in [*head, *([""] if head else []), *lines]]
        )
        return f"def {name}(theta, {inputs}{extra}):\n{body}\n"

    def _outputs(self, outputs: list[Take]) -> str:
        """Some of the results side by side, of shape (rows, outputs)."""
        pieces: list[Take] = []
        for take in outputs:
            if pieces and pieces[-1].group is take.group and take.group.kind != "constant":
                pieces[-1] = Take(take.group, np.concatenate([pieces[-1].index, take.index]))
            else:
                pieces.append(take)
        if not pieces:
            return ""
        texts = []
        for take in pieces:
            text, _ = self.vector(take)
            if literal(take) is not None:
                text = f"np.array([{text}])"
            elif len(pieces) > 1 and _repeats(take.index):
                text = f"np.repeat({text}, {len(take.index)}, axis=-1)"
            texts.append(text)
        joined = texts[0] if len(texts) == 1 else f"beside({', '.join(texts)})"
        width = len(outputs)
        if len(pieces) == 1 and pieces[0].group.batched and not _repeats(pieces[0].index):
            return joined
        return f"np.broadcast_to({joined}, (rows, {width}))"

    # --- forward ---------------------------------------------------------------------------

    def _forward_lines(self, keep: set[Group]) -> list[str]:
        consumers: dict[Group, list[Any]] = {}
        for statement in self.program.statements:
            for take in takes_of(statement):
                consumers.setdefault(take.group, []).append((statement, take))
        returned = {take.group for take in self.program.outputs}
        stands_for = {s.target: s.nodes for s in self.program.statements}
        lines = []
        for statement in self.program.statements:
            target = statement.target
            if id(statement) in self.cross_entropies:
                entropy = self.cross_entropies[id(statement)]
                if entropy is not None:
                    made = f"{target.name}, {entropy.shares}"
                    call = f"cross_entropy({self._lead(entropy.index)}, {self._whole(entropy)})"
                    nodes = statement.nodes + 1 + entropy.logits.group.size
                    lines.append(f"{made} = {call}  # {nodes} scalar nodes")
                continue
            text, precedence = self.speller_of(statement)
            uses = consumers.get(target, [])
            if not uses and target not in returned and target not in keep:
                continue
            if (
                isinstance(statement, Contract)
                and len(uses) == 1
                and isinstance(uses[0][0], Elementwise)
                and uses[0][0].op.arity == 1
                and _subscript(uses[0][1].index, target.size) == ""
                and target not in keep
                and target not in returned
            ):
                self.inlined[target] = (text, precedence)
                continue
            if isinstance(statement, Join):
                lines.append(f"{target.name} = {text}")
                continue
            nodes = statement.nodes
            if isinstance(statement, Elementwise) and statement.operands[0].group in self.inlined:
                nodes += stands_for[statement.operands[0].group]
            lines.append(f"{target.name} = {text}  # {nodes} scalar node{'s' * (nodes > 1)}")
        return lines

    def _whole(self, entropy: _CrossEntropy) -> str:
        return self.vector(entropy.logits)[0]

    def speller_of(self, statement: Statement) -> Spelled:
        if isinstance(statement, Elementwise):
            operands = [self.vector(take) for take in statement.operands]
            return _with_conditions(self.speller.apply(statement.op, operands))
        if isinstance(statement, Reduce):
            return self._reduce(statement), CALL
        if isinstance(statement, Join):
            return f"beside({', '.join([self.base(p.group)[0] for p in statement.pieces])})", CALL
        terms = [self._block(block) for block in statement.blocks]
        text, precedence = " + ".join([text for text, _ in terms]), 1
        if len(terms) == 1:
            text, precedence = terms[0]
        indices = [take.index for take in takes_of(statement)]
        if all(index.shape[1] == 1 and _repeats(index[:, 0]) for index in indices):
            return f"np.repeat({text}, {statement.target.size}, axis=-1)", CALL  # a + b and b + a
        return text, precedence

    def _block(self, block: Block) -> Spelled:
        n, k = block.left.index.shape
        if block.right is None:
            if k == 1:
                return self.vector(block.left, block.left.index[:, 0])
            if n == 1:
                return f"{self._row(block.left)}.sum(-1, keepdims=True)", CALL
            return f"{self.matrix(block.left)}.sum(-1)", CALL
        if block.form == "matrix":
            right = self.matrix(block.right)
            right += ".swapaxes(-1, -2)" if block.right.group.batched else ".T"
            batched = block.left.group.batched or block.right.group.batched
            if block.p == 1:
                left = self._row(block.left)
                if block.right.group.batched:
                    return f"({left}[..., None, :] @ {right})[..., 0, :]", CALL
                return f"{left} @ {right}", 2
            spell = self.matrix if block.right.group.batched else self.stacked
            left = spell(block.left)
            return f"({left} @ {right}).reshape({'-1, ' * batched}{block.p * block.q})", CALL
        if k == 1:
            left, right = self._column(block.left), self._column(block.right)
            return f"{left} * {right}", 2
        if n == 1:
            return (
                f"({self._row(block.left)} * {self._row(block.right)}).sum(-1, keepdims=True)",
                CALL,
            )
        return f"({self.matrix(block.left)} * {self.matrix(block.right)}).sum(-1)", CALL

    def _row(self, take: Take) -> str:
        """The only row of a matrix, of shape (k,) or (rows, k)."""
        index = take.index[0]
        text = _safe(self.vector(take, index))
        if literal(Take(take.group, index)) is not None:
            return f"np.full({len(index)}, {text}, theta.dtype)"
        return f"np.repeat({text}, {len(index)}, axis=-1)" if _repeats(index) else text

    def _column(self, take: Take) -> str:
        return _safe(self.vector(take, take.index[:, 0]))

    def _side_by_side(self, rows: list[Take]) -> str:
        """The operands of a reduction: (.., k) for a single row, else (.., n, k)."""
        single = len(rows[0].index) == 1
        pieces = [self._row(take) if single else self.matrix(take) for take in rows]
        return pieces[0] if len(pieces) == 1 else f"beside({', '.join(pieces)})"

    def _reduce(self, statement: Reduce) -> str:
        rows = self._side_by_side(statement.rows)
        single = statement.target.size == 1
        leading = [self._lead(take) for take in statement.leading]
        if not single:
            leading = [f"{text}[..., None]" for text in leading]
        call = f"{statement.op.name}({', '.join([*leading, rows])})"
        return call if single else f"{call}[..., 0]"

    def _lead(self, take: Take) -> str:
        number = literal(take)
        if number is not None:
            return f"np.full({len(take.index)}, {self.speller.number(number)[0]})"
        text = _safe(self.vector(take))
        return f"np.repeat({text}, {len(take.index)}, axis=-1)" if _repeats(take.index) else text

    # --- backward --------------------------------------------------------------------------

    def _masked(self) -> set[Group]:
        """Groups with members that, for some examples, no gradient reaches.

        They serve only branches that were not taken, or only comparisons.  Their adjoint
        must be no gradient rather than the number 0, which infinite factors turn into nan.
        """
        reached: dict[Group, Any] = {}

        def reach(take: Take | None, index: Index, by: Any) -> None:
            if take is not None and take.group.differentiable:
                group = take.group
                always = reached.setdefault(group, np.zeros(group.size, dtype=bool))
                np.logical_or.at(always, index, by)

        reach(self.program.outputs[0], self.program.outputs[0].index, True)
        for statement in reversed(self.program.statements):
            target = statement.target
            if not target.differentiable or target not in reached:
                continue
            always = reached[target]
            if isinstance(statement, Elementwise):
                for take, partial in zip(
                    statement.operands, self.expressions[id(statement)].partials, strict=True
                ):
                    if partial is not None:
                        reach(take, take.index, always & (not partial.gate))
            elif isinstance(statement, Reduce):
                for take in statement.rows:
                    reach(take, take.index, always[:, None] & (statement.op.name != "pick"))
            elif isinstance(statement, Join):
                for piece, start, end in statement.spans():
                    reach(piece, piece.index, always[start:end])
            else:
                for block in statement.blocks:
                    left, right = block.flat()
                    reach(block.left, left, always[:, None])
                    if right is not None:
                        reach(block.right, right, always[:, None])
        reached.pop(self.program.parameters, None)
        return {group for group, always in reached.items() if not always.all()}

    def _backward_lines(self) -> list[str]:
        self.lines: list[str] = []
        self.given: dict[Group, list[tuple[Index, str]]] = {}
        self.given_masks: dict[Group, list[tuple[Index, str]]] = {}
        batch = Group("computed", 1, batched=True)
        objective = self.program.outputs[0]
        self._give(objective.group, objective.index, "seed", batch)
        self._give_mask(objective.group, objective.index, "True", batch)
        for statement in reversed(self.program.statements):
            target = statement.target
            if target.differentiable and target in self.given:
                adjoint = self._settle(target)
                entropy = self.cross_entropies.get(id(statement))
                if entropy is not None:
                    slope = f"less_one_at({self._lead(entropy.index)}, {entropy.shares})"
                    logits = entropy.logits
                    self._give(logits.group, logits.index, f"{adjoint} * {slope}", target)
                    continue
                if isinstance(statement, Elementwise):
                    self._back_elementwise(statement, adjoint)
                elif isinstance(statement, Reduce):
                    self._back_reduce(statement, adjoint)
                elif isinstance(statement, Join):
                    for piece, start, end in statement.spans():
                        self._give(
                            piece.group, piece.index, f"{adjoint}[..., {start}:{end}]", target
                        )
                        mask = f"m{target.name}[..., {start}:{end}]"
                        reached = mask if target in self.masked else "True"
                        self._give_mask(piece.group, piece.index, reached, target)
                else:
                    for block in statement.blocks:
                        self._back_block(block, target, adjoint)
        if self.wanted is not self.program.parameters:
            if self.wanted not in self.given:
                shape = f"(rows, {self.wanted.size})"
                self.lines.append(f"d{self.wanted.name} = np.zeros({shape}, theta.dtype)")
            else:
                self._settle(self.wanted)
        return self.lines

    def _settle(self, group: Group) -> str:
        """All contributions to the adjoint of a group are known: add them up."""
        name = f"d{group.name}"
        self._sum_up(name, group, self.given[group], "+")
        if group in self.masked:
            self._sum_up(f"m{group.name}", group, self.given_masks[group], "|")
        return name

    def _sum_up(self, name: str, group: Group, given: list[tuple[Index, str]], plus: str) -> None:
        whole = [text for index, text in given if _subscript(index, group.size) == ""]
        parts = [(i, text) for i, text in given if _subscript(i, group.size) != ""]
        shape = f"(rows, {group.size})" if group.batched else f"{group.size}"
        kind = "bool" if plus == "|" else "theta.dtype"
        if "True" in whole:
            self.lines.append(f"{name} = np.ones({shape}, bool)")
            return
        if whole and not parts:
            self.lines.append(f"{name} = {f' {plus} '.join(whole)}")
            return
        self.lines.append(f"{name} = np.zeros({shape}, {kind})")
        for text in whole:
            self.lines.append(f"{name} {plus}= {text}")
        for index, text in parts:
            subscript = _subscript(index, group.size)
            if subscript is None:
                subscript = self.constant("I", index)
                if len(set(index.tolist())) < len(index):
                    helper = "scatter_add" if plus == "+" else "scatter_or"
                    self.lines.append(f"{helper}({name}, {subscript}, {text})")
                    continue
            place = f":, {subscript}" if group.batched else subscript
            self.lines.append(f"{name}[{place}] {plus}= {text}")

    def _give(self, group: Group, index: Index, text: str, source: Group) -> None:
        """Add to the adjoint of members of a group; ``index`` may have any shape."""
        if not group.differentiable:
            return
        flat = index.ravel()
        if source.batched and not group.batched:
            text = f"{_called(text)}.sum(0)"
        if index.ndim == 1 and len(flat) > 1 and _repeats(flat):
            text = f"{_called(text)}.sum(-1, keepdims=True)"
            flat = index = flat[:1]
        if group is self.program.parameters:
            view = self.view("W" if index.ndim == 2 else "b", index)
            key = (index.shape, index.tobytes())
            if (key, "gathered") in self.named:
                self.lines.append(f"scatter_add(dtheta, {self.constant('I', index)}, {text})")
            else:
                self.added_to.add(view)
                self.lines.append(f"d{view} += {text}")
            return
        self.given.setdefault(group, []).append((flat, text))

    def _give_mask(self, group: Group, index: Index, text: str, source: Group) -> None:
        """Say for which members of a group, in which examples, a gradient was given."""
        if group not in self.masked:
            return
        if source.batched and not group.batched and text != "True":
            text = f"{_called(text)}.any(0)"
        if len(index) > 1 and _repeats(index):
            text = f"{_called(text)}.any(-1, keepdims=True)" if text != "True" else text
            index = index[:1]
        self.given_masks.setdefault(group, []).append((index, text))

    def _back_elementwise(self, statement: Elementwise, adjoint: str) -> None:
        target = statement.target
        expression = self.expressions[id(statement)]
        wanted = [
            (take, partial)
            for take, partial in zip(statement.operands, expression.partials, strict=True)
            if partial is not None and take.group.differentiable
        ]
        roots = [partial.node for _, partial in wanted if partial.number is None]

        def leaf(place: int) -> Spelled:
            if place == RESULT:
                return self.base(target)
            return self.vector(statement.operands[place])

        lines, texts = self.speller.expression(expression.trace, roots, leaf, self.fresh)
        self.lines += [_with_conditions((line, 0))[0] for line in lines]
        mask = f"m{target.name}"
        for take, partial in wanted:
            if partial.gate:
                condition = _condition(texts[partial.node][0])
                amount = f"np.where({condition[1:-1]}, {adjoint}, 0.0)"
                own = condition if target not in self.masked else f"{mask} & {condition}"
                if take.group in self.masked:
                    self._give_mask(take.group, take.index, self._bool(own, statement), target)
            else:
                if partial.number is not None:
                    number = self.speller.number(partial.number)[0]
                    special = {"1.0": adjoint, "-1.0": f"-{adjoint}"}
                    amount = special.get(number, f"{adjoint} * {number}")
                else:
                    text, precedence = _with_conditions(texts[partial.node])
                    # d * (1 / x) as the rule has it, not (d * 1) / x: at 1e-320 they differ
                    least = CALL if expression.trace.ops[partial.node] is ops.div else 2
                    amount = f"{adjoint} * {text if precedence >= least else f'({text})'}"
                if target in self.masked:
                    amount = f"np.where({mask}, {amount}, 0.0)"
                if take.group in self.masked:
                    reached = mask if target in self.masked else "True"
                    self._give_mask(take.group, take.index, reached, target)
            self._give(take.group, take.index, amount, target)

    def _bool(self, text: str, statement: Statement) -> str:
        """A condition in the full shape of the statement's result."""
        target = statement.target
        shape = f"(rows, {target.size})" if target.batched else f"({target.size},)"
        return f"truth({text}, {shape})"

    def _back_reduce(self, statement: Reduce, adjoint: str) -> None:
        target = statement.target
        rows = self._side_by_side(statement.rows)
        count = sum([take.index.shape[1] for take in statement.rows])
        tail = "" if target.size == 1 else "[..., None]"
        mask = ""
        if statement.op.name == "pick":
            mask = self.fresh("m")
            self.lines.append(f"{mask} = picked({self._lead(statement.leading[0])}{tail}, {count})")
            amount = f"np.where({mask}, {adjoint}{tail}, 0.0)"
            if target in self.masked:
                self.lines.append(f"{mask} = {mask} & m{target.name}{tail}")
        else:
            amount = f"{adjoint}{tail} * softmax({rows}, {self.base(target)[0]}{tail})"
            if target in self.masked:
                mask = f"m{target.name}{tail}"
                amount = f"np.where({mask}, {amount}, 0.0)"
        whole = amount
        if len(statement.rows) > 1:
            whole = self.fresh("t")
            self.lines.append(f"{whole} = {amount}")
        start = 0
        for take in statement.rows:
            end = start + take.index.shape[1]
            part = whole if len(statement.rows) == 1 else f"{whole}[..., {start}:{end}]"
            if target.size > 1:
                part = f"({part}).reshape({'-1, ' * target.batched}{take.index.size})"
            self._give(take.group, take.index.ravel(), part, target)
            if take.group in self.masked:
                own = "True"
                if mask:
                    shape = (
                        f"(rows, {target.size}, {count})"
                        if target.size > 1
                        else (f"(rows, {count})")
                    )
                    if not target.batched:
                        shape = shape.replace("rows, ", "")
                    own = f"truth({mask}, {shape})[..., {start}:{end}]"
                    if target.size > 1:
                        own = f"{own}.reshape({'-1, ' * target.batched}{take.index.size})"
                self._give_mask(take.group, take.index.ravel(), own, target)
            start = end

    def _back_block(self, block: Block, target: Group, adjoint: str) -> None:
        mask = f"m{target.name}" if target in self.masked else ""
        n, k = block.left.index.shape
        alone = block.right is not None and not block.right.group.batched
        if target.batched and alone and not block.left.group.batched:
            # of all terms these are the same for every example: sum over the batch first
            total = self.fresh("t")
            self.lines.append(f"{total} = {adjoint}.sum(0)")
            adjoint, mask = total, f"{mask}.any(0)" if mask else ""
            target = Group("computed", target.size, batched=False)
        self._reach_block(block, target, mask)
        if block.right is None:
            amount = adjoint if k == 1 else f"np.repeat({adjoint}, {k}, axis=-1)"
            self._give(block.left.group, block.left.index.ravel(), amount, target)
        elif block.form == "matrix":
            self._back_matrix(block, block.right, target, adjoint, mask)
        else:
            deep = n > 1 and k > 1
            tail = "[..., None]" if deep else ""
            for mine, other in ((block.left, block.right), (block.right, block.left)):
                if not mine.group.differentiable:
                    continue
                spell = self._column if k == 1 else self._row if n == 1 else self.matrix
                amount = f"{adjoint}{tail} * {spell(other)}"
                if mask:
                    amount = f"np.where({mask}{tail}, {amount}, 0.0)"
                if deep:
                    amount = f"{_called(amount)}.reshape({'-1, ' * target.batched}{n * k})"
                self._give(mine.group, mine.index.ravel(), amount, target)

    def _reach_block(self, block: Block, target: Group, mask: str) -> None:
        """Pass the mask of a sum on to its terms."""
        k = block.left.index.shape[1]
        for take in (block.left, block.right):
            if take is None or take.group not in self.masked:
                continue
            reached = mask or "True"
            if mask and block.form == "matrix":
                axis = -2 if take is block.right else -1
                shape = f"{'-1, ' * target.batched}{block.p}, {block.q}"
                reached = f"{mask}.reshape({shape}).any({axis})"
            if mask and k > 1:
                reached = f"np.repeat({reached}, {k}, axis=-1)"
            self._give_mask(take.group, take.index.ravel(), reached, target)

    def _back_matrix(
        self, block: Block, right: Take, target: Group, adjoint: str, mask: str
    ) -> None:
        left = block.left
        p, q = block.p, block.q
        one = Group("computed", 1, batched=False)  # these products sum over the batch

        def product(turn: str, other: str) -> str:
            """The adjoint, in another shape, times a matrix."""
            if mask:
                return f"masked_product({adjoint}{turn}, {mask}{turn}, {other})"
            return f"{adjoint}{turn} @ {other}"

        def give(mine: Take, amount: str, source: Group) -> None:
            if mine.group is self.program.parameters:
                self._give(mine.group, mine.index, amount, source)
            elif source is one:
                self._give(mine.group, mine.index.ravel(), f"{_called(amount)}.ravel()", one)
            else:
                size = f"{'-1, ' * source.batched}{mine.index.size}"
                amount = f"{_called(amount)}.reshape({size})"
                self._give(mine.group, mine.index.ravel(), amount, source)

        if p == 1 and not right.group.batched and left.group.batched == target.batched:
            if right.group.differentiable:
                x = self._row(left)
                if target.batched:
                    amount = product(".T", x)
                else:
                    amount = product("[:, None]", f"{_called(x)}[None, :]")
                give(right, amount, one)
            if left.group.differentiable:
                self._give(left.group, left.index[0], product("", self.matrix(right)), target)
            return
        turn = f".reshape({'-1, ' * target.batched}{p}, {q})"
        if right.group.differentiable:
            if target.batched and not right.group.batched:
                give(right, product(f".reshape(-1, {q}).T", self.stacked(left)), one)
            else:
                give(right, product(f"{turn}.swapaxes(-1, -2)", self.matrix(left)), target)
        if left.group.differentiable:
            amount = product(turn, self.matrix(right))
            if target.batched and not left.group.batched:
                give(left, f"{_called(amount)}.sum(0)", one)
            else:
                give(left, amount, target)


def _repeats(index: Index) -> bool:
    return len(index) > 1 and bool((index == index[0]).all())


def _subscript(index: Index, size: int) -> str | None:
    """A regular index as text: "" for all members, "2:8:3" for a slice; None if irregular."""
    start = int(index[0])
    n = len(index)
    if n == 1:
        return "" if size == 1 else f"{start}:{start + 1}"
    step = int(index[1]) - start
    if _repeats(index):
        return f"{start}:{start + 1}" if size > 1 else ""
    if step < 1 or not (index == start + step * np.arange(n)).all():
        return None
    if step == 1:
        return "" if n == size else f"{start}:{start + n}"
    return f"{start}:{start + step * (n - 1) + 1}:{step}"


def _rows(index: Index, size: int) -> str | None:
    """A regular matrix within a flat vector, as a view of it; None if irregular."""
    n, k = index.shape
    start = int(index[0, 0])
    down = int(index[1, 0]) - start if n > 1 else k
    across = int(index[0, 1]) - start if k > 1 else 1
    expected = start + down * np.arange(n)[:, None] + across * np.arange(k)
    if down < 1 or across < 1 or not (index == expected).all():
        return None
    if across == 1 and down >= k:
        if down == k:
            return f"[{start}:{start + n * k}].reshape({n}, {k})"
        return _part(start, n, down, k, size, "")
    if down == 1 and across >= n:
        return _part(start, k, across, n, size, ".T")
    return None


def _part(start: int, rows: int, stride: int, width: int, size: int, turn: str) -> str | None:
    """The first columns of a matrix that lies, row after row, in a flat vector."""
    first = min(start, size - rows * stride)
    skip = start - first
    if first < 0:
        return None
    columns = f"{skip or ''}:{skip + width}"
    if skip == 0 and width == stride:
        columns = ":"
    return f"[{first}:{first + rows * stride}].reshape({rows}, {stride})[:, {columns}]{turn}"


def _safe(spelled: Spelled) -> str:
    text, precedence = spelled
    return text if precedence >= CALL else f"({text})"


def _called(text: str) -> str:
    """An expression that a method can be called on."""
    return text if re.fullmatch(r"[\w.]+(\([^()]*\))?(\[[^][]*\])?", text) else f"({text})"


def _with_conditions(spelled: Spelled) -> Spelled:
    """``np.where((1.0 * (a < b)), ..)`` reads better as ``np.where(a < b, ..)``."""
    text, precedence = spelled
    return re.sub(r"np\.where\(\(1\.0 \* \(([^()]*)\)\)", r"np.where(\1", text), precedence


def _condition(text: str) -> str:
    """A condition as a truth value."""
    found = re.fullmatch(r"\(1\.0 \* (\([^()]*\))\)", text)
    return found[1] if found else f"({text} != 0.0)"


def emit_update(update: Update) -> Source:
    """Write an optimiser's update, clipping included, for all parameters at once.

    Args:
        update: what happens to a parameter.

    Returns:
        Source of ``update(p, g, memory, t, lr)``, which returns the new parameters and
        the new memory, of shape (states, parameters).
    """
    speller = Speller(SPELLINGS, "np.inf", "np.nan")
    counts: dict[str, int] = {}

    def fresh(stem: str) -> str:
        counts[stem] = counts.get(stem, 0) + 1
        return f"{stem}{counts[stem]}"

    lines: list[str] = []
    if update.clip_value is not None:
        more, (clipped,) = update.clip_value.spell(speller, {"g": "g"}, fresh)
        lines += [*more, f"g = {clipped}"]
    if update.clip_norm is not None:
        more, (scale,) = update.clip_norm.spell(speller, {"square": "square"}, fresh)
        lines += ["square = g @ g", *more, f"g = g * ({scale})"]
    states = [f"s{i}" for i in range(update.states)]
    if states:
        lines.append(f"{', '.join(states)}{',' * (len(states) == 1)} = memory")
    known = {name: name for name in ("p", "g", *states, "t", "lr")}
    more, (new, *remembered) = update.rule.spell(speller, known, fresh)
    lines += more
    kept = "memory"
    if remembered:
        kept = f"np.stack(np.broadcast_arrays(p, {', '.join(remembered)})[1:])"
    lines.append(f"return {new}, {kept}")
    lines = [_with_conditions((line, 0))[0] for line in lines]
    body = "\n".join([f"    {line}" for line in lines])
    return Source(f"def update(p, g, memory, t, lr):\n{body}\n", {})
