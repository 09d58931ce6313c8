"""Drawing what a network with two inputs decides, with characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

__all__ = ["MOST_CLASSES", "decision_regions"]

WIDTH: Final = 44
HEIGHT: Final = 22
"""In cells, which are about twice as high as wide: a square."""

MARGIN: Final = 0.12
"""Of the data's range, on each side."""

# Region and point of each class: with shapes; in ASCII; and for more classes, letters.
_SHAPES: Final = [(" ", "○"), ("░", "●"), ("▒", "▲")]
_ASCII: Final = [(" ", "o"), (".", "#"), (":", "A")]
_LETTERS: Final = [(chr(97 + i), chr(65 + i)) for i in range(26)]
_WRONG: Final = {True: "\N{MULTIPLICATION SIGN}", False: "x"}

# Background, shading and point of each class; blue and orange differ for everybody.
_COLOURS: Final = [
    ("#d6e6f4", "#9dbedb", "#0b3c66"),
    ("#fde3c4", "#e5b277", "#8a3d00"),
    ("#dcefd8", "#9cc795", "#1d5a1a"),
    ("#eadcf2", "#bd9bd0", "#552070"),
    ("#f7d9de", "#d99aa6", "#7c1a2c"),
]
_WRONG_COLOUR: Final = "#d00000"

MOST_CLASSES: Final = len(_LETTERS)


def decision_regions(
    decide: Callable[[list[list[float]]], list[int]],
    X: Sequence[Sequence[float]],
    y: Sequence[float],
    names: Sequence[str],
    classes: Sequence[str],
    shapes: bool = True,
) -> list[Any]:
    """A plane coloured by what is decided at each place, with the data drawn on it.

    Args:
        decide: from rows of two numbers to the index of each one's class.
        X: rows of two numbers.
        y: the index of each row's right class.
        names: of the two columns.
        classes: the labels, at most `MOST_CLASSES`.
        shapes: whether block elements and geometric shapes can be printed; else ASCII.

    Returns:
        Lines of rich text, which are as readable without colour.
    """
    from rich.text import Text

    signs = (_SHAPES if shapes else _ASCII) if len(classes) <= len(_SHAPES) else _LETTERS
    wrong = _WRONG[shapes]
    left, right = _range([row[0] for row in X])
    bottom, top = _range([row[1] for row in X])
    dx, dy = (right - left) / WIDTH, (top - bottom) / HEIGHT
    centres = [
        [left + (i + 0.5) * dx, top - (j + 0.5) * dy] for j in range(HEIGHT) for i in range(WIDTH)
    ]
    regions = decide(centres)
    points: dict[tuple[int, int], tuple[str, int]] = {}
    missed = 0
    for row, label, found in zip(X, y, decide([list(row) for row in X]), strict=True):
        place = (int((top - row[1]) / dy), int((row[0] - left) / dx))
        if found != label:
            missed += 1
            points[place] = (wrong, -1)
        elif points.get(place, ("", 0))[0] != wrong:
            points[place] = (signs[int(label)][1], int(label))
    h, v, corners = ("─", "│", "┌┐└┘") if shapes else ("-", "|", "++++")
    edges = [f"{top:.3g}", f"{bottom:.3g}"]
    indent = max(len(names[1]), *map(len, edges)) + 1
    lines = [Text(f"{edges[0]:>{indent - 1}} {corners[0]}{h * WIDTH}{corners[1]}")]
    for j in range(HEIGHT):
        name = names[1] if j == HEIGHT // 2 else ""
        line = Text(f"{name:>{indent - 1}} {v}")
        for i in range(WIDTH):
            region = regions[j * WIDTH + i]
            paper, shade, _ = _COLOURS[region % len(_COLOURS)]
            if (j, i) in points:
                sign, label = points[j, i]
                ink = _WRONG_COLOUR if label < 0 else _COLOURS[label % len(_COLOURS)][2]
                line.append(sign, f"bold {ink} on {paper}")
            else:
                line.append(signs[region][0], f"{shade} on {paper}")
        lines.append(line.append(v))
    lines.append(Text(f"{edges[1]:>{indent - 1}} {corners[2]}{h * WIDTH}{corners[3]}"))
    low, high = f"{left:.3g}", f"{right:.3g}"
    room = WIDTH - len(low) - len(high)
    lines.append(Text(" " * (indent + 1) + f"{low}{names[0]:^{room}}{high}"))
    lines += _legend(signs, classes, wrong if missed else "", " " * (indent + 1))
    return lines


def _range(xs: Sequence[float]) -> tuple[float, float]:
    """From the smallest to the largest, with a margin."""
    low, high = min(xs), max(xs)
    margin = MARGIN * (high - low) or 1.0
    return low - margin, high + margin


def _legend(
    signs: Sequence[tuple[str, str]], classes: Sequence[str], wrong: str, indent: str
) -> list[Any]:
    from rich.text import Text

    lines = []
    for i, label in enumerate(classes):
        paper, _, ink = _COLOURS[i % len(_COLOURS)]
        region, point = signs[i]
        line = Text(indent).append(point, f"bold {ink} on {paper}")
        line.append(f" {label}, predicted where ")
        line.append("blank" if region == " " else region, f"{ink} on {paper}")
        lines.append(line)
    if wrong:
        lines.append(Text(indent).append(wrong, f"bold {_WRONG_COLOUR}").append(" predicted wrong"))
    return lines
