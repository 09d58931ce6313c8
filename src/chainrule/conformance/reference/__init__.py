"""Right engines in three styles, in which `chainrule.conformance.planting` plants mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["PATHS"]

PATHS: Final = {
    style: Path(__file__).with_name(f"{style}.py") for style in ("closures", "tuples", "classes")
}
"""The source of each engine."""
