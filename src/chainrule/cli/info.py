"""``chainrule info``: what is installed, and how to get the rest."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import Final

import click

from chainrule import __version__

__all__ = ["PARTS", "command"]

PARTS: Final = [
    # distribution, extra, what it brings
    ("numba", "fast", "training in machine code"),
    ("matplotlib", "plot", "plots"),
    ("grandalf", "draw", "the layout of graphs"),
    ("resvg_py", "draw", "graphs as PNG"),
    ("latex2mathml", "draw", "formulas on pages"),
    ("anywidget", "notebook", "steps in notebooks"),
    ("scipy", "scipy", "SciPy's optimisers"),
    ("scikit-learn", "sklearn", "scikit-learn estimators"),
    ("onnx", "onnx", "ONNX files"),
    ("onnxruntime", "onnx", "running ONNX files"),
    ("torch", "torch", "exchange with PyTorch"),
]


@click.command()
def command() -> None:
    """Show versions, and which optional parts are installed."""
    from chainrule import engine
    from chainrule.cli.output import columns, console, show

    needed = [(name, _version(name)) for name in ("numpy", "click", "rich")]
    out = console()
    show(
        out,
        f"chainrule {__version__}",
        f"Python {platform.python_version()} ({platform.python_implementation()}, "
        f"{platform.system()} {platform.machine()})",
        ", ".join([f"{name} {version or 'is missing'}" for name, version in needed]),
        f"engine: {engine.in_use()}",
        "",
    )
    rows = [(name, _version(name), f"chainrule[{extra}]", use) for name, extra, use in PARTS]
    heads = ["optional part", "installed", "comes with", "brings"]
    cells = [
        (name, version.partition("+")[0] or "no", extra, use) for name, version, extra, use in rows
    ]
    show(out, columns(heads, cells, left=heads))
    missing = [extra for _, version, extra, _ in rows if not version]
    if missing:
        python = "python" if sys.platform == "win32" else "python3"
        show(out, "", f'To add one: {python} -m pip install "{missing[0]}"')


def _version(distribution: str) -> str:
    """The version that is installed; "" if none is."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
