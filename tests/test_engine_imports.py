"""The engine needs Python alone, and `import chainrule` loads nothing heavy."""

import subprocess
import sys
from pathlib import Path

import pytest

import chainrule

ENGINE = ["arithmetic", "dual", "errors", "modes", "operation", "ops", "value"]

# Runs in a fresh interpreter, in which everything but the standard library and chainrule
# itself is refused.
BLOCKED = """
import sys

sys.path.insert(0, sys.argv[1])

class Blocker:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top != "chainrule":
            raise ModuleNotFoundError(f"{name} is blocked")

sys.meta_path.insert(0, Blocker())
"""


def in_a_fresh_python(code):
    root = Path(chainrule.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-I", "-c", BLOCKED + code, str(root)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("module", ENGINE)
def test_engine_module_with_everything_else_blocked(module):
    status, _, errors = in_a_fresh_python(f"import chainrule.{module}\n")
    assert status == 0, errors


def test_the_whole_engine_works_with_everything_else_blocked():
    status, out, errors = in_a_fresh_python(
        """
from chainrule import Value
x = Value(3.0)
y = (x * x + 1).log().tanh()
y.backward()
print(x.grad > 0.0)
"""
    )
    assert (status, out) == (0, "True\n"), errors


def test_the_blocker_blocks():
    status, _, errors = in_a_fresh_python("import numpy\n")
    assert status != 0
    assert "numpy is blocked" in errors


def test_import_loads_nothing_heavy():
    status, out, errors = in_a_fresh_python(
        """
sys.meta_path.pop(0)
import chainrule
heavy = "numpy rich click matplotlib torch numba scipy sklearn onnx asyncio http unittest"
print([name for name in heavy.split() if name in sys.modules])
"""
    )
    assert (status, out) == (0, "[]\n"), errors
