"""`chainrule check` on whole engines: right ones of many styles, and files as they are found."""

import json
import shutil
import sys
import time
from pathlib import Path

import pytest

from chainrule.conformance import Limits, check
from chainrule.conformance.reference import PATHS
from chainrule.conformance.report import as_json
from chainrule.errors import DataError, GradientMismatch, OptionError

ENGINES = Path(__file__).parent / "data" / "engines"


def stored(folder, name):
    """An engine of tests/data: kept as .txt there, because it must not run when it is imported."""
    return shutil.copy(ENGINES / f"{name}.txt", folder / name)


def engine(folder, body, head="", name="engine.py"):
    """Micrograd's engine with a part replaced, in a file."""
    path = folder / name
    path.write_text(head + body, "utf-8")
    return path


def micrograd(*edits):
    """The text of micrograd's engine, edited."""
    source = Path(pytest.importorskip("micrograd.engine").__file__).read_text("utf-8")
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize("style", list(PATHS))
def test_the_reference_engines_are_right_and_have_no_limits(style):
    verdict = check(PATHS[style])
    assert verdict.right, verdict.text
    assert not verdict.limits


def test_micrograd_is_right_and_its_limits_are_told_apart(tmp_path):
    verdict = check(engine(tmp_path, micrograd()))
    assert verdict.right, verdict.text
    assert not verdict.mistakes
    assert len(verdict.limits) == 5
    assert any("recursion" in limit for limit in verdict.limits)
    assert any("left over" in limit for limit in verdict.limits)
    assert "exp(a)" in verdict.absent


def test_micrograds_networks_are_right(tmp_path):
    folder = tmp_path / "micrograd"
    shutil.copytree(Path(pytest.importorskip("micrograd").__file__).parent, folder)
    verdict = check(folder / "nn.py")
    assert verdict.right, verdict.text
    assert verdict.engine == "Value"
    assert "network" in {s.name for s in verdict.sections}
    assert any("zip" in limit for limit in verdict.limits)


@pytest.mark.parametrize("name", ["derivative.py", "relu_only.py", "lesson.ipynb"])
def test_right_engines_of_other_styles_pass(name, tmp_path):
    start = time.monotonic()
    verdict = check(stored(tmp_path, name))
    assert verdict.right, verdict.text
    assert sum(s.total for s in verdict.sections) > 40
    assert time.monotonic() - start < 30  # 5 on a machine that does nothing else


def test_chainrules_own_value_is_right(tmp_path):
    verdict = check(engine(tmp_path, "from chainrule import Value\n"))
    assert verdict.right, verdict.text
    assert not verdict.limits


def test_an_adapter_maps_another_shape(tmp_path):
    adapter = stored(tmp_path, "tape_adapter.py")
    verdict = check(stored(tmp_path, "tape.py"), adapter=adapter)
    assert verdict.right, verdict.text
    assert sum(s.total for s in verdict.sections) > 30


def test_an_adapter_that_lacks_a_function_says_which(tmp_path):
    adapter = engine(tmp_path, "def make(engine, x): return x\n", name="adapter.py")
    verdict = check(stored(tmp_path, "tape.py"), adapter=adapter)
    assert "does not define data, grad, backward" in verdict.problem


def test_a_class_is_found_in_its_file():
    from chainrule.conformance.reference import tuples

    assert check(tuples.Value).right


def test_a_class_without_a_file_is_refused_in_words():
    class Local:
        pass

    with pytest.raises(OptionError, match="Save the class in a"):
        check(Local)
    with pytest.raises(OptionError, match="needs the file"):
        check(int)


