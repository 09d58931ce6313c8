"""The command line: what it prints, what it saves, and how it refuses."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import chainrule
from chainrule.cli import COMMANDS, main
from chainrule.cli.info import PARTS
from chainrule.cli.problem import Problem
from chainrule.cli.regions import decision_regions
from chainrule.errors import ModelFileError
from chainrule.nn import Network
from chainrule.nn.history import milestones

SOURCE = str(Path(chainrule.__file__).parents[1])

PETS = """weight,length,age,kind
4.1,46,3,cat
30,90,5,dog
3.9,44,9,cat
28,80,2,dog
0.1,9,1,mouse
0.2,10,2,mouse
4.5,48,1,cat
25,85,8,dog
0.15,8,1,mouse
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pets.csv").write_text(PETS, "utf-8")


@pytest.fixture
def run(capsys):
    """Run a command; give its status and what it printed."""

    def go(words):
        status = main(words.split())
        out, err = capsys.readouterr()
        return status, out, err

    return go


def in_a_process(*words, **settings):
    environment = {**os.environ, "PYTHONPATH": SOURCE, **settings.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-m", "chainrule", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        encoding="utf-8",
        **settings,
    )


def losses_in(out):
    """The loss column of the table."""
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("epoch"))
    end = lines.index("", start)
    return [float(line.split()[1]) for line in lines[start + 1 : end]]


# --- training on what has a name ------------------------------------------------------------


@pytest.mark.parametrize("name", ["xor", "circle", "moons", "spiral"])
@pytest.mark.parametrize("seed", [0, 6])
def test_the_defaults_solve_it_with_falling_loss(run, name, seed):
    status, out, err = run(f"train {name} --seed {seed}")
    assert (status, err) == (0, "")
    assert "accuracy 100 % (" in out
    losses = losses_in(out)
    assert 10 <= len(losses) <= 13
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.02
    assert "Decision regions:" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.slow
@pytest.mark.parametrize("name", ["xor", "circle", "moons", "spiral"])
def test_every_seed_solves_it(run, name):
    for seed in range(20):
        _, out, _ = run(f"train {name} --seed {seed} -q")
        assert "accuracy 100 % (" in out, f"seed {seed}"


def test_xor_is_shown_as_plain_text(run):
    status, out, _ = run("train xor")
    assert status == 0
    lines = out.splitlines()
    assert lines[:6] == [
        "data:     xor, 4 rows",
        "inputs:   x1 and x2",
        "target:   y, 2 classes: 0 and 1",
        "network:  2 -> 8 tanh -> 1 sigmoid; 33 parameters, seed 0",
        "training: 100 epochs of adam, learning rate 0.1, all rows per update",
        "loss:     binary_cross_entropy",
    ]
    table = lines.index("Predictions:")
    assert lines[table + 1] == "row  x1  x2  y  predicted  probability"
    answers = [line.split()[:5] for line in lines[table + 2 : table + 6]]
    assert answers == [
        ["1", "0", "0", "0", "0"],
        ["2", "0", "1", "1", "1"],
        ["3", "1", "0", "1", "1"],
        ["4", "1", "1", "0", "0"],
    ]
    assert "\x1b" not in out
    assert not [line for line in lines if line != line.rstrip()]


def test_the_same_command_prints_the_same(run):
    assert run("train circle --epochs 20") == run("train circle --epochs 20")
    assert run("train circle --epochs 20")[1] != run("train circle --epochs 20 --seed 1")[1]


def test_settings_arrive(run):
    _, out, _ = run(
        "train moons --n 40 --hidden 5,3 --activation relu --optimizer sgd --lr 0.2 --epochs 7 "
        "--batch-size 8 --reduction sum --loss hinge --seed 3 --init he_normal --engine eager"
    )
    assert "moons, 40 rows" in out
    assert "2 -> 5 relu -> 3 relu -> 1 linear; 37 parameters, seed 3" in out
    assert "7 epochs of sgd, learning rate 0.2, 8 rows per update, shuffled" in out
    assert "loss:     hinge, summed over rows" in out
    assert "probability" not in out
    assert len(losses_in(out)) == 7


def test_no_hidden_layer_cannot_learn_xor(run):
    _, out, _ = run("train xor --hidden none")
    assert "2 -> 1 sigmoid; 3 parameters" in out
    assert "accuracy 100 %" not in out
    assert "wrong" in out


