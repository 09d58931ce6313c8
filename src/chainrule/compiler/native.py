"""Loading programs that Numba compiles, and keeping them between processes.

A program is written to a file named after the hash of its text, in a private cache
directory, so that Numba can store the machine code beside it.  Nothing but the text
that the compiler has just made is ever executed: an existing file must hold exactly it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import stat
import sys
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Final

from chainrule.errors import MissingExtraError

__all__ = ["cache_directory", "is_cached", "load", "numba_installed"]

_KEPT_FILES: Final = 300
_KEPT_MODULES: Final = 64

_loaded: Final[OrderedDict[str, ModuleType]] = OrderedDict()
_lock: Final = threading.Lock()


def numba_installed() -> bool:
    """Whether Numba can be imported; it is not imported to find out."""
    return importlib.util.find_spec("numba") is not None


def cache_directory() -> Path:
    """Where programs are kept: private to the user, made at its first use.

    ``CHAINRULE_CACHE`` names another place.  Where the directory cannot be trusted
    (it belongs to somebody else, or others may write to it), a temporary one that
    nobody else can open takes its place.
    """
    named = os.environ.get("CHAINRULE_CACHE")
    if named:
        place = Path(named)
    elif sys.platform == "win32":
        place = Path(os.environ.get("LOCALAPPDATA", "~")).expanduser() / "chainrule"
    elif sys.platform == "darwin":
        place = Path("~/Library/Caches/chainrule").expanduser()
    else:
        place = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "chainrule"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(place):
            return place
    except OSError:
        pass  # a read-only home, say: the temporary directory serves this process
    return _temporary()


def _is_private(place: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True  # Windows keeps LOCALAPPDATA private by itself
    found = place.stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


_temporary_directory: tempfile.TemporaryDirectory[str] | None = None


def _temporary() -> Path:
    global _temporary_directory
    if _temporary_directory is None:
        _temporary_directory = tempfile.TemporaryDirectory(prefix="chainrule-")
    return Path(_temporary_directory.name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def is_cached(text: str) -> bool:
    """Whether a program was compiled before, in this process or an earlier one."""
    digest = _digest(text)
    if digest in _loaded:
        return True
    stored = cache_directory() / "__pycache__"
    return any(stored.glob(f"program_{digest}.*.nbi"))


def load(text: str) -> ModuleType:
    """The module that a program's text defines; Numba compiles its functions when called.

    Raises:
        MissingExtraError: Numba is not installed.
    """
    if not numba_installed():
        raise MissingExtraError(
            "engine='numba' needs Numba, which is not installed. "
            "Install it with: pip install 'chainrule[fast]'"
        )
    digest = _digest(text)
    with _lock:
        module = _loaded.get(digest)
        if module is not None:
            _loaded.move_to_end(digest)
            return module
        module = _import(digest, _stored(digest, text))
        _loaded[digest] = module
        if len(_loaded) > _KEPT_MODULES:
            forgotten, _ = _loaded.popitem(last=False)
            sys.modules.pop(_module_name(forgotten), None)
        return module


def _stored(digest: str, text: str) -> Path:
    """The file of a program, written if it is not there in exactly this text."""
    directory = cache_directory()
    path = directory / f"program_{digest}.py"
    try:
        if path.read_text() == text:
            path.touch()  # so that the oldest can be told
            return path
    except OSError:
        pass
    _tidy(directory)
    handle, temporary = tempfile.mkstemp(dir=directory, suffix=".tmp")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def _tidy(directory: Path) -> None:
    """Forget the programs that were not used for longest."""
    programs = sorted(directory.glob("program_*.py"), key=lambda p: p.stat().st_mtime)
    for path in programs[: max(0, len(programs) - _KEPT_FILES)]:
        for stored in (path, *(directory / "__pycache__").glob(f"{path.stem}.*")):
            stored.unlink(missing_ok=True)


def _import(digest: str, path: Path) -> ModuleType:
    name = _module_name(digest)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Numba looks it up when it reads machine code back
    spec.loader.exec_module(module)
    return module


def _module_name(digest: str) -> str:
    return f"chainrule_program_{digest}"
