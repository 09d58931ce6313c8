"""``chainrule explain``: what it prints, and how it refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import chainrule
from chainrule import Value, explain, tanh
from chainrule.cli import COMMANDS, main

EXAMPLE = ["explain", "tanh(w*x + b)", "w=0.5", "x=2", "b=-1"]


def expected():
    w, x, b = Value(0.5, label="w"), Value(2.0, label="x"), Value(-1.0, label="b")
    return tanh(w * x + b)


def test_it_is_a_command(capsys):
    assert "explain" in COMMANDS
    assert main(["explain", "--help"]) == 0
    shown = capsys.readouterr().out
    assert 'chainrule explain "tanh(w*x + b)" w=0.5 x=2 b=-1' in shown
    assert all(option in shown for option in ("--wrt NAME", "--markdown", "--latex"))


@pytest.mark.parametrize(
    ("options", "attribute"), [([], "text"), (["--markdown"], "markdown"), (["--latex"], "latex")]
)
@pytest.mark.parametrize("wrt", [None, "w"])
def test_it_prints_the_explanation(options, attribute, wrt, capsys):
    assert main([*EXAMPLE, *options, *(["--wrt", wrt] if wrt else [])]) == 0
    shown = capsys.readouterr()
    assert shown.out.rstrip("\n") == getattr(explain(expected(), wrt), attribute).rstrip("\n")
    assert not shown.out.endswith("\n\n")
    assert shown.err == ""


def test_formulas_and_numbers_may_start_with_a_minus(capsys):
    assert main(["explain", "-x**2", "x=-3e0", "--latex"]) == 0
    assert "= 6\n" in capsys.readouterr().out


def test_numbers_that_are_not_finite(capsys):
    assert main(["explain", "log(p)", "p=0"]) == 0
    assert "y = log(p) = log(0) = -inf" in capsys.readouterr().out
    assert main(["explain", "x * 2", "x=inf"]) == 0
    assert "x * 2 = inf * 2 = inf" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["w*x"], "no value was given for w and x; add w=... x=..."),
        (["w*x", "w=1"], "no value was given for x; add x=..."),
        (["w*x", "w=1", "x=2", "z=3"], "z=3: the formula has no name 'z'; it has w and x."),
        (["weight*2", "weigth=3"], "it has weight. Did you mean weight?"),
        (["w*2", "w=two"], "w=two: 'two' is no number; expected something such as w=0.5"),
        (["w*2", "w=1,5"], "Decimals are written with a point."),
        (["w*2", "w=1", "w=2"], "w=2: w was given a value already."),
        (["w*2", "w", "=", "1"], "expected NAME=NUMBER, such as w=2, after the formula; got 'w'."),
        (["w*2", "w="], "no blanks around the = sign"),
        (["2*3"], "has no names, so there is no gradient to explain"),
        (["w*2", "w=1", "--wrt", "z"], "--wrt z: the formula has no such name; it has w."),
        (["w*2", "w=1", "--latx"], "there is no option --latx; see chainrule explain --help."),
        (["w*2", "w=1", "--latex", "--markdown"], "--markdown and --latex exclude each other"),
        (["tanh(w*x", "w=1", "x=1"], "this parenthesis is never closed"),
        (["w*2", "w=1", "import os"], "expected NAME=NUMBER"),
    ],
)
def test_mistakes_are_explained_in_a_line(words, said, capsys):
    assert main(["explain", *words]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Error: ")
    assert said in shown.err
    assert "Traceback" not in shown.err


def test_the_place_of_a_mistake_is_pointed_at(capsys):
    assert main(["explain", "w * (x +) 2", "w=1", "x=1"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert "column 9" in lines[0]
    assert lines[2].index("^") - lines[1].index("w") == 8


def test_without_a_formula(capsys):
    assert main(["explain"]) == 2
    assert "Missing argument 'FORMULA'" in capsys.readouterr().err


def test_text_is_never_run_as_code(capsys):
    assert main(["explain", "__import__('os').getcwd()", "x=1"]) == 1
    assert "Error: " in capsys.readouterr().err


def test_as_a_program_in_a_plain_terminal():
    source = str(Path(chainrule.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "chainrule", *EXAMPLE],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "ascii"},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("ascii").startswith("y = tanh(w * x + b)")
