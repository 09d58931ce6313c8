"""Reports, scores, the exercise, the pytest plug-in and the two commands."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

import chainrule
from chainrule.cli import main
from chainrule.conformance import check
from chainrule.conformance.exercise import STEPS, progress, starter
from chainrule.conformance.grading import read_weights, score
from chainrule.conformance.reference import PATHS
from chainrule.errors import DataError, OptionError

WEIGHTS = Path(__file__).parent / "data" / "engines" / "weights.toml"
RIGHT = PATHS["closures"].read_text("utf-8")
WRONG = RIGHT.replace("self.grad += (1 - t**2) * out.grad", "self.grad += (1 - t**2)")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("right.py").write_text(RIGHT, "utf-8")
    Path("wrong.py").write_text(WRONG, "utf-8")
    shutil.copy(WEIGHTS, "weights.toml")


@pytest.fixture
def run(capsys):
    """Run a command; give its status and what it printed."""

    def go(words):
        status = main(words.split())
        return (status, *capsys.readouterr())

    return go


def test_a_right_engine_has_status_0(run):
    status, out, err = run("check right.py")
    assert (status, err) == (0, "")
    assert out.startswith("right.py:Value: right in all ")


def test_a_wrong_engine_has_status_1_and_a_hint_before_the_fix(run):
    status, out, _ = run("check wrong.py:Value")
    assert status == 1
    assert "This is the mistake: the upstream gradient is missing in tanh." in out
    assert "self.grad += (1 - t**2)\n" in out
    assert "Hint:" in out
    assert "Fix:" not in out
    _, out, _ = run("check wrong.py --reveal")
    assert "Fix: Multiply by `out.grad`." in out
    assert "add --reveal" not in out


def test_many_files_make_a_table(run):
    Path("copy.py").write_text(WRONG, "utf-8")
    Path("broken.py").write_text("class Value\n", "utf-8")
    status, out, _ = run("check right.py wrong.py copy.py broken.py")
    assert status == 1
    lines = out.splitlines()
    assert lines[0].split() == ["file", "score", "mistake"]
    assert lines[1].split() == ["right.py", "100.0", "none"]
    assert "the engine cannot be used: SyntaxError" in lines[4]
    assert "1 of 4 engines are right." in lines
    assert lines[-1] == "2 files: the upstream gradient is missing in tanh"


def test_formats(run):
    _, out, _ = run("check wrong.py right.py --format json")
    assert [v["right"] for v in json.loads(out)] == [False, True]
    _, out, _ = run("check wrong.py --format junit")
    root = ElementTree.fromstring(out)
    suite = root.find("testsuite")
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) > 3
    assert int(suite.get("tests")) == len(suite.findall("testcase"))
    _, out, _ = run("check wrong.py --format markdown --reveal")
    assert "```python" in out
    assert "   - Fix: Multiply by `out.grad`." in out
    _, out, _ = run("check wrong.py --format gradescope --weights weights.toml")
    found = json.loads(out)
    assert sum(t["max_score"] for t in found["tests"]) == 100
    assert sum(t["score"] for t in found["tests"]) == pytest.approx(found["score"])


def test_gradescope_is_for_one_engine(run):
    status, _, err = run("check right.py wrong.py --format gradescope")
    assert status == 1
    assert "got 2 files" in err


def test_weights_decide_the_score(run):
    verdict = check("wrong.py")
    sections = {s.name: s for s in verdict.sections}
    part = sections["functions"].passed / sections["functions"].total
    assert part < 1
    weights = read_weights("weights.toml")
    assert score(verdict, weights) == pytest.approx(100 * (2 + 3 * part + 5) / 10)
    assert score(check("right.py"), {}) == 100
    _, out, _ = run("check wrong.py --weights weights.toml")
    assert out.rstrip().endswith(f"Score: {score(verdict, weights):.1f} of 100")


@pytest.mark.parametrize(
    ("text", "error", "problem"),
    [
        ("weights = 3", DataError, r"expected a table \[weights\]"),
        ("[weights", DataError, "no TOML"),
        ("[weights]\nreus = 2", OptionError, "did you mean 'reuse'"),
        ('[weights]\nreuse = "2"', OptionError, "number from 0 up; got '2'"),
        ("[weights]\nreuse = -2", OptionError, "number from 0 up"),
        ("[weights]\nreuse = 0", OptionError, "all weights are 0"),
    ],
)
def test_wrong_weights_are_refused_in_words(text, error, problem):
    Path("w.toml").write_text(text, "utf-8")
    with pytest.raises(error, match=problem):
        read_weights("w.toml")


# --- the exercise -----------------------------------------------------------------------------

SOLVED_LATER = """