@pytest.mark.parametrize(
    "loss", ["mse", "hinge", "cross_entropy", "binary_cross_entropy_with_logits"]
)
def test_other_losses_solve_xor_too(run, loss):
    _, out, _ = run(f"train xor --loss {loss} --seed 1 -q")
    assert "accuracy 100 % (4 of 4)" in out


def test_three_arms(run):
    _, out, _ = run("train spiral --classes 3 --n 90")
    assert "3 classes: 0, 1 and 2" in out
    assert "loss:     cross_entropy" in out
    assert "accuracy 100 % (90 of 90)" in out
    assert "▲ 2, predicted where ▒" in out


def test_mse_marks_the_right_one_of_three_classes(run):
    _, out, _ = run("train spiral --classes 3 --loss mse -q")
    assert "accuracy 100 % (100 of 100)" in out


def test_quiet_prints_the_result_alone(run):
    status, out, err = run("train xor -q --save m.json")
    assert (status, err, out.count("\n")) == (0, "", 1)
    assert out.startswith("After 100 epochs: loss 0.000")


def test_no_epochs(run):
    status, out, _ = run("train xor --epochs 0")
    assert status == 0
    assert "After 0 epochs: loss 0.6" in out


# --- files ----------------------------------------------------------------------------------


def test_a_file_of_classes_there_and_back(run):
    status, out, _ = run("train pets.csv --save pets.json")
    assert status == 0
    assert "inputs:   weight, length and age" in out
    assert "target:   kind, 3 classes: cat, dog and mouse" in out
    assert "accuracy 100 % (9 of 9)" in out
    assert "Saved as pets.json. To use it: chainrule predict pets.json FILE.csv" in out
    meta = json.loads(Path("pets.json").read_text("utf-8"))["meta"]
    assert meta["features"] == ["weight", "length", "age"]
    assert meta["classes"] == ["cat", "dog", "mouse"]
    assert (meta["target"], meta["target_position"]) == ("kind", 3)
    assert meta["loss"] == "cross_entropy"

    status, out, _ = run("predict pets.json pets.csv")
    assert status == 0
    assert out.splitlines()[0].split() == [
        *["row", "weight", "length", "age", "kind", "predicted", "probability"]
    ]
    assert out.splitlines()[2].split()[:6] == ["2", "30", "90", "5", "dog", "dog"]
    assert out.endswith("\naccuracy 100 % (9 of 9)\n")


def test_the_saved_model_takes_the_file_as_it_is(run):
    run("train pets.csv --save pets.json")
    net = Network.load("pets.json")
    outputs = net.predict([4.0, 45.0, 4.0])
    assert outputs.index(max(outputs)) == 0


def test_predict_finds_columns_by_name(run):
    run("train pets.csv --save pets.json")
    Path("new.csv").write_text("id,age,length,weight\n7,3,45,4\n8,5,90,31\n", "utf-8")
    status, out, err = run("predict pets.json new.csv -q")
    assert (status, out, err) == (0, "cat\ndog\n", "")
    Path("plain.csv").write_text("4,45,3\n31,90,5\n", "utf-8")
    assert run("predict pets.json plain.csv -q")[1] == "cat\ndog\n"
    Path("answers.csv").write_text("4,45,3,cat\n31,90,5,mouse\n", "utf-8")
    status, out, _ = run("predict pets.json answers.csv")
    assert "accuracy 50 % (1 of 2)" in out
    assert out.splitlines()[2].endswith("  wrong")


def test_predict_leaves_rows_without_an_answer_out_of_the_accuracy(run):
    run("train pets.csv --save pets.json")
    Path("some.csv").write_text("weight,length,age,kind\n4,45,3,cat\n31,90,5,\n", "utf-8")
    assert run("predict pets.json some.csv")[1].endswith("accuracy 100 % (1 of 1)\n")


def write_houses():
    draw = random.Random(3)
    rows = ["area;rooms;price"]
    for _ in range(60):
        area, rooms = draw.uniform(40, 220), draw.randint(1, 7)
        rows.append(f"{area:.1f};{rooms};{3000 * area + 15000 * rooms:.0f}")
    Path("houses.csv").write_text("\n".join(rows) + "\n", "utf-8")


