"""CSV files as they are: text columns, missing cells, constant columns, and many rows."""

import json
import random
import sys
from pathlib import Path

import pytest

import chainrule.data.tables
from chainrule import Network
from chainrule.cli import main
from chainrule.cli import report as report_module
from chainrule.cli.problem import Problem
from chainrule.data import digits, read_csv, read_rows
from chainrule.data.categories import MOST_VALUES
from chainrule.errors import DataError, MissingExtraError, ModelFileError, OptionError

PETS = """weight,coat,age,sex,kind
4.1,short,3,f,cat
30,long,5,m,dog
3.9,short,9,m,cat
22,wire,2,f,dog
5.2,long,4,f,cat
28,short,8,m,dog
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write


@pytest.fixture
def run(capsys):
    def run(words):
        status = main(words.split())
        found = capsys.readouterr()
        return status, found.out, found.err

    return run


# --- read_csv and read_rows ------------------------------------------------------------------


def test_text_becomes_an_input_per_value(here):
    table = read_csv(here("pets.csv", PETS), one_hot=True)
    assert table.feature_names == [
        "weight", "coat=long", "coat=short", "coat=wire", "age", "sex=f", "sex=m"
    ]  # fmt: skip
    assert table.X[0] == [4.1, 0.0, 1.0, 0.0, 3.0, 1.0, 0.0]
    assert table.X[3] == [22.0, 0.0, 0.0, 1.0, 2.0, 1.0, 0.0]
    assert table.columns == ["weight", "coat", "age", "sex"]
    assert table.categories == {"coat": ["long", "short", "wire"], "sex": ["f", "m"]}
    assert (table.target_position, table.classes) == (4, ["cat", "dog"])


def test_target_in_the_middle(here):
    table = read_csv(here("pets.csv", PETS), target="age", one_hot=True)
    assert table.X[1] == [30.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    assert table.target_position == 2
    rows = read_rows("pets.csv", table.columns, "age", 2, None, table.categories)
    assert rows.X == table.X


def test_without_names(here):
    text = PETS.partition("\n")[2]
    table = read_csv(here("pets.csv", text), header=False, one_hot=True)
    assert table.feature_names[:3] == ["x0", "x1=long", "x1=short"]
    rows = read_rows("pets.csv", table.columns, "y", 4, None, table.categories)
    assert rows.X == table.X
    other = read_csv("pets.csv", 0, header=False, one_hot=True)
    rows = read_rows("pets.csv", other.columns, "y", 0, None, other.categories)
    assert rows.X == other.X


def test_numbers_alone_are_as_before(here):
    path = here("data.csv", "a,b,y\n1,2,3\n4,5,6\n")
    assert read_csv(path, one_hot=True) == read_csv(path)
    assert read_csv(path, one_hot=True).categories == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b,y\n1,red,0\n2,,1\n", r"line 3, column 'b': the cell is empty\. Fill it in, or"),
        ("a,b,y\n1,red,0\n,blue,1\n", r"line 3, column 'a': the cell is empty"),
        ("a,b,y\n1,red,0\n2,7,1\n", r"line 3, column 'b': '7' is a number, and the column began"),
        ("a,b,y\n1,7,0\n2,red,1\n", r"line 3, column 'b': expected a number, found 'red'"),
        ('a,b,y\n1,"1,000",0\n', r"column 'b': expected a number, found '1,000'.*without commas"),
        ("a,b,y\n1,nan,0\n", r"expected a finite number"),
    ],
)
def test_cells_that_cannot_be_used(here, text, says):
    with pytest.raises(DataError, match=says):
        read_csv(here("data.csv", text), one_hot=True)


def test_names_are_no_kinds(here):
    rows = "".join([f"{i},name {i},{i % 2}\n" for i in range(MOST_VALUES + 1)])
    with pytest.raises(DataError, match=r"column 'who' has 101 different texts in 101 rows"):
        read_csv(here("data.csv", f"a,who,y\n{rows}"), one_hot=True)


def test_one_hot_is_a_switch(here):
    path = here("pets.csv", PETS)
    with pytest.raises(DataError, match=r"column 'coat': expected a number"):
        read_csv(path)
    with pytest.raises(OptionError, match="one_hot must be True or False, not 'yes'"):
        read_csv(path, one_hot="yes")


def test_too_many_rows_are_refused_with_a_reason(here, monkeypatch):
    path = here("data.csv", "a,b\n" + "1,2\n" * 50)
    assert len(read_csv(path).X) == 50
    monkeypatch.setattr(chainrule.data.tables, "MOST_CELLS", 80)
    with pytest.raises(DataError, match=r"line 42: more than 80 cells.*a sample.*PyTorch"):
        read_csv(path)


@pytest.mark.slow
def test_many_rows(here, run):
    source = random.Random(0)
    points = [(source.uniform(-1, 1), source.uniform(-1, 1)) for _ in range(30_000)]
    text = "".join(
        [f"{a:.4f},{b:.4f},{'in' if a * a + b * b < 0.5 else 'out'}\n" for a, b in points]
    )
    here("many.csv", "a,b,where\n" + text)
    status, out, err = run("train many.csv --epochs 2 --batch-size 500 --save m.json")
    assert (status, err) == (0, "")
    assert "30,000 rows" in out
    assert "10,000 of them, evenly spread" in out


# --- train and predict ------------------------------------------------------------------------


def test_predict_takes_raw_rows(here, run):
    here("pets.csv", PETS)
    status, out, _ = run("train pets.csv --save pets.json")
    assert status == 0
    assert "accuracy 100 % (6 of 6)" in out
    assert "weight, coat=long, coat=short" in out
    meta = json.loads(Path("pets.json").read_text())["meta"]
    assert meta["categories"] == {"coat": ["long", "short", "wire"], "sex": ["f", "m"]}
    assert meta["columns"] == ["weight", "coat", "age", "sex"]
    assert run("predict pets.json pets.csv")[1].endswith("accuracy 100 % (6 of 6)\n")
    here("new.csv", "sex,age,weight,coat\nm,4,27,long\nf,5,4.0,short\n")
    assert run("predict pets.json new.csv -q") == (0, "dog\ncat\n", "")
    status, out, _ = run("train pets.csv --load pets.json --epochs 3 -q")
    assert "accuracy 100 %" in out


def test_unseen_category(here, run):
    here("pets.csv", PETS)
    run("train pets.csv --epochs 1 --save pets.json")
    for cell, shown in (("curly", "'curly'"), ("", "nothing")):
        here("new.csv", f"weight,coat,age,sex\n27,{cell},4,m\n")
        status, out, err = run("predict pets.json new.csv")
        assert (status, out) == (1, "")
        assert "new.csv, line 2, column 'coat': expected one of 'long', 'short', 'wire'" in err
        assert f"found {shown}. Correct it" in err


def test_missing_cell_and_single_class(here, run):
    here("hole.csv", "a,b,y\n1,,0\n2,3,1\n")
    status, _, err = run("train hole.csv")
    assert (status, "line 2, column 'b': the cell is empty" in err) == (1, True)
    here("same.csv", "a,b,y\n1,5,yes\n2,3,yes\n")
    status, _, err = run("train same.csv")
    assert (status, "every row has the same 'y', 'yes'" in err) == (1, True)


def test_constant_columns_are_named(here, run):
    here("data.csv", "a,b,c,y\n1,5,x,0\n2,5,x,1\n3,5,x,0\n4,5,x,1\n")
    status, out, err = run("train data.csv --epochs 20 --save m.json")
    assert (status, err) == (0, "")
    assert "note:     b and c=x are the same in every row, so nothing is learned from them" in out
    here("other.csv", "a,b,y\n1,5,0\n2,5,1\n3,5,0\n4,5,1\n")
    assert (
        "note:     b is the same in every row, so nothing is learned from it"
        in run("train other.csv --epochs 1")[1]
    )
    assert "note:" not in run("train xor --epochs 1")[1]
    assert all(p.data == p.data for p in Network.load("m.json").parameters())


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ({"categories": [1]}, "categories"),
        ({"categories": {"coat": [1]}}, "categories"),
        ({"categories": {"coat": []}}, "categories"),
        ({"columns": None}, "columns"),
        ({"columns": ["weight", "coat", "age", "sax"]}, "columns"),
        ({"columns": 3, "categories": {}}, "columns"),
    ],
)
def test_damaged_model_file(here, damage, says):
    table = read_csv(here("pets.csv", PETS), one_hot=True)
    net = Network([7, 1], "sigmoid")
    net.meta = {
        "features": table.feature_names,
        "columns": table.columns,
        "categories": table.categories,
        "classes": ["cat", "dog"],
        "loss": "binary_cross_entropy",
    }
    assert Problem.of(net, "m.json").categories == table.categories
    net.meta |= damage
    with pytest.raises(ModelFileError, match=rf"its meta has {says} = .*Correct the file"):
        Problem.of(net, "m.json")


# --- digits -----------------------------------------------------------------------------------


def test_digits():
    pytest.importorskip("sklearn")
    X, y = digits()
    assert (len(X), len(y), len(X[0])) == (1797, 1797, 64)
    assert {type(x) for row in X[:10] for x in row} == {float}
    assert (min(map(min, X)), max(map(max, X))) == (0.0, 1.0)
    assert set(y) == {float(i) for i in range(10)}


@pytest.mark.slow
def test_train_digits(here, run):
    pytest.importorskip("sklearn")
    status, out, err = run("train digits --epochs 10 --save digits.json")
    assert (status, err) == (0, "")
    assert "digit, 10 classes" in out
    right = int(out.partition(" of 1797)")[0].rpartition("(")[2])
    assert right > 1740
    assert run("train digits --n 5")[2].endswith("digits always has 1797 rows; leave --n out.\n")
    assert "digits always has 10" in run("train digits --classes 3")[2]


def test_digits_without_scikit_learn(monkeypatch, run):
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'chainrule\[sklearn\]'"):
        digits()
    status, out, err = run("train digits")
    assert (status, out) == (1, "")
    assert "chainrule[sklearn]" in err


def test_result_of_many_rows_is_of_a_sample(monkeypatch, run):
    monkeypatch.setattr(report_module, "MOST_MEASURED", 10)
    _, out, _ = run("train circle --epochs 2")
    assert "10 of them, evenly spread" in out
    assert " of 10)" in out
