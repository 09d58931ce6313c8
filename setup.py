"""Builds the extension: the engine's own source, compiled by mypyc.

An extension is built for wheels only.  An editable install runs the source, so that every
edit is seen.  Where it cannot be built, the package is installed without it and runs the
source; `chainrule info` then tells the reason, which is left in a file.

The environment variable CHAINRULE_BUILD may ask for one of the two: with `native` a failure
stops the build, with `python` nothing is compiled and the wheel fits every platform.
"""

import ast
import os
import re
import shutil
import sys
from pathlib import Path
from subprocess import CalledProcessError

from mypy.plugin import Plugin
from mypy.types import AnyType, TypeOfAny
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

PACKAGE = Path("src", "chainrule")
sys.path.append(str(PACKAGE))

import engine  # noqa: E402 - the file alone: the package is not installed yet

WISH = os.environ.get("CHAINRULE_BUILD", "")
SETTINGS = f"""\
[mypy]
plugins = {Path(__file__).as_posix()}
mypy_path = {PACKAGE.parent.as_posix()}
disable_error_code = has-type
follow_imports = silent
"""


class AnythingFromOperations(Plugin):
    """Tells mypyc that an operation may answer with anything.

    Its signature promises a float for floats.  Within the rules of the table it is called
    with operands of any kind, and mypyc would make the promise come true by force.
    """

    def get_method_hook(self, fullname):
        if fullname.endswith("Op.__call__"):
            return lambda context: AnyType(TypeOfAny.explicit)
        return None


def plugin(version):
    """What mypy calls when it loads this file as a plugin."""
    return AnythingFromOperations


def translated():
    """The extension modules, their C code written by mypyc."""
    from mypyc.build import mypycify

    folder = Path("build", "native")
    shutil.rmtree(folder, ignore_errors=True)  # of another state of the source
    folder.mkdir(parents=True)
    settings = folder / "mypy.ini"
    settings.write_text(SETTINGS, encoding="utf-8")
    extensions = mypycify(
        [f"--config-file={settings}", *[str(PACKAGE / source) for source in engine.SOURCES]],
        group_name=f"chainrule.{engine.extension_name(PACKAGE)}",
        debug_level="0",
        target_dir=str(folder),
    )
    (file,) = folder.rglob("__native_engine_*.c")
    code = file.read_text(encoding="utf-8")
    code = nodes_made_quickly(made_safe(documented(code)))
    file.write_text(code, encoding="utf-8")
    for extension in extensions:  # a warning of a compiler yet to come is no reason to fail
        extension.extra_compile_args = [
            option for option in extension.extra_compile_args if option != "-Werror"
        ]
    return extensions


NEW_NODE = """\
static inline char in_sight(PyObject *a, PyObject *b, PyObject *more)
{
    if (PyObject_GC_IsTracked(a) || PyObject_GC_IsTracked(b)) return 1;
    if (more == Py_None) return 0;
    PyObject *operands = ((chainrule___value____MoreObject *)more)->_operands;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(operands); i++)
        if (PyObject_GC_IsTracked(PyTuple_GET_ITEM(operands, i))) return 1;
    return 0;
}

static inline PyObject *new_node(PyObject *a, PyObject *b, PyObject *more)
{
    PyObject *node = CPyDef_value_____mypyc__Value_setup((PyObject *)CPyType_value___Value);
    if (node && in_sight(a, b, more)) PyObject_GC_Track(node);
    return node;
}

"""


def nodes_made_quickly(code):
    """C code of mypyc, with the two things changed that cost the most time.

    ``object.__new__``, which makes a node without the checks of ``__init__``, is called as a
    function of C.  And nodes are left out of the lists of the cyclic garbage collector: it
    walks through all that it knows over and over while a graph grows, which takes as long as
    all the rest.  A graph of operations of the table has no cycle.  A hand-made node may be in
    one, through its rule, and a value of a subclass, through its attributes; they are on the
    lists, and so is every node computed from one that is, because the cycle may lead over it.

    Raises:
        RuntimeError: mypyc wrote something else than is expected here.
    """
    allocated = "(chainrule___value___ValueObject *)type->tp_alloc(type, 0);"
    blank = "memset((PyObject *)self + 1, 0, sizeof(*self) - sizeof(PyObject));"
    untracked = f"""\
PyObject_GC_New(chainrule___value___ValueObject, type); if (self) {blank}"""
    edits = [  # the function, what is replaced in it, and by what
        (
            "PyObject *CPyDef_value____node",
            r"PyObject_Vectorcall\(\w+, \w+, 1, 0\)",
            "new_node(cpy_r_a, cpy_r_b, cpy_r_more)",
        ),
        (
            "PyObject *CPyDef_value_____mypyc__Value_setup",
            rf"self = {re.escape(allocated)}",
            f"if (type == CPyType_value___Value) {{ self = {untracked} }} "
            f"else {{ self = {allocated} }}",
        ),
        (
            "char CPyDef_value____show_to_collector",
            "",
            " if (!PyObject_GC_IsTracked(cpy_r_node)) PyObject_GC_Track(cpy_r_node);",
        ),
    ]
    for function, old, new in edits:
        found = re.search(rf"{re.escape(function)}\([^)]*\)\s*\{{.*?({old})", code, re.S)
        if not found or len(found[0]) > 10_000:  # of another function
            raise RuntimeError(f"mypyc wrote something unexpected in {function}")
        code = f"{code[: found.start(1)]}{new}{code[found.end(1) :]}"
    return code.replace(edits[0][0], f"{NEW_NODE}{edits[0][0]}", 1)