def test_a_number_to_predict(run):
    write_houses()
    _, out, _ = run("train houses.csv --save houses.json")
    assert "target:   price, a number" in out
    assert "loss:     mse" in out
    assert "accuracy" not in out
    last = next(line for line in out.splitlines() if line.startswith("After"))
    error, spread = (float(word.strip("()")) for word in (last.split()[7], last.split()[-1]))
    assert error < 0.05 * spread
    _, out, _ = run("predict houses.json houses.csv")
    assert out.splitlines()[0].split() == ["row", "area", "rooms", "price", "predicted"]
    assert out.splitlines()[-1] == last.partition(", ")[2]


@pytest.mark.parametrize("name", ["pets", "houses"])
def test_going_on_starts_where_it_stopped(run, name):
    write_houses()
    whole = f"train {name}.csv --optimizer sgd --lr 0.05 --engine eager"
    run(f"{whole} --epochs 40 --save whole.json")
    run(f"{whole} --epochs 25 --save part.json")
    status, out, _ = run(f"{whole} --epochs 15 --load part.json --save part.json")
    assert status == 0
    assert "loaded from part.json" in out
    expected, found = (
        [p.data for p in Network.load(path).parameters()] for path in ("whole.json", "part.json")
    )
    assert found == pytest.approx(expected, rel=1e-9)


def test_numbers_that_are_labels(run):
    Path("labels.csv").write_text("a,b,y\n0,0,-1\n0,1,1\n1,0,1\n1,1,-1\n", "utf-8")
    _, out, _ = run("train labels.csv --save l.json")
    assert "target:   y, 2 classes: -1 and 1" in out
    assert "accuracy 100 % (4 of 4)" in out
    Path("more.csv").write_text("a,b,y\n0,0,-1.0\n1,0,+1\n", "utf-8")
    assert "accuracy 100 % (2 of 2)" in run("predict l.json more.csv")[1]
    Path("digits.csv").write_text("a,y\n0,3\n1,4\n2,5\n3,3\n4,4\n5,5\n", "utf-8")
    assert "y, a number" in run("train digits.csv --epochs 1")[1]
    assert "3 classes: 3, 4 and 5" in run("train digits.csv --epochs 1 --loss cross_entropy")[1]


def test_a_network_that_python_saved_takes_columns_as_they_come(run):
    Network([2, 1], init="zeros").save("plain.json")
    Path("any.csv").write_text("left,right\n1,2\n3,4\n", "utf-8")
    assert run("predict plain.json any.csv -q")[:2] == (0, "0.5\n0.5\n")
    Path("any.csv").write_text("1,2\n", "utf-8")
    assert run("predict plain.json any.csv -q")[:2] == (0, "0.5\n")
    status, out, _ = run("train xor --load plain.json --epochs 2")
    assert status == 0
    assert "2 -> 1 sigmoid" in out
    Network([2, 3], activation="linear", init="zeros").save("three.json")
    assert run("predict three.json any.csv -q")[:2] == (0, "0, 0, 0\n")


def test_a_wide_table_is_not_cut_off_in_a_file(run):
    name = "length_of_the_longest_petal_in_millimetres"
    Path("wide.csv").write_text(f"{name}1,{name}2,y\n1,2,0\n2,1,1\n", "utf-8")
    _, out, _ = run("train wide.csv --epochs 1")
    assert f"{name}1  {name}2  y  predicted" in out


