"""What a careless or a hostile user does: odd paths, labels, sizes, interruptions."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import chainrule
from chainrule import Network, Value, check_gradients, log, origin_of_nonfinite, parse, read_csv
from chainrule.errors import DataError, OptionError, ParseError
from chainrule.nn import training


@pytest.mark.parametrize("path", [None, 0, 3, 1.5, ["a"], "a\0b"])
def test_what_is_no_file_name_is_refused(path: Any) -> None:
    with pytest.raises(OptionError, match="path"):
        Network.load(path)
    with pytest.raises(OptionError, match="path"):
        Network([1, 1]).save(path)


@pytest.mark.parametrize("sizes", [[10**9, 10**9], [2, 99_999_999_999, 1]])
def test_a_network_that_cannot_fit_into_memory_is_refused(sizes: list[int]) -> None:
    with pytest.raises(OptionError, match="parameters"):
        Network(sizes)


def test_a_hostile_label_stays_on_its_line_in_the_origin_of_a_nan() -> None:
    origin = str(origin_of_nonfinite(log(Value(0.0, label="x\n\x1b[2J")) * 2.0))
    assert "\x1b" not in origin
    assert r"log(x\n\x1b[2J) is -inf" in origin


@pytest.mark.parametrize("cell", ["x\x1b[2J", "x\x9b2J", "x\x07", "\x7f"])
def test_control_characters_in_a_csv_are_refused(tmp_path: Path, cell: str) -> None:
    file = tmp_path / "data.csv"
    file.write_text(f"a,b\n1,{cell}\n2,y\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: the control character"):
        read_csv(file)


def test_an_endless_cell_is_called_one(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a,b\n" + "1" * 200_000 + ",2\n")
    with pytest.raises(DataError, match="line 2: a cell of more than"):
        read_csv(file)


def test_a_number_of_thousands_of_digits_is_shown_short() -> None:
    with pytest.raises(ParseError, match=r"^9{20}\.\.\. is larger"):
        parse("9" * 10_000)


@pytest.mark.parametrize("x", [1e-200, -1e-250, 5e-324])
def test_gradients_are_checked_at_the_smallest_numbers(x: float) -> None:
    assert check_gradients(lambda x: x * x, x).ok
    assert check_gradients(lambda x: 3.0 * x, x).ok


def test_ctrl_c_while_an_engine_is_prepared_returns_a_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "chosen_engine", interrupted)
    net = Network([1, 1], seed=0)
    before = [p.data for p in net.parameters()]
    history = net.fit([[1.0]], [0.0], epochs=3)
    assert "Ctrl-C after 0 epochs" in history.stopped
    assert len(history) == 0
    assert "Ctrl-C" in str(history)
    assert [p.data for p in net.parameters()] == before


def test_compiling_for_huge_numbers_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = chainrule.compile(lambda x: x * 1.0)
        assert compiled.value_and_grad(1e308) == (1e308, 1.0)


def test_strict_does_not_go_together_with_a_compiled_engine():
    net = chainrule.Network([2, 2, 1], seed=1)
    X, y = chainrule.xor()
    with chainrule.strict():
        assert "strict()" in net.fit(X, y, epochs=1).engine_reason
        with pytest.raises(chainrule.OptionError, match="engine='eager'"):
            net.fit(X, y, epochs=1, engine="numpy")
