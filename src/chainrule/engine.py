"""Which engine runs: the source as it stands, or the same source compiled to machine code.

The files in `SOURCES` hold the engine.  They run as they are, and a debugger steps through
them; where a C compiler was at hand at installation, mypyc compiled them as well, and the
import system prefers the extension.  There is one source, so there is one behaviour; what
little differs is listed in ``docs/engines.md``.

The environment variable ``CHAINRULE_ENGINE`` decides, before the first import:

* ``python``: the source, even where the extension is installed;
* ``native``: the extension; an error where there is none;
* not set: the extension if there is one, and if it was made from the source beside it.

Example:
    >>> in_use().name in ("native", "python")
    True
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:  # it speaks to mypyc alone, so that nobody needs the package at run time

    def mypyc_attr(**attributes):
        """Tell mypyc something about the class that follows; without it, nothing happens."""
        return lambda kind: kind


__all__ = [
    "SOURCES",
    "Engine",
    "extension_name",
    "in_use",
    "mypyc_attr",
]

SOURCES: Final = (
    "operation.py",
    "modes.py",
    "ops.py",
    "arithmetic.py",
    "value.py",
    "nn/inputs.py",
    "nn/neurons.py",
)
"""The files that are compiled, all together into one extension."""

FOLDER: Final = Path(__file__).parent
PROBLEM: Final = "no_extension.txt"
"""The file in which a build without an extension leaves its reason."""


class Engine(NamedTuple):
    """The engine in use.

    Attributes:
        name: ``"native"`` for compiled code, ``"python"`` for the source itself.
        reason: why this one, in a few words.
    """

    name: Literal["native", "python"]
    reason: str

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})"


def in_use() -> Engine:
    """The engine that runs in this process, and why."""
    return _ENGINE


def extension_name(folder: Path) -> str:
    """What the extension is called that is compiled from the files in a folder.

    The name holds a checksum of the files.  So an extension that was made from other
    files, before somebody edited one, is never mistaken for theirs.

    Args:
        folder: where `SOURCES` lie.

    Returns:
        The name of its module within chainrule, such as ``"engine_1a2b3c4d"``.

    Raises:
        OSError: a file cannot be read.
    """
    checksum = 0
    for source in SOURCES:
        checksum = zlib.crc32((folder / source).read_bytes(), checksum)
    return f"engine_{checksum:08x}"


def _is_installed(module: str) -> bool:
    return any((FOLDER / f"{module}{s}").exists() for s in importlib.machinery.EXTENSION_SUFFIXES)


def _problem() -> str:
    """Why there is no extension that could be used; "" if there is one."""
    if not _is_installed("value"):
        try:
            return (FOLDER / PROBLEM).read_text(encoding="utf-8").strip()
        except OSError:
            return "this is the source folder, which is never compiled in place"
    try:
        name = extension_name(FOLDER)
    except OSError:
        return ""  # installed without sources: there is nothing it could differ from
    if _is_installed(f"{name}__mypyc"):
        return ""
    return "the source was edited after the extension was compiled from it"


def _chosen() -> Engine:
    wish = os.environ.get("CHAINRULE_ENGINE", "")
    if wish not in ("", "python", "native"):
        from chainrule.errors import OptionError, describe

        raise OptionError(
            f"the environment variable CHAINRULE_ENGINE is {describe(wish)}; expected 'python', "
            "'native', or not set at all"
        )
    if wish == "python":
        return Engine("python", "CHAINRULE_ENGINE asks for it")
    problem = _problem()
    if not problem:
        return Engine("native", "compiled from the source by mypyc")
    if wish == "native":
        from chainrule.errors import MissingExtraError

        raise MissingExtraError(
            f"the environment variable CHAINRULE_ENGINE asks for the native engine, which cannot "
            f"be used: {problem}. Install chainrule anew where a C compiler is at hand (not as "
            "an editable install), or unset the variable; the Python engine computes the same."
        )
    return Engine("python", problem)


class _SourceFinder:
    """Makes the import system take the engine's source where an extension lies beside it."""

    _files: Final = {
        f"chainrule.{source.removesuffix('.py').replace('/', '.')}": FOLDER / source
        for source in SOURCES
    }

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        file = cls._files.get(name)
        return None if file is None else importlib.util.spec_from_file_location(name, file)


_ENGINE: Final = _chosen()
if _ENGINE.name == "python" and _is_installed("value"):
    sys.meta_path.insert(0, _SourceFinder)
