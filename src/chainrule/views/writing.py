"""How an explanation is written: as text for a terminal, as Markdown, as LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from chainrule.symbol import Symbol
from chainrule.views.derivation import Derivation, Edge, Part, short

__all__ = ["latex", "markdown", "text"]

WIDTH: Final = 80
"""Characters per line of text."""


# --- text -------------------------------------------------------------------------------------


def text(derivation: Derivation) -> str:
    """The explanation for a terminal: ASCII but for the names, 80 characters wide."""
    return "\n".join(_text_lines(derivation))


def _text_lines(derivation: Derivation) -> Iterator[str]:
    y = derivation.result
    if derivation.size == 1:
        yield f"{y} was given, not computed: there is no operation to explain"
    elif derivation.expression is not None:
        yield from _chain([y, derivation.expression.text], "")
    else:
        yield f"{y}, computed from {derivation.size:,} values"
    yield from _left_out(derivation)
    yield ""
    yield "Forward pass: every value from its operands"
    width = max([len(x.name) for x in derivation.parts if len(x.name) <= 12], default=1)
    for part in derivation.parts:
        yield from _chain([part.name.ljust(width), *_steps(part)], "  ", _note(part, derivation))
    if any(map(_has_step, derivation.parts)):
        yield ""
        yield "Backward pass: upstream gradient times local derivative, result first"
    for part in reversed(derivation.parts):
        if _has_step(part):
            yield ""
            yield from _chain([part.name, _formula(part)], "  ")
            yield from _chain([_d(y, part.name), *_sum(part, y)], "    ")
            yield from _wrapped(f"    {_sentence(part.says)}", "    ")
            for edge in part.edges:
                yield from _chain(
                    [f"to {_to(edge, part)}: local derivative", *_local(edge)], "    "
                )
                yield from _chain([_product(edge, part), _n(edge.product)], "      passes on ")
            if part.edges_more:
                yield f"    to {part.edges_more} more operands, which are left out"
            for name in part.blocked:
                yield f"    to {name}: no gradient passes"
    yield ""
    yield from _wrapped(_result_heading(derivation), "")
    for part in derivation.parts:
        if part.name in derivation.inputs:
            yield from _chain([_d(y, part.name), *_sum(part, y)], "  ")


def _chain(terms: Sequence[str], indent: str, note: str = "") -> Iterator[str]:
    """``a = b = c``, on more lines if it is too long for one."""
    line = indent + terms[0]
    for term in terms[1:]:
        if len(line) + len(term) + 3 > WIDTH:
            yield line
            inner = " " * (len(indent) + 2)
            *full, line = _wrapped(f"{inner}= {term}", inner + "  ")
            yield from full
        else:
            line += f" = {term}"
    if note and len(line) + len(note) + 3 > WIDTH:
        yield line
        line = " " * len(indent)
    yield f"{line}   {note}" if note else line


def _wrapped(line: str, indent: str) -> list[str]:
    return wrap(
        line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _d(y: str, x: str) -> str:
    return f"d{y if y.isidentifier() else f'({y})'}/d{x if x.isidentifier() else f'({x})'}"


def _n(x: float) -> str:
    return Symbol(short(x)).text


def _in_product(x: float) -> str:
    shown = _n(x)
    return f"({shown})" if shown.startswith("-") else shown


def _formula(part: Part) -> str:
    if part.formula is not None:
        return part.formula.text
    if len(part.operands) <= 4:
        shown = [x if isinstance(x, str) else _n(x) for x in part.operands]
    else:
        shown = [str(part.operands[0]), "...", f"{len(part.operands)} operands"]
    return f"{part.op}({', '.join(shown)})"


def _steps(part: Part) -> list[str]:
    """How a value comes about: formula, numbers, value."""
    if not part.opened:
        return [_n(part.value)]
    steps = [
        _formula(part),
        *([part.numbers.text] if part.numbers is not None else []),
        _n(part.value),
    ]
    return list(dict.fromkeys(steps))


def _local(edge: Edge) -> list[str]:
    """A local derivative: formula, numbers, value."""
    formulas = [x.text for x in (edge.formula, edge.numbers) if x is not None]
    return list(dict.fromkeys([*formulas, _n(edge.local)]))


def _product(edge: Edge, part: Part) -> str:
    return f"{_n(part.gradient)} * {_in_product(edge.local)}"


def _sum(part: Part, y: str) -> list[str]:
    """The gradient as the sum of what the part's uses pass on, and its value."""
    if part.name == y:
        return [_n(1.0)]
    terms = [f"{_in_product(x)} (from {name})" for name, x in part.received]
    count, total = part.received_more
    if count:
        uses = "use" if count == 1 else "uses"
        terms.append(f"{_in_product(total)} (from {count} {uses} left out)")
    if len(terms) == 1:
        return [f"{_n(part.gradient)}{terms[0][terms[0].index(' (from') :]}"]
    return [" + ".join(terms), _n(part.gradient)] if terms else [_n(part.gradient)]


