"""``chainrule exercise``: starter files for writing one's own engine."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

import click

from chainrule.conformance.exercise import EXERCISES, STEPS, starter
from chainrule.errors import OptionError

__all__ = ["command"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Write your own engine, step by step."""


@command.command()
@click.argument("name")
@click.option("--output", metavar="FILE", help="The file to write; NAME.py by default.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def new(name: str, output: str | None, force: bool) -> None:
    """Write the starter file of exercise NAME (backprop)."""
    if name not in EXERCISES:
        near = get_close_matches(name, EXERCISES, 1)
        hint = f"did you mean {near[0]}?" if near else f"there is: {', '.join(EXERCISES)}."
        raise OptionError(f"there is no exercise {name!r}; {hint}")
    path = Path(output or f"{name}.py")
    if path.exists() and not force:
        raise OptionError(
            f"{path} is there already and may be your work; choose another name with "
            "--output, or replace it with --force."
        )
    path.write_text(starter(str(path), name), "utf-8")
    click.echo(f"Wrote {path}: {len(STEPS)} steps, from {STEPS[0].title} to {STEPS[-1].title}.")
    click.echo(f"Fill it in from the top, and run: chainrule check {path}")
