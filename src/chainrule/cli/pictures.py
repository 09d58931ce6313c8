"""Options such as ``--plot out.png``: checked before the work, written after it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from chainrule.errors import OptionError
from chainrule.views.axes import matplotlib, new_figure

__all__ = ["check_picture", "check_writable", "new_figure", "save_picture"]

SUFFIXES: Final = (".png", ".svg", ".pdf")


def check_writable(option: str, path: str) -> None:
    """Find out before the work, not after it, whether a file can be written.

    Args:
        option: as it was given, such as ``"--save"``.
        path: the file.

    Raises:
        OptionError: it cannot.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise OptionError(f"{option} {path}: there is no folder {folder!r}. Make it first.")
    if os.path.isdir(path):
        raise OptionError(f"{option} {path} is a folder. Give the name of a file in it.")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise OptionError(f"{option} {path}: there is no permission to write there.")


def check_picture(path: str) -> None:
    """Find out before the work whether ``--plot`` can be done.

    Raises:
        MissingExtraError: matplotlib is not installed.
        OptionError: the file's kind is unknown, or it cannot be written.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise OptionError(
            f"--plot {path}: the name must end in one of {', '.join(SUFFIXES)}, which says "
            "what kind of picture it is."
        )
    check_writable("--plot", path)
    matplotlib("matplotlib")


def save_picture(figure: Any, path: str) -> None:
    """Write a figure, the same bytes for the same picture.

    Raises:
        OSError: the file cannot be written.
    """
    # An SVG has random names and the date in it unless it is told otherwise.
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with matplotlib("matplotlib").rc_context({"svg.hashsalt": "chainrule"}):
        figure.savefig(path, dpi=150, metadata=dated.get(Path(path).suffix.lower()))
