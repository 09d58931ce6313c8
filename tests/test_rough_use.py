"""What a careless or a hostile user does: odd paths, labels, sizes, interruptions."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import chainrule
from chainrule import Network, Value, check_gradients, log, origin_of_nonfinite, parse, read_csv
from chainrule.cli import main
from chainrule.cli.output import columns, console, show
from chainrule.errors import (
    DataError,
    GraphError,
    OptionError,
    ParseError,
    ShapeError,
    TraceError,
)
from chainrule.nn import INITIALIZERS, training


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


def test_strict_does_not_go_together_with_a_compiled_engine() -> None:
    net = chainrule.Network([2, 2, 1], seed=1)
    X, y = chainrule.xor()
    with chainrule.strict():
        assert "strict()" in net.fit(X, y, epochs=1).engine_reason
        with pytest.raises(chainrule.OptionError, match="engine='eager'"):
            net.fit(X, y, epochs=1, engine="numpy")


# --- terminals ---------------------------------------------------------------------------------


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[str, str]:
    """A saved model whose every name would clear the screen, and rows for it."""
    model, rows = tmp_path / "model.json", tmp_path / "rows.csv"
    meta = {
        "features": ["f\x1b[2J"],
        "target": "t\x9b2J",
        "classes": ["x\x1b[2J", "y\n\x07"],
        "loss": "binary_cross_entropy",
    }
    net = Network([1, 1], output_activation="sigmoid", seed=0)
    model.write_text(json.dumps(json.loads(_saved(net, tmp_path)) | {"meta": meta}))
    rows.write_text("0.0\n1.0\n-1.0\n")
    return str(model), str(rows)


def _saved(net: Network, folder: Path) -> str:
    net.save(folder / "sound.json")
    return (folder / "sound.json").read_text()


@pytest.mark.parametrize("arguments", [["predict"], ["predict", "--quiet"], ["diagnose"]])
def test_names_in_a_model_file_reach_no_terminal_raw(
    arguments: list[str], hostile: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    main([arguments[0], *hostile, *arguments[1:]])
    out, err = capfd.readouterr()
    assert not set("\x1b\x9b\x07") & set(out + err)
    assert "\\x1b[2J" in out + err or "\\x9b2J" in out + err


def test_a_table_and_a_line_escape_what_they_show(capfd: pytest.CaptureFixture[str]) -> None:
    show(console(), "a\x1b[2J", columns(["h\x1b[2J"], [["c\x1b[2J\n"]]))
    out = capfd.readouterr().out
    assert out.split() == [r"a\x1b[2J", r"h\x1b[2J", r"c\x1b[2J\n"]


def test_explain_refuses_a_number_beyond_every_float(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "x * 2", "x=1e999"]) == 1
    assert "x=1e999: the number is larger than any float" in capfd.readouterr().err
    assert main(["explain", "x * 2", "x=inf"]) == 0


# --- inside a compiled function ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: x.detach() * x, r"detach\(\) was called on .* stop_gradient"),
        (lambda x: x.backward(), r"backward\(\) was called .* come out of the compiled function"),
        (lambda x: x * round(x), "rounded"),
        (lambda x: x * round(x, 2), "rounded"),
        (lambda x: x * float(f"{x:.2f}"), "formatted"),
        (lambda x: x[0] * x[1], "not subscriptable, at .* single number .* call .* with one"),
        (lambda x: x * len(x), r"has no len\(\), at .* single number"),
        (lambda x: x % 2, "unsupported operand .* at"),
        (lambda x: x * x.label, "no attribute 'label', at"),
        (chainrule.grad(lambda z: z * z), r"reverse-mode .* forward mode \(jvp\) can"),
        (lambda x: x * chainrule.grad(lambda z: z * z)(2.0), "reverse-mode"),
        (lambda x: chainrule.vjp(lambda z: z * z, x)[0], "reverse-mode"),
        (lambda x: chainrule.gradients(x * x, [x])[0], "reverse-mode"),
    ],
)
def test_what_has_no_place_in_a_compiled_function_is_named(
    f: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(TraceError, match=message) as raised:
        chainrule.compile(f)(3.0)
    assert Path(__file__).name in str(raised.value)


def test_forward_mode_and_messages_do_have_one() -> None:
    assert chainrule.compile(lambda x: chainrule.jvp(lambda z: z * z, [x], [1.0])[1])(3.0) == 6.0
    assert chainrule.compile(lambda x: x * len(f"{x}") ** 0)(3.0) == 3.0


def test_arrays_of_tracers_are_arrays_of_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    compiled = chainrule.compile(lambda x: numpy.dot(numpy.ones(2), numpy.array([x, x])))
    assert compiled(3.0) == 6.0


@pytest.mark.parametrize("given", [3, Value(1.0), Network([1, 1])])
def test_parameters_that_are_no_list_are_refused(given: Any) -> None:
    with pytest.raises(OptionError, match="parameters must be a list of Values"):
        chainrule.compile(lambda x: x, parameters=given)


def test_a_compiled_function_says_which_argument_is_missing() -> None:
    w = Value(1.0)
    step = chainrule.compile(lambda x, y: (w * x - y) ** 2, parameters=[w])
    with pytest.raises(ShapeError, match=r"\(x, y\) cannot be called with 1 argument.*'y'"):
        step([1.0])


# --- functions that are none, or take something else ---------------------------------------------


def _one(x: Any) -> Any:
    return x * 2.0


def _fit(**settings: Any) -> None:
    Network([2, 1], seed=0).fit(*chainrule.xor(), epochs=1, **settings)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: chainrule.grad(3), "grad needs a function"),  # type: ignore[arg-type]
        (lambda: chainrule.hessian(3), "hessian needs a function"),  # type: ignore[arg-type]
        (lambda: chainrule.jvp(3, [1.0], [1.0]), "jvp needs"),  # type: ignore[arg-type]
        (lambda: check_gradients(3, 2), "check_gradients needs"),  # type: ignore[arg-type]
        (lambda: check_gradients(_one, 2.0, 3.0), r"_one\(x.*\) cannot .* 2 arguments"),
        (lambda: check_gradients(_one, 2.0, gradient=3), "gradient must"),  # type: ignore[arg-type]
        (lambda: chainrule.formula(3, "x"), "formula needs"),  # type: ignore[arg-type]
        (lambda: chainrule.formula(_one, "x", "y"), r"formula needs .* _one\(x.*\) cannot"),
        (lambda: chainrule.formula(_one), r"formula needs .* 0 arguments: missing"),
        (lambda: _fit(loss=_one), r"loss needs a function \(output, target\).* _one\(x.*\)"),
        (lambda: _fit(callbacks=[_one]), r"callbacks\[0\] must .* 3 arguments"),
        (lambda: _fit(schedule=_one), r"schedule must .* 2 arguments"),
    ],
)
def test_a_function_that_does_not_fit_is_refused(act: Callable[[], Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        act()


def test_topological_order_takes_values() -> None:
    for wrong in (3, [Value(1.0)]):
        with pytest.raises(GraphError, match=r"topological_order takes the Values .* got"):
            chainrule.topological_order(wrong)  # type: ignore[arg-type]


# --- files, names and signs ----------------------------------------------------------------------


def test_a_folder_that_is_missing_is_named_with_the_file(tmp_path: Path) -> None:
    pytest.importorskip("grandalf")
    y = Value(2.0) * 3.0
    for name, write in (
        ("x.json", Network([1, 1]).save),
        ("a.svg", lambda path: chainrule.draw(y, path)),
        ("a.html", lambda path: chainrule.step_through(y, path)),
    ):
        path = tmp_path / "nope" / name
        with pytest.raises(
            FileNotFoundError, match=r"there is no folder .*nope.*; make it"
        ) as raised:
            write(path)
        assert raised.value.filename == str(path)


def test_an_error_of_the_disk_names_the_file_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise PermissionError(13, "Permission denied", _[0])

    monkeypatch.setattr("chainrule.nn.storage.os.replace", full)
    path = tmp_path / "x.json"
    with pytest.raises(PermissionError) as raised:
        Network([1, 1]).save(path)
    assert raised.value.filename == str(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("short", ["xavier", "glorot", "he", "kaiming"])
def test_a_scheme_without_a_distribution_is_the_uniform_one(short: str) -> None:
    assert INITIALIZERS[short] is INITIALIZERS[f"{short}_uniform"]


@pytest.mark.parametrize(("typed", "meant"), [("tahn", "tanh"), ("cso", "cos"), ("epx", "exp")])
def test_letters_that_changed_places_are_recognised(typed: str, meant: str) -> None:
    with pytest.raises(ParseError, match=rf"did you mean {meant}\?"):
        parse(f"{typed}(x)")


@pytest.mark.parametrize(("p", "target"), [(1.0, 1.0), (0.0, 0.0)])
def test_no_loss_is_zero_and_not_minus_zero(p: float, target: float) -> None:
    for prediction in (p, Value(p)):
        loss = float(chainrule.binary_cross_entropy(prediction, target))
        assert math.copysign(1.0, loss) == 1.0
        assert loss == 0.0