def test_lines_of_notebooks_are_named_by_cell(tmp_path):
    text = (ENGINES / "lesson.ipynb.txt").read_text("utf-8")
    path = tmp_path / "wrong.ipynb"
    path.write_text(text.replace("(1 - t**2) * out.grad", "(1 - t**2)"), "utf-8")
    [mistake] = check(path).mistakes
    assert mistake.name == "no upstream:tanh"
    assert mistake.where == "cell 7, line 5"
    assert mistake.code == "self.grad += (1 - t**2)"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("class Value\n", "SyntaxError"),
        ("import nosuchmodule\nclass Value:\n    def __add__(self, o): pass\n", "nosuchmodule"),
        ("import sys\nn = 3\n", "it defines no class"),
        ("class A: pass\n", "it defines A"),
        ("class V:\n    def __init__(self, x): pass\n    def __add__(self, o): pass\n", "1.25"),
        (
            "class V:\n    def __init__(self, x):\n        self.data = x\n"
            "    def __add__(self, o): pass\n",
            "no gradient attribute",
        ),
        (
            "class V:\n    def __init__(self, x):\n        raise SystemExit(3)\n"
            "    def __add__(self, o): pass\n",
            "SystemExit: 3",
        ),
        (
            "import os\nclass V:\n    def __init__(self, x):\n        os._exit(3)\n"
            "    def __add__(self, o): pass\n",
            "status 3",
        ),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_a_finding(tmp_path, text, problem):
    verdict = check(engine(tmp_path, text))
    assert not verdict.right
    assert problem in verdict.problem
    assert problem in " ".join(verdict.text.split())


def test_an_unreadable_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        check(tmp_path / "nothing.py")
    with pytest.raises(DataError, match="no Jupyter notebook"):
        check(engine(tmp_path, "x = 1", name="x.ipynb"))
    with pytest.raises(DataError, match="is a folder"):
        check(tmp_path)
    (tmp_path / "latin.py").write_bytes(b"x = '\xe4\xff'\n")
    with pytest.raises(DataError, match="UTF-8"):
        check(tmp_path / "latin.py")


MEAN = {
    "an endless loop": ("\n        while True: pass", "hang"),
    "an endless loop that catches": (
        "\n        while True:\n            try:\n                while True: pass\n"
        "            except BaseException: pass",
        "hang",
    ),
    "exit": ("import sys; sys.exit(0)", "error"),
    "hard exit": ("import os; os._exit(1)", "crash"),
    "recursion": ("return self.exp()", "error"),
    "memory": ("return [0] * 10**12", "error"),
    "output": ("print('x' * 10**7); raise ValueError", "error"),
    "input": ("input()", "error"),
}


@pytest.mark.parametrize("name", MEAN)
def test_what_code_does_by_accident_is_a_finding(tmp_path, name):
    body, status = MEAN[name]
    source = micrograd(
        ("    def backward(self):", f"    def exp(self): {body}\n\n    def backward(self):")
    )
    path = engine(tmp_path, source)
    limits = Limits(seconds=0.2, wall=3.0)
    verdict = check(path, limits=limits)
    assert not verdict.right
    outcome = verdict.outcomes["a.exp()"]
    assert outcome.status == status
    assert verdict.outcomes["a * b"].status == "ok"
    assert verdict.outcomes["a.relu()"].status == "ok"  # after it, in a new process if need be
    assert "exp" in " ".join(verdict.example.lines)


def test_the_same_seed_gives_the_same_verdict(tmp_path):
    path = engine(tmp_path, micrograd(("other.data * out.grad", "self.data * out.grad")))
    first, second = check(path, seed=5), check(path, seed=5)
    assert as_json([first]) == as_json([second])
    assert check(path, seed=6).outcomes != first.outcomes
    assert check(path, seed=6).mistakes[0].name == first.mistakes[0].name == "own factor:*"


def test_raise_if_wrong_is_for_tests(tmp_path):
    check(PATHS["tuples"]).raise_if_wrong()
    path = engine(tmp_path, micrograd(("self.grad = 1\n", "self.grad = 2\n")))
    with pytest.raises(GradientMismatch, match="not 1"):
        check(path).raise_if_wrong()


def test_verdicts_are_plain_json(tmp_path):
    path = engine(tmp_path, micrograd(("self.grad = 1\n", "self.grad = 2\n")))
    [found] = json.loads(as_json([check(path)]))
    assert found["right"] is False
    assert found["mistakes"][0]["name"] == "seed is 2"
    assert "fix" not in found["mistakes"][0]
    [found] = json.loads(as_json([check(path)], reveal=True))
    assert found["mistakes"][0]["fix"] == "Set `self.grad = 1.0`."


def test_no_learner_module_is_loaded_in_this_process(tmp_path):
    path = engine(tmp_path, micrograd(), name="learners_own_engine.py")
    check(path)
    assert not any("learners_own_engine" in name for name in sys.modules)
