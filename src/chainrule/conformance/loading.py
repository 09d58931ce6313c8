"""Load a learner's file for its definitions only.

Files in the wild train, print and plot when they are imported, or are notebooks.  Of
such a file only what defines something is run: imports, classes, functions, and
assignments of simple things.  Plotting libraries are replaced by stubs, installed or not.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from chainrule.errors import DataError

__all__ = ["Source", "definitions", "load", "read_source"]

STUBBED: Final = frozenset(
    [
        "IPython", "altair", "bokeh", "cv2", "datasets", "gradio", "graphviz", "ipywidgets",
        "jax", "matplotlib", "mpl_toolkits", "networkx", "pandas", "PIL", "plotly", "pydot",
        "pygraphviz", "pytest", "rich", "seaborn", "sklearn", "streamlit", "tabulate",
        "tensorflow", "torch", "torchvision", "tqdm", "wandb", "google",
    ]
)  # fmt: skip
"""Libraries for showing and comparing, which judging an engine does not need."""

HARMLESS_CALLS: Final = frozenset(
    [
        "TypeVar", "NewType", "namedtuple", "float", "int", "tuple", "list", "dict", "set",
        "frozenset", "str", "bool", "Union", "sqrt", "log", "exp", "range", "len", "partial",
        "abs", "min", "max", "object",
    ]
)  # fmt: skip
"""What an assignment at the top of a file may call."""

MAGIC: Final = re.compile(r"^\s*([%!?]|.*\?$)")


@dataclass(frozen=True)
class Source:
    """The text of a file, and where its lines come from.

    Attributes:
        path: the file.
        text: Python; the code cells of a notebook one after the other.
        cells: for each line of a notebook its cell and line in it, counted from 1.
    """

    path: Path
    text: str
    cells: tuple[tuple[int, int], ...] = ()

    def where(self, line: int) -> str:
        """A line in words, such as ``"line 12"`` or ``"cell 3, line 4"``."""
        if self.cells and 0 < line <= len(self.cells):
            cell, within = self.cells[line - 1]
            return f"cell {cell}, line {within}"
        return f"line {line}"

    def line(self, number: int) -> str:
        """The text of a line, without blanks around it."""
        lines = self.text.splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def read_source(path: str | Path) -> Source:
    """Read a ``.py`` file or a notebook.

    Args:
        path: the file.

    Raises:
        DataError: it is no text, or no notebook.
        OSError: it cannot be read.

    Example:
        >>> from chainrule.conformance import reference
        >>> source = read_source(reference.PATHS["closures"])
        >>> source.where(1)
        'line 1'
    """
    path = Path(path)
    raw = path.read_bytes()
    if path.suffix == ".ipynb":
        return _notebook(path, raw)
    try:
        text = importlib.util.decode_source(raw)
    except (UnicodeDecodeError, SyntaxError) as error:
        raise DataError(
            f"{path}: the file is no Python source in UTF-8 ({error}). "
            "Give a .py file or an .ipynb notebook."
        ) from None
    return Source(path, text)


def _notebook(path: Path, raw: bytes) -> Source:
    try:
        cells = json.loads(raw)["cells"]
        codes = [(i, c["source"]) for i, c in enumerate(cells, 1) if c["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        raise DataError(
            f"{path}: the file ends in .ipynb but is no Jupyter notebook (version 4). "
            "Save it again from Jupyter, or export it as .py."
        ) from None
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    for number, code in codes:
        text = code if isinstance(code, str) else "".join(code)
        plain = ["" if MAGIC.match(line) else line for line in text.splitlines()]
        try:
            ast.parse("\n".join(plain))
        except SyntaxError:
            continue  # an unfinished cell: the notebook around it may well be right
        lines += plain
        places += [(number, i) for i in range(1, len(plain) + 1)]
    return Source(path, "\n".join(lines) + "\n", tuple(places))


def definitions(tree: ast.Module) -> ast.Module:
    r"""The statements that define something; those that train, print or plot are left out.

    Example:
        >>> tree = ast.parse("import math\nprint('hello')\nn = 3\nloss = train(n)")
        >>> print(ast.unparse(definitions(tree)))
        import math
        n = 3
    """
    return ast.Module([kept for node in tree.body if (kept := _kept(node))], tree.type_ignores)


def _kept(node: ast.stmt) -> ast.stmt | None:
    match node:
        case (
            ast.Import() | ast.ImportFrom() | ast.ClassDef() | ast.FunctionDef()
            | ast.AsyncFunctionDef()
        ):  # fmt: skip
            return node
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return node if _simple(value) else None
        case ast.Try(body=body) if all(_kept(inner) for inner in body):
            return node
        case ast.If(test=test, body=body, orelse=other):
            if "__main__" not in ast.unparse(test) and all(_kept(x) for x in [*body, *other]):
                return node
    return None


def _simple(value: ast.expr) -> bool:
    """Whether an assigned expression computes nothing of weight."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            name = name.id if isinstance(name, ast.Name) else name
            if name not in HARMLESS_CALLS:
                return False
        elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp):
            return False
    return True


# --- in the worker process ------------------------------------------------------------------


def load(source: Source) -> ModuleType:
    """Run the definitions of a file as a module, in this process.

    Modules beside the file can be imported by it and are loaded in the same way.

    Args:
        source: the file.

    Returns:
        The module.
    """
    folder = source.path.resolve().parent
    sys.meta_path.insert(0, _Finder([folder, folder.parent]))
    package = ModuleType("_learner")
    package.__path__ = [str(folder)]
    sys.modules["_learner"] = package
    name = f"_learner.{source.path.stem}"
    spec = importlib.machinery.ModuleSpec(name, _Definitions(source), origin=str(source.path))
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(source.path)
    sys.modules[name] = module
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


class _Definitions(importlib.abc.InspectLoader):
    """Loads the definitions of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def get_source(self, fullname: str) -> str:
        return self.source.text

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.source.text, str(self.source.path))
        return compile(definitions(tree), str(self.source.path), "exec", dont_inherit=True)


class _Stubs(importlib.abc.Loader):
    """Loads a stub in a library's place."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []


class _Stub:
    """Takes every call and has every attribute."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # a decorator such as @torch.no_grad() or @njit gives its function back
        return args[0] if len(args) == 1 and callable(args[0]) else _Stub()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stub()


class _StubModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name[:1].isupper():
            return type(name, (_Stub,), {})  # may be a base class
        return _Stub()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds stubs, and the modules beside the learner's file."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = folders

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        name = fullname.removeprefix("_learner.")
        if name.split(".")[0] in STUBBED:
            return importlib.machinery.ModuleSpec(fullname, _Stubs(), is_package=True)
        if name.split(".")[0] in sys.stdlib_module_names:
            return None
        for folder in self.folders:
            beside = folder.joinpath(*name.split("."))
            if beside.with_suffix(".py").is_file():
                loader = _Definitions(read_source(beside.with_suffix(".py")))
                return importlib.machinery.ModuleSpec(fullname, loader)
            if beside.is_dir() and any(beside.glob("*.py")):
                first = beside / "__init__.py"
                code = _Definitions(read_source(first)) if first.is_file() else None
                spec = importlib.machinery.ModuleSpec(fullname, code, is_package=True)
                spec.submodule_search_locations = [str(beside)]
                return spec
        return None
