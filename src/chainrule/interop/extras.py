"""Importing a library that an extra brings."""

from __future__ import annotations

import importlib
from typing import Any

from chainrule.errors import MissingExtraError

__all__ = ["needed"]


def needed(module: str, what_for: str, extra: str) -> Any:
    """A module of an optional library.

    Args:
        module: such as ``"torch"``.
        what_for: what cannot be done without it, to begin a sentence with.
        extra: the extra of chainrule that brings it.

    Raises:
        MissingExtraError: it is not installed.

    Example:
        >>> needed("math", "counting", "none").floor(2.5)
        2
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"{what_for} needs {library}, which is not installed. "
            f"Install it with: pip install 'chainrule[{extra}]'"
        ) from None