def _to(edge: Edge, part: Part) -> str:
    if part.operands.count(edge.operand) == 1:
        return edge.operand
    return f"{edge.operand} (operand {edge.place + 1})"


def _sentence(says: str) -> str:
    return f"{says[:1].upper()}{says[1:]}." if says else ""


def _note(part: Part, derivation: Derivation) -> str:
    """Why a value is not derived further."""
    if part.opened or not part.op:
        return ""
    if not part.depends:
        return f"(passes no gradient on to {derivation.wrt})"
    return "" if part.name == derivation.wrt else "(how it was computed is left out)"


def _has_step(part: Part) -> bool:
    """Whether there is something to say about it in the backward pass."""
    return part.reached and bool(part.edges or part.blocked)


def _left_out(derivation: Derivation) -> Iterator[str]:
    wrt = derivation.wrt
    if wrt is not None:
        yield f"Only paths to {wrt} are shown."
    if derivation.left_out:
        yield (
            f"{derivation.left_out:,} of {derivation.size:,} values are left out: "
            "those with the weaker gradients."
        )


def _result_heading(derivation: Derivation) -> str:
    if derivation.wrt is not None:
        reached = any(x.reached for x in derivation.parts if x.name == derivation.wrt)
        none = "" if reached else f", to which no gradient passes from {derivation.result}"
        return f"Result: the gradient by {derivation.wrt}{none}"
    return f"Result: the gradients by the inputs{' shown' if derivation.left_out else ''}"


# --- LaTeX ------------------------------------------------------------------------------------


def latex(derivation: Derivation) -> str:
    """The formulas of the explanation alone, as an ``aligned`` block for math mode."""
    rows = []
    y = derivation.result
    for part in derivation.parts:
        rows.append([_tex(part.name), *_tex_steps(part)])
    for part in reversed(derivation.parts):
        for edge in part.edges:
            rows.append([_tex_partial(part.name, edge.operand), *_tex_local(edge)])
    for part in derivation.parts:
        if part.name in derivation.inputs:
            rows.append([_tex_d(y, part.name), *_tex_sum(part, derivation)])
    lines = [f"{first} &= {' = '.join(rest)}" for first, *rest in rows]
    return "\n".join([r"\begin{aligned}", " \\\\\n".join(lines), r"\end{aligned}"])


def _tex(name: str) -> str:
    return Symbol(name).latex


def _tex_n(x: float) -> str:
    return Symbol(short(x)).latex


def _tex_in_product(x: float) -> str:
    shown = _tex_n(x)
    return rf"\left({shown}\right)" if shown.startswith("-") else shown


def _tex_d(y: str, x: str) -> str:
    return rf"\frac{{\mathrm{{d}} {_tex(y)}}}{{\mathrm{{d}} {_tex(x)}}}"


def _tex_partial(y: str, x: str) -> str:
    return rf"\frac{{\partial {_tex(y)}}}{{\partial {_tex(x)}}}"


