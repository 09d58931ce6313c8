"""``chainrule explain``: a formula and its gradients, step by step."""

from __future__ import annotations

import math
from difflib import get_close_matches

import click

from chainrule.cli.output import joined
from chainrule.errors import OptionError, describe
from chainrule.parsing import parse
from chainrule.value import Value
from chainrule.views import explain, step_through

__all__ = ["command"]


@click.command(
    # Formulas and numbers may start with a minus.
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 88,
        "ignore_unknown_options": True,
    },
    epilog="""\b
Examples:
  chainrule explain "tanh(w*x + b)" w=0.5 x=2 b=-1
  chainrule explain "(w*x - t)**2" w=0.5 x=2 t=3 --wrt w
  chainrule explain "log(sigmoid(z))" z=-3 --markdown > derivation.md
  chainrule explain "tanh(w*x + b)" w=0.5 x=2 b=-1 --html steps.html""",
)
@click.argument("formula", metavar="FORMULA")
@click.argument("values", metavar="[NAME=NUMBER]...", nargs=-1)
@click.option("--wrt", metavar="NAME", help="Show only what concerns the gradient by NAME.")
@click.option("--markdown", is_flag=True, help="Write Markdown, with the formulas in LaTeX.")
@click.option("--latex", is_flag=True, help="Write the formulas alone, as a LaTeX block.")
@click.option("--html", metavar="FILE", help="Write a page that plays both passes step by step.")
def command(
    formula: str,
    values: tuple[str, ...],
    wrt: str | None,
    markdown: bool,
    latex: bool,
    html: str | None,
) -> None:
    """Explain how FORMULA is computed, and how the chain rule gives its gradients.

    The formula is arithmetic with + - * / **, comparisons, and functions such as exp, log,
    tanh, relu, where, maximum; put it in quotes. Each of its names needs a number.
    """
    if markdown and latex:
        raise OptionError("--markdown and --latex exclude each other; choose one.")
    if html is not None and (markdown or latex or wrt is not None):
        raise OptionError(
            "--html writes a page of its own, in which a click on any value shows its paths; "
            "leave out --wrt, --markdown and --latex."
        )
    parsed = parse(formula)
    if not parsed.names:
        raise OptionError(
            f"{describe(formula)} has no names, so there is no gradient to explain: "
            "write x for one of the numbers and add its value, such as x=2."
        )
    given = _numbers(values, parsed.names)
    if wrt is not None and wrt not in given:
        raise OptionError(
            f"--wrt {wrt}: the formula has no such name; it has {joined(parsed.names)}."
        )
    result = parsed.evaluate({name: Value(x, label=name) for name, x in given.items()})
    if html is not None:
        step_through(result, html)
        click.echo(f"Wrote {html}; open it in a browser.")
        return
    explanation = explain(result, wrt)
    if markdown:
        click.echo(explanation.markdown, nl=False)
    else:
        click.echo(explanation.latex if latex else explanation.text)


def _numbers(words: tuple[str, ...], names: tuple[str, ...]) -> dict[str, float]:
    """The values of the names, from words such as ``x=2``."""
    given: dict[str, float] = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if word.startswith("--"):
            raise OptionError(f"there is no option {word}; see chainrule explain --help.")
        if not (name and equals and text):
            raise OptionError(
                f"expected NAME=NUMBER, such as {names[0]}=2, after the formula; got {word!r}. "
                "Put the formula in quotes, and no blanks around the = sign."
            )
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise OptionError(
                f"{word}: the formula has no name {name!r}; it has {joined(names)}.{hint}"
            )
        if name in given:
            raise OptionError(f"{word}: {name} was given a value already.")
        try:
            given[name] = float(text)
        except ValueError:
            hint = " Decimals are written with a point." if "," in text else ""
            raise OptionError(
                f"{word}: {text!r} is no number; expected something such as {name}=0.5 or "
                f"{name}=1e-3.{hint}"
            ) from None
        if math.isinf(given[name]) and "inf" not in text.lower():
            raise OptionError(
                f"{word}: the number is larger than any float (about 1.8e308); write {name}=inf "
                "if infinity is meant."
            )
    missing = [name for name in names if name not in given]
    if missing:
        example = " ".join([f"{name}=..." for name in missing])
        raise OptionError(f"no value was given for {joined(missing)}; add {example}")
    return given