def made_safe(code):
    """C code of mypyc, without two ways to crash.

    A property's setter hands over unseen what it is given: a value of another type would be
    taken for one of the declared type, and ``del`` would hand over nothing at all.  And an
    attribute lets go of its old value before it has the new one: a ``__del__`` of the user's
    that looks at the attribute would find what is freed already.

    Raises:
        RuntimeError: mypyc wrote something else than is expected here.
    """
    edits = [
        (
            r"retval = CPyDef_(\w+__mypyc_setter__\w+)\(\(PyObject \*\) self, value\);",
            r"""\
if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "this attribute cannot be deleted");
        return -1;
    }
    PyObject *done = CPyPy_\1((PyObject *) self, &value, 1, NULL);
    retval = done ? 1 : 2;
    Py_XDECREF(done);""",
        ),
        (
            r"if \((\S*(?: \*\)\w+\))?->\w+) != NULL\) \{\s*"
            r"CPy_DECREF\(\1\);\s*\}\s*\1 = (.*);",
            r"Py_XSETREF(\1, \2);",
        ),
    ]
    for old, new in edits:
        code, count = re.subn(old, new, code)
        if not count:
            raise RuntimeError(f"mypyc wrote nothing like {old}")
    return code


def documented(code):
    """C code of mypyc, with the docstrings of the source, which mypyc leaves out.

    Its tables name each method ``CPyPy_module___Class___method``, and hold the signature in
    the place where Python looks for the docstring as well.
    """
    docstrings = {}
    for source in engine.SOURCES:
        tree = ast.parse((PACKAGE / source).read_text(encoding="utf-8"))
        collect_docstrings(tree, Path(source).stem, docstrings)

    def complete(match):
        found = docstrings.get(match["function"] or f"class {match['kind']}", "")
        return f'{match[0]} "{c_string(found)}"'

    return re.sub(
        r'\(PyCFunction\)CPyPy_(?P<function>\w+),\s*[\w |]+, PyDoc_STR\("[^"]*"'
        r'|\.tp_doc = PyDoc_STR\("(?P<kind>\w+)\([^"]*"',
        complete,
        code,
    )


def collect_docstrings(tree, name, found):
    """The docstrings of the functions, methods and classes below a node, by mypyc's names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            key = f"{name}___{node.name}"
            found[key] = ast.get_docstring(node, clean=False) or found.get(key, "")
        elif isinstance(node, ast.ClassDef):
            found[f"class {node.name}"] = ast.get_docstring(node, clean=False) or ""
            collect_docstrings(node, f"{name}___{node.name}", found)


def c_string(text):
    """Text as it stands between the quotes of a C string."""
    plain = range(32, 127)
    return "".join(
        chr(b) if b in plain and chr(b) not in '"?\\' else f"\\{b:03o}" for b in text.encode()
    )


class BuildExtension(build_ext):
    """Translates and compiles, once; leaves a reason where that fails."""

    problem = ""
    built = False  # of the class: setuptools makes the command anew while it makes a wheel

    def finalize_options(self):
        if BuildExtension.built:
            super().finalize_options()
            return
        self.distribution.ext_modules = []
        if WISH == "python":
            self.problem = "the installed wheel was built without the extension"
        else:
            self._attempt(self._translate)
        super().finalize_options()

    def run(self):
        if BuildExtension.built:
            return
        BuildExtension.built = True
        folder = Path(self.build_lib, "chainrule")
        for old in [*folder.rglob("*.so"), *folder.rglob("*.pyd"), folder / engine.PROBLEM]:
            old.unlink(missing_ok=True)  # of an earlier build, in the same folder
        if not self.problem:
            self._attempt(super().run)
        if self.problem:
            for file in self.get_outputs():  # all modules, or none
                Path(file).unlink(missing_ok=True)
            self.distribution.ext_modules = self.extensions = []
            folder.mkdir(parents=True, exist_ok=True)
            (folder / engine.PROBLEM).write_text(f"{self.problem}\n", encoding="utf-8")

    def _translate(self):
        self.distribution.ext_modules = translated()

    def _attempt(self, step):
        try:
            step()
        except (Exception, SystemExit) as error:  # mypyc exits where mypy objects
            if WISH == "native":
                raise
            if isinstance(error, SystemExit):
                error = "mypyc refused the source"
            elif isinstance(error.__context__, CalledProcessError):  # all options are in its text
                failed = error.__context__
                error = f"{failed.cmd[0]} failed with exit status {failed.returncode}"
            first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.problem = f"the extension could not be compiled: {first_line}"
            self.warn(f"{self.problem}; the Python engine is installed alone")


class BuildWheel(bdist_wheel):
    """Builds the extension first: only then it is known which platforms the wheel fits."""

    def finalize_options(self):
        self.run_command("build_ext")
        super().finalize_options()


if __name__ == "__main__":
    if "bdist_wheel" in sys.argv:
        setup(
            ext_modules=[Extension("chainrule.value", [])],  # so that build_ext is asked
            cmdclass={"build_ext": BuildExtension, "bdist_wheel": BuildWheel},
        )
    else:  # an editable install, or questions about the project
        setup()
