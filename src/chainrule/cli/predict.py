"""``chainrule predict``: use a saved network on the rows of a CSV file."""

from __future__ import annotations

import click

from chainrule.cli import report
from chainrule.cli.output import advice_in_options, console, show
from chainrule.cli.problem import Problem, as_number
from chainrule.data import read_rows
from chainrule.errors import DataError, describe
from chainrule.nn import Network

__all__ = ["command"]


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  chainrule train flowers.csv --save flowers.json
  chainrule predict flowers.json new.csv
  chainrule predict flowers.json new.csv > answers.txt""",
)
@click.argument("model", metavar="MODEL.json")
@click.argument("file", metavar="FILE.csv")
@click.option("--delimiter", metavar="CHAR", help="What separates cells; else found out.")
@click.option("-q", "--quiet", is_flag=True, help="Print the answers alone, one per line.")
@advice_in_options()
def command(model: str, file: str, delimiter: str | None, quiet: bool) -> None:
    """Use the network in MODEL.json on the rows of FILE.csv.

    The columns are found by the names in the first line; without names they must be
    in the order of the file that the network was trained on.  If the right answers
    are there too, their column tells how many predictions are right.
    """
    net = Network.load(model)
    problem = Problem.of(net, model)
    features: list[str] | int = len(problem.features)
    if "features" in net.meta:
        features = problem.features if problem.columns is None else problem.columns
    rows = read_rows(
        file, features, problem.target, problem.target_position, delimiter, problem.categories
    )
    known = [(i, label) for i, label in enumerate(rows.labels) if label]
    for i, label in known:
        if (problem.label_index(label) if problem.classes else as_number(label)) is None:
            expected = (
                f"one of {', '.join(problem.classes[:20])}" if problem.classes else "a number"
            )
            raise DataError(
                f"{file}, line {rows.lines[i]}, column {problem.target!r}: expected {expected}; "
                f"found {describe(label)}. Correct it, or leave the cell empty."
            )
    outputs = net.predict(rows.X)
    out = console()
    if quiet:
        show(out, *[problem.answer(output) for output in outputs])
        return
    show(out, report.answers(problem, rows.X, outputs, rows.labels))
    if known and (problem.classes or net.sizes[-1] == 1):
        labels = [label for _, label in known]
        show(out, "", report.score(problem, [outputs[i] for i, _ in known], labels))
