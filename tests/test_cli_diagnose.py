"""``chainrule diagnose``, ``chainrule vanish``, and ``chainrule train --plot``."""

import sys
from pathlib import Path

import pytest

from chainrule import Network, diagnose, xor
from chainrule.cli import COMMANDS, main
from chainrule.diagnosis import gradient_decay

PETS = """weight,length,kind
4.1,46,cat
30,90,dog
3.9,44,cat
28,80,dog
0.1,9,mouse
0.2,10,mouse
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pets.csv").write_text(PETS, "utf-8")


@pytest.fixture
def run(capsys):
    """Run a command; give its status and what it printed."""

    def go(words):
        capsys.readouterr()
        status = main(words.split())
        out, err = capsys.readouterr()
        return status, out, err

    return go


# --- diagnose -----------------------------------------------------------------------------------


def test_they_are_commands(run):
    for name in ("diagnose", "vanish"):
        assert name in COMMANDS
        status, out, _ = run(f"{name} --help")
        assert status == 0
        assert f"chainrule {name}" in out
        assert "--plot FILE" in out


def test_a_sick_model_on_a_named_data_set(run):
    run("train xor --activation sigmoid --hidden 8,8,8,8,8,8,8 --epochs 0 --save deep.json")
    status, out, err = run("diagnose deep.json xor")
    assert (status, err) == (0, "")
    expected = diagnose(Network.load("deep.json"), *xor(), loss="binary_cross_entropy")
    assert out == f"{expected}\n"
    assert out.startswith("1 finding: vanishing\n")


def test_a_trained_model_on_its_file_is_healthy(run):
    run("train pets.csv --save pets.json")
    status, out, _ = run("diagnose pets.json pets.csv")
    assert status == 0
    assert out.startswith("healthy: it has learned")
    assert "on 6 rows" in out


def test_raw_columns_are_found_by_name(run):
    Network([2, 8, 3], "tanh", "linear", seed=1).save(
        "raw.json",
        {
            "features": ["weight", "length"],
            "target": "kind",
            "target_position": -1,
            "classes": ["cat", "dog", "mouse"],
            "loss": "cross_entropy",
        },
    )
    _, out, _ = run("diagnose raw.json pets.csv")
    assert out.startswith("1 finding: unscaled inputs\n")
    assert "length has values of size" in out


def test_numbers_as_targets_and_a_loss_by_option(run):
    Path("line.csv").write_text("x,y\n" + "".join([f"{x / 9},{x / 3}\n" for x in range(10)]))
    Network([1, 6, 1], "tanh", "linear", "xavier_uniform", seed=1).save(
        "line.json", {"features": ["x"], "target": "y"}
    )
    status, out, err = run("diagnose line.json line.csv")
    assert (status, out) == (1, "")
    assert "does not say with which loss it was trained. Add --loss mse" in err
    assert run("diagnose line.json line.csv --loss mse")[1].startswith("healthy: nothing found")
    _, out, _ = run("diagnose line.json line.csv --loss mse --lr 50")
    assert out.startswith("1 finding: learning rate too high\n")
    _, out, _ = run("diagnose line.json line.csv --loss mse --lr 1e-9 --optimizer adam")
    assert out.startswith("1 finding: learning rate too low\n")
    assert "Adam(lr=1e-09" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nothing.json xor", "nothing.json: No such file"),
        ("pets.json nothing.csv", "There is no file 'nothing.csv'"),
        ("pets.json unlabelled.csv", "no column 'kind', and without the right answers"),
        ("pets.json odd.csv", "line 3, column 'kind': expected one of cat, dog, mouse; found ''"),
        ("pets.json circle", "has 2 input(s) and 3 output(s); this data needs 2 and 2"),
        ("pets.json pets.csv --plot a.gif", "must end in one of .png, .svg, .pdf"),
        ("pets.json pets.csv --plot no/a.png", "there is no folder"),
        ("pets.json pets.csv --lr -1", "lr must be a finite number of at least 0"),
        ("pets.json spiral --delimiter ;", "--delimiter is for CSV files"),
    ],
)
def test_mistakes_are_explained_in_a_line(words, said, run):
    run("train pets.csv --save pets.json -q --epochs 1")
    Path("unlabelled.csv").write_text("weight,length\n1,2\n", "utf-8")
    Path("odd.csv").write_text("weight,length,kind\n1,2,cat\n3,4,\n", "utf-8")
    status, out, err = run(f"diagnose {words}")
    assert (status, out) == (1, "")
    assert err.startswith("Error: ")
    assert said in err


# --- vanish -------------------------------------------------------------------------------------


def test_vanish_prints_the_bound_beside_what_was_measured(run):
    status, out, err = run("vanish --depth 10 --activations sigmoid,tanh,relu")
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["layers", "passed", "0.25^n", "sigmoid", "tanh", "relu"] in lines
    last = next(line for line in lines if line and line[0] == "10" and len(line) == 5)
    assert last[1] == "9.5e-07"
    for shown, name in zip(last[2:], ("sigmoid", "tanh", "relu"), strict=True):
        assert shown == f"{gradient_decay(10, name)[10]:.1e}"
    assert float(last[2]) < float(last[1]) < float(last[4]) < float(last[3])
    table = lines.index(["activation", "lesson", "xavier_normal", "he_normal"])
    relu = [float(cell) for cell in lines[table + 3][1:]]
    assert relu == sorted(relu)
    assert relu[2] == float(f"{gradient_decay(10, 'relu', 'he_normal')[10]:.1e}")
    assert max(map(len, out.splitlines())) <= 80


def test_vanish_takes_other_settings(run):
    _, out, _ = run("vanish --depth 3 --activations gelu,gelu --init zeros --width 4 --seed 5")
    assert out.startswith("3 hidden layers of 4 neurons, weights from zeros, seed 5.")
    heads = [line.split() for line in out.splitlines()]
    assert ["layers", "passed", "0.25^n", "gelu"] in heads
    assert ["activation", "zeros", "lesson", "xavier_normal", "he_normal"] in heads


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--activations sigmod", "--activations takes names such as sigmoid,tanh,relu"),
        ("--activations ,", "--activations takes names"),
        ("--init her", "unknown initializer 'her'"),
        ("--depth 0", "depth must be a whole number of at least 1"),
        ("--width 0", "width must be a whole number of at least 1"),
        ("--plot a.txt", "must end in one of .png, .svg, .pdf"),
    ],
)
def test_vanish_explains_mistakes(words, said, run):
    status, out, err = run(f"vanish --depth 2 {words}")
    assert (status, out) == (1, "")
    assert said in err


# --- pictures -----------------------------------------------------------------------------------

SIGNATURES = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize(
    ("words", "suffix"),
    [
        ("train xor --epochs 5 -q", ".svg"),
        ("train pets.csv --epochs 5 -q", ".png"),
        ("vanish --depth 2", ".svg"),
        ("vanish --depth 2", ".pdf"),
        ("diagnose model.json xor", ".png"),
        ("diagnose odd.json xor", ".png"),
    ],
)
def test_pictures_are_written_and_the_same_each_time(words, suffix, run):
    pytest.importorskip("matplotlib")
    run("train xor --epochs 5 -q --save model.json")
    odd = Network([2, 4, 1], "tanh", "linear", seed=1)
    odd.layers[-1].neurons[0].bias.data = 9.0
    odd.save("odd.json", {"loss": "binary_cross_entropy", "classes": ["0", "1"]})
    pictures = []
    for name in ("a", "b"):
        status, _, err = run(f"{words} --plot {name}{suffix}")
        assert (status, err) == (0, "")
        pictures.append(Path(f"{name}{suffix}").read_bytes())
    assert pictures[0].startswith(SIGNATURES[suffix])
    assert pictures[0] == pictures[1]


def test_train_says_where_the_plot_is_and_refuses_before_training(run):
    pytest.importorskip("matplotlib")
    _, out, _ = run("train xor --epochs 2 --plot out.png")
    assert "Plotted in out.png." in out
    status, out, err = run("train xor --plot out.txt")
    assert (status, out) == (1, "")
    assert "--plot out.txt: the name must end in one of .png, .svg, .pdf" in err
    assert run("train xor --epochs 0 --plot none.png")[0] == 0
    assert not Path("none.png").exists()


def test_without_matplotlib_the_extra_is_named_before_training(run, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = run("train xor --plot out.png")
    assert (status, out) == (1, "")
    assert "pip install 'chainrule[plot]'" in err