# --- refusing -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("trian xor", 2, "there is no command 'trian'; did you mean train? See chainrule --help."),
        ("zzz", 2, "there are: train, predict,"),
        ("train", 2, "Missing argument 'DATA'. See chainrule train --help."),
        ("train circel", 1, "there is no data set 'circel', and no file of that name."),
        ("train none.csv", 1, "There is no file 'none.csv'"),
        ("train xor --hiden 8", 2, "--hidden"),
        ("train xor --hidden 8,x", 1, "such as 8 or 8,8, or 'none'; got '8,x'."),
        ("train xor --hidden 0", 1, "got '0'."),
        ("train xor --lr -1", 1, "lr must be a finite number of at least 0; got -1.0"),
        ("train xor --lr -1", 1, "Give a number such as --lr 0.1."),
        ("train xor --lr nan", 1, "lr must be a finite number"),
        ("train xor --epochs -1", 1, "epochs must be a whole number of at least 0; got -1"),
        ("train xor --batch-size -1", 1, "batch_size must be a whole number of at least 0; got -1"),
        ("train xor --clip-norm 0", 1, "clip_norm must be a finite number above 0; got 0.0"),
        ("train xor --loss mae", 2, "'mae' is not one of 'mse'"),
        ("train xor --activation tanhh", 1, "unknown activation 'tanhh'"),
        ("train xor --n 5", 1, "xor always has 4 rows; leave --n out."),
        ("train circle --n 0", 1, "n must be a whole number of at least 1; got 0"),
        ("train circle --classes 3", 1, "--classes is for spiral; circle always has 2."),
        ("train circle --target y", 1, "--target is for CSV files"),
        ("train circle --scale", 1, "--scale is for CSV files"),
        ("train pets.csv --n 5", 1, "--n is for generated data"),
        ("train spiral --classes 3 --loss hinge", 1, "Use --loss cross_entropy."),
        ("train xor --save none/m.json", 1, "there is no folder"),
        ("train xor --save .", 1, "--save . is a folder."),
        ("train xor --load none.json", 1, "none.json: No such file or directory."),
        ("train xor --load pets.csv", 1, "cannot load a network from 'pets.csv'"),
        ("train pets.csv --target kinds", 1, "has no column named 'kinds'"),
        ("train pets.csv --target kinds", 1, "a position such as --target -1 if"),
        ("train pets.csv --target 7", 1, "--target 7 is no column of pets.csv"),
        ("train pets.csv --no-header --target kind", 1, "--no-header"),
        ("train .", 1, "'.' is a folder."),
        ("predict none.json pets.csv", 1, "none.json: No such file or directory."),
        ("info now", 2, "Got unexpected extra argument (now). See chainrule info --help."),
    ],
)
def test_bad_input_gives_one_readable_line(run, words, status, says):
    found, out, err = run(words)
    assert (found, out) == (status, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert says in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,y\n1,cat\n2,cat\n", "every row has the same 'y', 'cat'"),
        ("a,name\n" + "".join(f"{i},n{i}\n" for i in range(30)), "has 30 different texts in 30"),
    ],
)
def test_targets_that_cannot_be_learned(run, text, says):
    Path("bad.csv").write_text(text, "utf-8")
    status, _, err = run("train bad.csv")
    assert status == 1
    assert says in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("weight,length,kind\n1,2,cat\n", "age is not among 'weight, length, kind'"),
        ("1,2\n", "2 cells, '1, 2'; the model takes 3 (weight, length, age, or 4 with the target"),
        ("weight,length,age\n1,2,x\n", "line 2, column 'age': expected a number, found 'x'. Write"),
        ("weight,length,age\n", "has column names in line 1 but no rows"),
        ("weight,length,age\n1,2\n", "line 2: 2 cells where line 1 has 3"),
        ("1,2,3,bird\n", "line 1, column 'kind': expected one of cat, dog, mouse; found 'bird'"),
        ("", "is empty"),
    ],
)
def test_rows_that_do_not_suit_the_model(run, text, says):
    run("train pets.csv --save pets.json --epochs 1")
    Path("new.csv").write_text(text, "utf-8")
    status, out, err = run("predict pets.json new.csv")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert says in err


def test_a_number_is_needed_where_a_number_is_predicted(run):
    write_houses()
    run("train houses.csv --epochs 1 --save h.json")
    Path("new.csv").write_text("area,rooms,price\n100,2,much\n", "utf-8")
    assert "column 'price': expected a number; found 'much'" in run("predict h.json new.csv")[2]


