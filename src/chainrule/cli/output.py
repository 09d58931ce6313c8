"""Printing: colour where a terminal has it, and the same plain text everywhere else."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from chainrule.errors import ChainruleError, escaped

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "INTERRUPTED",
    "advice_in_options",
    "as_options",
    "can_draw",
    "columns",
    "console",
    "joined",
    "show",
]

INTERRUPTED: Final = 130
"""The exit status that shells give a program ended by Ctrl-C."""

UNLIMITED: Final = 100_000
"""Characters per line where there is no terminal: a file keeps what a screen would cut off."""


def console() -> Console:
    """Where results go: standard output."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout,
        width=None if terminal else UNLIMITED,
        highlight=False,
        markup=False,
        emoji=False,
    )


def can_draw(out: Console) -> bool:
    """Whether it takes block elements and geometric shapes, or ASCII alone."""
    try:
        "░▒█●○▲│─┌┐└┘".encode(out.encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def show(out: Console, *things: Any) -> None:
    """Print one thing after the other, without blanks at the ends of lines.

    Texts are shown as `escaped`: names in them may come from a stranger's file.
    """
    with out.capture() as captured:
        out.print(*[escaped(x) if isinstance(x, str) else x for x in things], sep="\n")
    for line in captured.get().splitlines():
        # a name that the terminal's character set lacks must not end the program
        text = line.rstrip(" ").encode(out.encoding, "replace").decode(out.encoding)
        out.file.write(text + "\n")


def columns(heads: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str] = ()) -> Any:
    """A table of aligned columns under bold names.

    Args:
        heads: the columns' names.
        rows: texts, one per column; like the names they are shown as `escaped`.
        left: names of the columns that are aligned to the left.

    Returns:
        Something for `show`.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        justify: Any = "left" if head in left else "right"
        table.add_column(escaped(head), justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*map(escaped, row))
    return table


def joined(names: Sequence[str], most: int = 8) -> str:
    """Names in a sentence, cut to size.

    Example:
        >>> joined(["a"]), joined(["a", "b", "c"]), joined(["a", "b", "c", "d"], most=2)
        ('a', 'a, b and c', 'a, b and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


_SETTINGS: Final = re.compile(
    r"\b(batch_size|classes|clip_norm|delimiter|epochs|header|lr|n|seed|target)="
    r"('[^']*'|-?[0-9.]*[0-9]|True|False)"
)


def as_options(message: str) -> str:
    """An error message whose advice is in Python, with the options that do the same.

    Example:
        >>> as_options("Pass header=True, or give a number such as lr=0.01.")
        'Pass --header, or give a number such as --lr 0.01.'
    """

    def spelled(found: re.Match[str]) -> str:
        name, value = found[1].replace("_", "-"), found[2]
        if value in ("True", "False"):
            return f"--{name}" if value == "True" else f"--no-{name}"
        return f"--{name} {value}"

    return _SETTINGS.sub(spelled, message)


@contextmanager
def advice_in_options() -> Iterator[None]:
    """Let errors of the package give their advice as `as_options` spells it."""
    try:
        yield
    except ChainruleError as error:
        raise click.ClickException(as_options(str(error))) from None
