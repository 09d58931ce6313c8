"""What a training run recorded, epoch by epoch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from chainrule.errors import OptionError
from chainrule.options import several

__all__ = ["History", "milestones"]

_LINES = 12
"""How many epochs a printed history shows."""


@dataclass(repr=False)
class History:
    """What `fit` recorded; ``print(history)`` shows it as a table.

    The lists have one number per complete epoch; lists of what was not measured
    are empty.

    Attributes:
        loss: the mean loss of the epoch's rows, or their sum with
            ``reduction="sum"``; each row's loss is taken before the update that
            the row takes part in.
        accuracy: the share of rows whose class was right, taken like the loss;
            empty where outputs are no classes.
        validation_loss: the mean loss of the validation rows, after the epoch.
        validation_accuracy: the share of them whose class was right.
        lr: the learning rate.
        seconds: wall time of the epoch, validation and callbacks included.
        total_seconds: wall time of the whole run.
        reduction: ``"mean"`` or ``"sum"``.
        rows: how many rows were learned from.
        optimizer: the optimiser and its settings.
        engine: what carried the work out.
        engine_reason: why that engine, where ``fit`` chose it.
        stopped: why the training ended before its last epoch; "" if it did not.

    Example:
        >>> history = History(loss=[0.25, 0.125], lr=[0.1, 0.1], rows=4, total_seconds=0.5)
        >>> history
        <History: 2 epochs, loss 0.25 -> 0.125, 0.50 s>
        >>> print(history)
        epoch      loss
            0      0.25
            1     0.125
        2 epochs of 4 rows in 0.50 s
    """

    loss: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)
    validation_accuracy: list[float] = field(default_factory=list)
    lr: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    total_seconds: float = 0.0
    reduction: str = "mean"
    rows: int = 0
    optimizer: str = ""
    engine: str = ""
    engine_reason: str = ""
    stopped: str = ""

    def __len__(self) -> int:
        """How many epochs were completed."""
        return len(self.loss)

    def series(self) -> dict[str, list[float]]:
        """What was measured once per epoch, by name; only what there is."""
        names = ("loss", "accuracy", "validation_loss", "validation_accuracy", "lr", "seconds")
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    def measured(self, name: str) -> list[float]:
        """One of the measured lists, by name.

        Args:
            name: such as ``"loss"`` or ``"validation_accuracy"``.

        Returns:
            One number per epoch.

        Raises:
            OptionError: there is no such measurement in this run.
        """
        series = self.series()
        if name in series:
            return series[name]
        raise OptionError(
            f"this training does not measure {name!r}; it measures "
            f"{', '.join(series) or 'nothing yet'}. validation_... needs fit(validation=(X, y)), "
            "and accuracy needs a loss on classes."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and strings, ready for ``json.dumps``."""
        return asdict(self)

    def __repr__(self) -> str:
        parts = [several(len(self), "epoch")]
        if self.loss:
            parts.append(f"loss {self.loss[0]:.6g} -> {self.loss[-1]:.6g}")
        if self.accuracy:
            parts.append(f"accuracy {self.accuracy[-1]:.1%}")
        parts.append(f"{self.total_seconds:.2f} s")
        if self.stopped:
            parts.append("stopped early")
        return f"<History: {', '.join(parts)}>"

    def __str__(self) -> str:
        columns = {name: kept for name, kept in self.series().items() if name != "seconds"}
        if len(set(self.lr)) == 1:
            del columns["lr"]
        heads = ["epoch", *[name.replace("validation_", "val. ") for name in columns]]
        lines = [heads]
        for epoch in milestones(len(self)):
            cells = [str(epoch)]
            for name, kept in columns.items():
                percent = name.endswith("accuracy")
                cells.append(f"{kept[epoch]:.1%}" if percent else f"{kept[epoch]:.6g}")
            lines.append(cells)
        widths = [
            max([8 if i else 5, *[len(line[i]) for line in lines]]) for i in range(len(heads))
        ]
        text = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        ]
        rows = several(self.rows, "row")
        text.append(f"{several(len(self), 'epoch')} of {rows} in {self.total_seconds:.2f} s")
        if self.stopped:
            text.append(f"stopped: {self.stopped}")
        return "\n".join(text)


def milestones(epochs: int) -> list[int]:
    """Which epochs a table of few lines shows: evenly spread round numbers, and the last.

    Example:
        >>> milestones(3), milestones(100)
        ([0, 1, 2], [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 99])
    """
    step = 1
    while epochs / step > _LINES:
        step = {1: 2, 2: 5, 5: 10}[int(str(step)[0])] * 10 ** (len(str(step)) - 1)
    kept = list(range(0, epochs, step))
    if epochs and kept[-1] != epochs - 1:
        kept.append(epochs - 1)
    return kept
