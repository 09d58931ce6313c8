"""Which engine runs: the environment variable, and extensions that do not fit the source."""

import ast
import importlib.machinery
import inspect
import os
import pydoc
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import chainrule
from chainrule import engine, value
from chainrule.engine import FOLDER, PROBLEM, SOURCES, extension_name, in_use
from chainrule.errors import MissingExtraError, OptionError
from chainrule.operation import ROWS, Op

SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]
NATIVE = in_use().name == "native"

TELL = """
import chainrule
from chainrule import engine, value
print(engine.in_use())
print(value.__file__)
print(chainrule.Value(2.0) * 3.0)
"""


def python(folder, code=TELL, wish=""):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(folder), "CHAINRULE_ENGINE": wish},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def told(*arguments, **options):
    done = python(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def copied(tmp_path):
    """The package as it is installed, extension and all, in a folder of its own."""
    shutil.copytree(FOLDER, tmp_path / "chainrule", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "chainrule"


def test_the_engine_in_use_is_the_one_that_was_loaded():
    assert value.__file__.endswith(".py") == (in_use().name == "python")
    assert str(in_use()) == f"{in_use().name} ({in_use().reason})"


def test_python_can_be_asked_for_everywhere(copied):
    name, file, product = told(copied.parent, wish="python")
    assert name == "python (CHAINRULE_ENGINE asks for it)"
    assert file == str(copied / "value.py")
    assert product == "Value(data=6.0, grad=0.0)"


def test_native_fails_loudly_where_it_is_not():
    if NATIVE:
        pytest.skip("it is there")
    done = python(FOLDER.parent, wish="native")
    assert done.returncode != 0
    assert "MissingExtraError" in done.stderr
    assert "the source folder, which is never compiled in place" in done.stderr
    assert "unset the variable" in done.stderr


def test_an_unknown_engine_is_an_error():
    done = python(FOLDER.parent, wish="fast")
    assert done.returncode != 0
    assert "CHAINRULE_ENGINE is 'fast' (a str); expected 'python', 'native'" in done.stderr


def test_an_edit_is_seen_although_an_extension_lies_beside_the_source(copied):
    # Where there is no true extension, a broken one stands for it: Python would prefer it.
    for source in SOURCES:
        if not NATIVE:
            (copied / source).with_suffix(SUFFIX).write_bytes(b"no extension at all")
    source = copied / "value.py"
    edited = source.read_text(encoding="utf-8").replace('f"Value(data=', 'f"Edited(data=')
    source.write_text(edited, encoding="utf-8")
    name, file, product = told(copied.parent)
    assert name == "python (the source was edited after the extension was compiled from it)"
    assert file == str(source)
    assert product == "Edited(data=6.0, grad=0.0)"
    done = python(copied.parent, wish="native")
    assert done.returncode != 0
    assert "edited after the extension was compiled" in done.stderr


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_counts(source, copied):
    before = extension_name(copied)
    assert before == extension_name(FOLDER)
    with (copied / source).open("a", encoding="utf-8") as file:
        file.write("\n")
    assert extension_name(copied) != before


def test_the_reason_left_by_the_build_is_told(copied):
    for extension in copied.rglob(f"*{SUFFIX}"):
        extension.unlink()
    (copied / PROBLEM).write_text("the compiler was on holiday\n", encoding="utf-8")
    assert told(copied.parent)[0] == "python (the compiler was on holiday)"
    assert "used: the compiler was on holiday." in python(copied.parent, wish="native").stderr


@pytest.mark.parametrize(
    ("wish", "problem", "expected"),
    [
        ("python", "", "python (CHAINRULE_ENGINE asks for it)"),
        ("native", "", "native (compiled from the source by mypyc)"),
        ("", "", "native (compiled from the source by mypyc)"),
        ("", "no compiler", "python (no compiler)"),
    ],
)
def test_the_choice(monkeypatch, wish, problem, expected):
    monkeypatch.setenv("CHAINRULE_ENGINE", wish)
    monkeypatch.setattr(engine, "_problem", lambda: problem)
    assert str(engine._chosen()) == expected


def test_wishes_that_cannot_be_met(monkeypatch):
    monkeypatch.setattr(engine, "_problem", lambda: "no compiler")
    monkeypatch.setenv("CHAINRULE_ENGINE", "native")
    with pytest.raises(MissingExtraError, match="cannot be used: no compiler"):
        engine._chosen()
    monkeypatch.setenv("CHAINRULE_ENGINE", "slow")
    with pytest.raises(OptionError, match="'slow'"):
        engine._chosen()


def test_problems(monkeypatch, tmp_path):
    monkeypatch.setattr(engine, "FOLDER", tmp_path)
    assert engine._problem() == "this is the source folder, which is never compiled in place"
    (tmp_path / PROBLEM).write_text("the compiler was on holiday\n", encoding="utf-8")
    assert engine._problem() == "the compiler was on holiday"
    (tmp_path / f"value{SUFFIX}").touch()
    assert engine._problem() == ""  # no sources that could differ
    for source in SOURCES:
        (tmp_path / source).parent.mkdir(exist_ok=True)
        (tmp_path / source).touch()
    assert "edited after" in engine._problem()
    (tmp_path / f"{extension_name(tmp_path)}__mypyc{SUFFIX}").touch()
    assert engine._problem() == ""


def test_the_source_is_found_beside_an_extension():
    assert engine._SourceFinder.find_spec("chainrule.value", None).origin.endswith("value.py")
    assert engine._SourceFinder.find_spec("chainrule.errors", None) is None


def test_all_compiled_files_are_there():
    assert all((FOLDER / source).is_file() for source in SOURCES)
    assert len(set(SOURCES)) == len(SOURCES)


OWN = {"_Here", "__call__"}
"""What Python and mypyc give a docstring of their own when compiled."""


def documented(source):
    """Everything in a source file that has a docstring, by its dotted name."""

    def look(node, within):
        for child in node.body:
            if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.name not in OWN:
                name = f"{within}.{child.name}"
                if ast.get_docstring(child):
                    yield name, ast.get_docstring(child)
                if isinstance(child, ast.ClassDef):
                    yield from look(child, name)

    module = "chainrule." + source.removesuffix(".py").replace("/", ".")
    yield from look(ast.parse((FOLDER / source).read_text(encoding="utf-8")), module)


@pytest.mark.parametrize("source", SOURCES)
def test_docstrings_are_those_of_the_source(source):
    seen = 0
    for name, text in documented(source):
        thing = pydoc.locate(name)
        if isinstance(thing, property | types.GetSetDescriptorType):
            continue  # compiled properties have none; help() of the class lists them
        if isinstance(thing, type) and issubclass(thing, Op):
            continue  # each operation has its own, seen below
        assert inspect.cleandoc(thing.__doc__) == text, name
        seen += 1
    assert seen


def test_operations_have_the_docstrings_of_the_source():
    texts = dict(documented("ops.py"))
    for op in ROWS.values():
        assert inspect.cleandoc(op.__doc__) == texts[f"chainrule.ops.{op.name}"]


def test_the_package_is_the_one_under_test():
    assert Path(chainrule.__file__).parent == FOLDER