def test_a_model_of_something_else_is_not_trained_on(run):
    run("train pets.csv --save pets.json --epochs 1")
    run("train circle --save circle.json --epochs 1")
    assert (
        "has 3 input(s) and 3 output(s); this data needs 2 and 2"
        in run("train circle --load pets.json")[2]
    )
    assert "--hidden is for a new network" in run("train circle --load circle.json --hidden 3")[2]
    Path("xy.csv").write_text("x,y,kind\n1,2,a\n2,1,b\n", "utf-8")
    assert (
        "was trained on the features x1 and x2; this data has x and y"
        in run("train xy.csv --load circle.json")[2]
    )
    Path("x12.csv").write_text("x1,x2,kind\n1,2,a\n2,1,b\n", "utf-8")
    assert (
        "was trained on the classes 0 and 1; this data has a and b"
        in run("train x12.csv --load circle.json")[2]
    )


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"features": ["a"]}, "has features = ['a'] (a list); expected 2 different names"),
        ({"features": [1, 2]}, "has features"),
        ({"features": ["a", "a"]}, "has features"),
        ({"target": 3}, "has target = 3 (an int); expected a name"),
        ({"target_position": "0"}, "has target_position"),
        ({"classes": "ab"}, "has classes"),
        ({"classes": ["a", "b", "c"]}, "names that suit the loss"),
        ({"classes": ["a", "b"], "loss": ""}, "names that suit the loss"),
        ({"loss": "mae"}, "has loss = 'mae' (a str)"),
        ({"loss": ["mse"]}, "has loss"),
    ],
)
def test_a_damaged_meta_is_refused(changed, says):
    net = Network([2, 1])
    net.meta = {**Problem(["a", "b"], classes=["n", "y"], loss="hinge").meta("x"), **changed}
    with pytest.raises(ModelFileError) as caught:
        Problem.of(net, "m.json")
    assert says in str(caught.value)


# --- stopping early -------------------------------------------------------------------------


def test_a_loss_that_is_no_number_any_more_stops_it(run):
    write_houses()
    status, out, err = run("train houses.csv --no-scale --optimizer sgd --lr 1e60 --save d.json")
    assert status == 1
    assert err.startswith("Training stopped: ")
    assert "--clip-norm 1.0" in err
    assert err.count("\n") == 1
    assert Path("d.json").exists()
    assert "Traceback" not in out


def test_a_loss_that_grows_gets_a_hint(run):
    write_houses()
    _, out, _ = run("train houses.csv --no-scale --optimizer sgd --lr 0.1 -q")
    assert out.endswith("The loss did not fall: try a learning rate below 0.1 (--lr).\n")


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is no signal there")
def test_ctrl_c_shows_and_saves_what_was_done():
    process = in_a_process(
        *["train", "spiral", "--engine", "eager", "--epochs", "100000", "--save", "s.json"],
        env={"PYTHONUNBUFFERED": "1"},
    )
    while not process.stdout.readline().startswith("loss:"):
        pass
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.startswith("Training stopped: interrupted by Ctrl-C after ")
    assert err.count("\n") == 1
    assert "Decision regions:" in out
    assert Network.load("s.json").sizes == [2, 16, 16, 1]


def test_ctrl_c_before_the_training(run, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("chainrule.cli.train.load_data", interrupted)
    status, out, err = run("train xor")
    assert (status, out, err.strip()) == (130, "", "Interrupted.")


def test_a_closed_pipe_is_no_error():
    Path("long.csv").write_text("x1,x2\n" + "1,2\n" * 20_000, "utf-8")
    main(["train", "xor", "-q", "--save", "m.json"])
    process = in_a_process("predict", "m.json", "long.csv", "-q")
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) == 1


# --- looks ----------------------------------------------------------------------------------


