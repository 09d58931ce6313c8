"""``chainrule check``: judge somebody's own engine."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from chainrule.conformance import Limits, Verdict, check
from chainrule.conformance.exercise import is_exercise, progress, progress_text
from chainrule.conformance.grading import as_gradescope, as_junit, read_weights, score
from chainrule.conformance.report import as_json, as_markdown, as_text, class_table
from chainrule.errors import OptionError

__all__ = ["command"]

FORMATS = ("text", "json", "junit", "markdown", "gradescope")


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog="""\b
Examples:
  chainrule check engine.py
  chainrule check engine.py:Value --reveal
  chainrule check lesson.ipynb
  chainrule check submissions/*.py --weights weights.toml""",
)
@click.argument("files", metavar="FILE[:CLASS]...", nargs=-1, required=True)
@click.option("--adapter", metavar="FILE", default="", help="How to talk to another shape.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", help="What is written."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the random graphs.")
@click.option("--reveal", is_flag=True, help="Also tell how to mend the mistakes.")
@click.option("--weights", metavar="FILE", help="A TOML file with the sections' weights.")
@click.option(
    "--seconds", default=0.7, show_default=True, help="Processor time that one case may take."
)
def command(
    files: tuple[str, ...],
    adapter: str,
    form: str,
    seed: int,
    reveal: bool,
    weights: str | None,
    seconds: float,
) -> int:
    """Judge engines, and name their mistakes.

    Each FILE is Python or a notebook with a class like micrograd's Value. It runs in a
    process of its own with limits on time and memory: that bounds accidents, and is no
    sandbox against malice. The exit status is 0 if all engines are right, else 1.
    """
    if form == "gradescope" and len(files) > 1:
        raise OptionError(
            f"--format gradescope writes the results of one engine; got {len(files)} files. "
            "Give one, or use --format json."
        )
    if not seconds > 0:
        raise OptionError(f"--seconds must be above 0; got {seconds}.")
    weighed = read_weights(weights) if weights else {}
    limits = Limits(seconds=seconds)
    verdicts = [check(file, adapter=adapter, seed=seed, limits=limits) for file in files]
    rows = [(verdict, score(verdict, weighed)) for verdict in verdicts]
    match form:
        case "json":
            click.echo(as_json(verdicts, reveal))
        case "junit":
            click.echo(as_junit(verdicts), nl=False)
        case "markdown":
            click.echo("\n".join([as_markdown(v, reveal) for v in verdicts]), nl=False)
        case "gradescope":
            click.echo(as_gradescope(verdicts[0], weighed, reveal))
        case _ if len(verdicts) > 1:
            _echo(class_table(rows))
        case _:
            _one(verdicts[0], rows[0][1] if weights else None, reveal)
    return 0 if all(verdict.right for verdict in verdicts) else 1


def _one(verdict: Verdict, points: float | None, reveal: bool) -> None:
    states = []
    if is_exercise(verdict.file):
        states = progress(Path(verdict.file), verdict)
        _echo(progress_text(states) + "\n\n")
    unwritten = verdict.problem.startswith("NotImplementedError")
    if not unwritten and (not states or not verdict.right):
        _echo(as_text(verdict, reveal))
    if points is not None:
        click.echo(f"\nScore: {points:.1f} of 100")


def _echo(text: str) -> None:
    """Print; a character that the terminal lacks must not end the program."""
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "replace").decode(encoding), nl=False)