def train_xor():
    random.seed(3)
    model = MLP(2, [4, 1])
    losses = []
    for _ in range(300):
        loss = sum(
            ((model([x, y]) - (1.0 if x != y else 0.0)) ** 2 for x in (0, 1) for y in (0, 1)),
            Value(0.0),
        )
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= 0.1 * p.grad
        losses.append(loss.data)
    return losses


def clip_gradients(parameters, limit):
    norm = math.sqrt(sum(p.grad**2 for p in parameters))
    for p in parameters:
        p.grad *= min(1.0, limit / norm)


def gradient_sizes(network):
    sizes = []
    for layer in network.layers:
        p = layer.parameters()
        sizes.append(sum(abs(v.grad) for v in p) / len(p))
    return sizes
"""


def states(text):
    Path("mine.py").write_text(text, "utf-8")
    return [state for _, state in progress("mine.py", check("mine.py"))]


def test_the_starter_file_is_all_to_do(run):
    status, out, _ = run("exercise new backprop --output mine.py")
    assert status == 0
    assert "11 steps, from a node to vanishing gradients" in out
    status, out, err = run("check mine.py")
    assert (status, err) == (1, "")
    assert ">  1  a node                       to do" in out
    assert "0 of 11 steps are done." in out


def test_progress_is_followed_step_by_step():
    text = starter("mine.py")
    todo = 'raise NotImplementedError("step 1: data, grad, _children, _backward")'
    body = (
        "self.data = data\n        self.grad = 0.0\n        self._children = children\n"
        "        self._backward = lambda: None"
    )
    text = text.replace(todo, body)
    assert states(text) == ["done"] + ["to do"] * 10
    for op, step in (("+", "a + b"), ("*", "a * b")):
        text = text.replace(
            f'raise NotImplementedError("step 2: {step}")',
            "other = other if isinstance(other, Value) else Value(other)\n"
            f"        return Value(self.data {op} other.data, (self, other))",
        )
        text = text.replace(
            f'raise NotImplementedError("step 2: 2 {op} a")', f"return self {op} other"
        )
    assert states(text) == ["done"] * 2 + ["to do"] * 9
    found = states(text.replace("return self + other", "return self * other"))
    assert found[1] == "2 + a is wrong"


def test_a_finished_exercise_is_done():
    mark = "# (chainrule exercise: backprop)\n"
    assert states(mark + RIGHT + SOLVED_LATER) == ["done"] * len(STEPS)
    found = states(mark + RIGHT + SOLVED_LATER.replace("min(1.0, ", "max(1.0, "))
    assert found[-2].startswith("gradients (3.0, -4.0) clipped to norm 1.0 became")
    found = states(mark + WRONG + SOLVED_LATER)
    assert found[4] == "something is wrong; see below"


def test_an_exercise_does_not_overwrite_work(run):
    run("exercise new backprop")
    status, _, err = run("exercise new backprop")
    assert status == 1
    assert "backprop.py is there already and may be your work" in err
    assert run("exercise new backprop --force")[0] == 0
    status, _, err = run("exercise new backprob")
    assert "did you mean backprop?" in err


# --- the plug-in ------------------------------------------------------------------------------


def test_the_plug_in_judges_engines():
    Path("conftest.py").write_text('pytest_plugins = ["chainrule.conformance.pytest_plugin"]\n')
    Path("test_course.py").write_text(
        "def test_right(check_engine):\n    check_engine('right.py')\n\n\n"
        "def test_wrong(check_engine):\n    check_engine('wrong.py')\n"
    )
    found = pytest_on("--engine", "wrong.py")
    assert "2 failed, 1 passed" in found.stdout, found.stdout + found.stderr
    assert found.stdout.count("the upstream gradient is missing in tanh") == 2


def test_the_plug_in_needs_no_conftest_where_it_is_named():
    found = pytest_on("-p", "chainrule.conformance.pytest_plugin", "--engine", "wrong.py")
    assert "1 failed" in found.stdout, found.stdout + found.stderr


def test_the_plug_in_is_in_nobodys_way():
    assert not [e for e in entry_points(group="pytest11") if e.value.startswith("chainrule")]
    assert "unrecognized arguments: --engine" in pytest_on("--engine", "wrong.py").stderr


def pytest_on(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rN", "-p", "no:cacheprovider", *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(chainrule.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