def test_colour_on_a_terminal(monkeypatch, run):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    _, out, _ = run("train xor")
    assert "\x1b[" in out
    assert " s (eager): loss" in out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[38" not in run("train xor")[1]


def test_ascii_where_nothing_else_is_there():
    Path("names.csv").write_text("größe,β,y\n0,0,grün\n1,1,rot\n0,1,grün\n", "utf-8")
    process = in_a_process("train", "names.csv", env={"PYTHONIOENCODING": "ascii"})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.isascii()
    assert "+--------" in out
    assert "o gr?n, predicted where blank" in out
    assert "# rot, predicted where ." in out
    assert "##########" in out


def drawn(classes, X, y, decide, **settings):
    lines = decision_regions(decide, X, y, ["a", "b"], classes, **settings)
    return [line.plain for line in lines]


def test_regions_are_where_the_network_says():
    lines = drawn(
        ["left", "right"],
        [[-1.0, -1.0], [1.0, 1.0], [0.5, -1.0]],
        [0.0, 1.0, 0.0],
        lambda rows: [int(row[0] > 0) for row in rows],
    )
    assert lines[0] == " 1.24 ┌" + "─" * 44 + "┐"
    assert all(line[6] == line[-1] == "│" for line in lines[1:23])
    top, bottom = lines[3][7:-1], lines[20][7:-1]
    assert top == " " * 22 + "░" * 17 + "●" + "░" * 4
    assert bottom == " " * 4 + "○" + " " * 17 + "░" * 8 + "\N{MULTIPLICATION SIGN}" + "░" * 13
    assert lines[12].startswith("    b │")
    assert lines[24].split() == ["-1.24", "a", "1.24"]
    assert [line.strip() for line in lines[25:]] == [
        "○ left, predicted where blank",
        "● right, predicted where ░",
        "\N{MULTIPLICATION SIGN} predicted wrong",
    ]


def test_many_classes_are_letters():
    lines = drawn(
        ["p", "q", "r", "s"], [[0.0, 0.0], [3.0, 0.0]], [0.0, 3.0],
        lambda rows: [min(3, max(0, round(row[0]))) for row in rows],
    )  # fmt: skip
    assert "aaaaAaaa" in lines[12]
    assert "dDdddd" in lines[12]
    assert lines[-1].strip() == "D s, predicted where d"


def test_a_mistake_is_not_hidden_by_a_point_on_top():
    lines = drawn(["n", "y"], [[0.0, 0.0], [0.0, 0.0]], [1.0, 0.0], lambda rows: [0] * len(rows))
    assert "\N{MULTIPLICATION SIGN}" in "".join(lines[1:23])
    assert "○" not in "".join(lines[1:23])


@pytest.mark.parametrize("epochs", [0, 1, 9, 12, 13, 99, 100, 1000, 12345])
def test_milestones_are_few_and_end_with_the_last(epochs):
    shown = milestones(epochs)
    assert shown == sorted(set(shown))
    assert len(shown) <= 13
    assert shown[-1:] == ([epochs - 1] if epochs else [])
    assert epochs < 10 or len(shown) >= 6


# --- the commands themselves ----------------------------------------------------------------


def test_help_explains_itself(run):
    status, out, _ = run("--help")
    assert status == 0
    assert run("") == (0, out, "")
    for name, sentence in COMMANDS.items():
        assert f"  {name}" in out
        assert sentence.split()[0] in out
        status, text, _ = run(f"{name} --help")
        assert status == 0
        assert text.startswith(f"Usage: chainrule {name} ")
    assert "chainrule train xor" in out
    assert max(map(len, out.splitlines())) <= 80


def test_help_imports_neither_numpy_nor_rich_nor_networks():
    code = """
import sys
from chainrule.cli import main
assert main(["--help"]) == 0
print([m for m in ("numpy", "rich", "chainrule.nn", "chainrule.compiler") if m in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.endswith("[]\n")


def test_version_and_module():
    out, err = in_a_process("--version").communicate(timeout=60)
    assert (out, err) == (f"chainrule, version {chainrule.__version__}\n", "")


def test_info(run):
    status, out, _ = run("info")
    assert status == 0
    assert out.startswith(f"chainrule {chainrule.__version__}\nPython {sys.version.split()[0]} ")
    assert "chainrule[fast]" in out
    assert max(map(len, out.splitlines())) <= 80


def test_info_says_how_to_add_what_is_missing(run, monkeypatch):
    monkeypatch.setattr("chainrule.cli.info._version", lambda name: "")
    _, out, _ = run("info")
    assert out.endswith('-m pip install "chainrule[fast]"\n')


def test_info_knows_every_optional_part():
    path = Path(__file__).parents[1] / "pyproject.toml"
    extras = tomllib.loads(path.read_text("utf-8"))["project"]["optional-dependencies"]
    for_users = {
        (each.partition(">=")[0], extra)
        for extra, needed in extras.items()
        if extra not in {"all", "test", "check", "bench"}
        for each in needed
        if not each.startswith("chainrule[")
    }
    shown = {(name, extra) for name, extra, _ in PARTS}
    assert shown <= for_users
    for position in (0, 1):  # a part that two extras bring is shown once
        assert {pair[position] for pair in shown} == {pair[position] for pair in for_users}