def _tex_formula(part: Part) -> str:
    if part.formula is not None:
        return part.formula.latex
    return rf"\operatorname{{{part.op}}}\left(\ldots\right)"


def _tex_steps(part: Part) -> list[str]:
    if not part.opened:
        return [_tex_n(part.value)]
    numbers = [part.numbers.latex] if part.numbers is not None else []
    return list(dict.fromkeys([_tex_formula(part), *numbers, _tex_n(part.value)]))


def _tex_local(edge: Edge) -> list[str]:
    formulas = [x.latex for x in (edge.formula, edge.numbers) if x is not None]
    return list(dict.fromkeys([*formulas, _tex_n(edge.local)]))


def _tex_sum(part: Part, derivation: Derivation) -> list[str]:
    """The chain rule for one part: over its uses, upstream times local derivative."""
    y = derivation.result
    if part.name == y:
        return ["1"]
    more, total = part.received_more
    symbols = [rf"{_tex_d(y, name)} {_tex_partial(name, part.name)}" for name, _ in part.received]
    numbers = [_tex_in_product(x) for _, x in part.received]
    if more:
        symbols.append(r"\ldots")
        numbers.append(_tex_in_product(total))
    steps = [" + ".join(symbols)] if symbols else []
    if len(numbers) > 1:
        steps.append(" + ".join(numbers))
    return [*steps, _tex_n(part.gradient)]


# --- Markdown ---------------------------------------------------------------------------------


def markdown(derivation: Derivation) -> str:
    """The explanation in Markdown, with the formulas in LaTeX between dollar signs."""
    return "\n".join(_markdown_lines(derivation)) + "\n"


def _markdown_lines(derivation: Derivation) -> Iterator[str]:
    y = derivation.result
    title = [_tex(y)]
    if derivation.expression is not None and derivation.size > 1:
        title.append(derivation.expression.latex)
    yield f"## Derivation of {_math(title)}"
    for line in _left_out(derivation):
        yield f"\n{line}"
    yield ""
    yield "### Forward pass"
    yield ""
    yield "| value | formula | with numbers | result |"
    yield "|:--|:--|:--|--:|"
    for part in derivation.parts:
        formula = _math([_tex_formula(part)]) if part.opened else _note(part, derivation) or "given"
        numbers = _math([part.numbers.latex]) if part.numbers is not None else ""
        cells = [_math([_tex(part.name)]), formula, numbers, _math([_tex_n(part.value)])]
        yield _row(cells)
    if any(map(_has_step, derivation.parts)):
        yield ""
        yield "### Backward pass"
    for part in reversed(derivation.parts):
        if _has_step(part):
            yield ""
            yield f"**{_math([_tex(part.name), _tex_formula(part)])}** receives"
            yield f"{_math([_tex_d(y, part.name), *_tex_sum(part, derivation)])}."
            yield _sentence(part.says)
            yield ""
            yield "| operand | local derivative | upstream times local |"
            yield "|:--|:--|:--|"
            for edge in part.edges:
                local = [_tex_partial(part.name, edge.operand), *_tex_local(edge)]
                product = rf"{_tex_n(part.gradient)} \cdot {_tex_in_product(edge.local)}"
                cells = [_math([_tex(edge.operand)]), _math(local)]
                yield _row([*cells, _math([product, _tex_n(edge.product)])])
            if part.edges_more:
                yield _row([f"{part.edges_more} more", "left out", ""])
            for name in part.blocked:
                yield _row([_math([_tex(name)]), "no gradient passes", ""])
    yield ""
    yield "### Result"
    yield ""
    for part in derivation.parts:
        if part.name in derivation.inputs:
            yield f"- {_math([_tex_d(y, part.name), *_tex_sum(part, derivation)])}"


def _math(steps: Sequence[str]) -> str:
    return f"${' = '.join(steps)}$"


def _row(cells: Sequence[str]) -> str:
    # A bar would end the cell, even within a formula.
    return "| " + " | ".join([x.replace("|", r"\vert{}") for x in cells]) + " |"
