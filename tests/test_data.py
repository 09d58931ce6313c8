"""Data sets: exact where they are exact, reproducible, and clear about what they refuse."""

import contextlib
import copy
import csv
import math
import os
import pickle
import random
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainrule.data
from chainrule.data import (
    Table,
    blobs,
    circle,
    moons,
    read_csv,
    spiral,
    train_test_split,
    xor,
)
from chainrule.errors import ChainruleError, DataError, OptionError, ShapeError

GENERATORS = [circle, moons, spiral, blobs]


@pytest.fixture(autouse=True)
def _keep_global_random():
    state = random.getstate()
    yield
    random.setstate(state)


def refusal(error, call, *args, **kwargs):
    """The message of the error that the call must raise."""
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    assert type(caught.value) is error
    return str(caught.value)


# --- generators ---------------------------------------------------------------------------


def test_xor_exactly():
    assert xor() == ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 0.0])
    X, y = xor()
    assert all(type(x) is float for row in X for x in row)
    assert all(type(label) is float for label in y)


def test_xor_is_made_afresh():
    X, y = xor()
    X[0][0] = y[0] = 9.0
    assert xor()[0][0] == [0.0, 0.0]
    assert xor()[1][0] == 0.0


def test_circle_is_the_loop_everyone_writes():
    random.seed(7)
    expected_X, expected_y = [], []
    for _ in range(80):
        x1 = random.uniform(-1.5, 1.5)
        x2 = random.uniform(-1.5, 1.5)
        expected_X.append([x1, x2])
        expected_y.append(1.0 if x1**2 + x2**2 < 1 else 0.0)
    assert circle(seed=7) == (expected_X, expected_y)
    random.seed(7)
    assert circle(80) == (expected_X, expected_y)


def test_circle_numbers_that_python_promises_for_ever():
    X, y = circle(3, seed=7)
    assert X == [
        [-0.5285017055005129, -1.0474524782264942],
        [0.4528034191195611, -1.2826911399973717],
        [0.10764601292006759, -0.4029332492622433],
    ]
    assert y == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("make", GENERATORS)
class TestEveryGenerator:
    def test_shape_and_types(self, make):
        X, y = make(50, seed=1)
        assert len(X) == len(y) == 50
        assert {type(row) for row in X} == {list}
        assert {len(row) for row in X} == {2}
        assert {type(x) for row in X for x in row} == {float}
        assert {type(label) for label in y} == {float}

    def test_a_seed_reproduces(self, make):
        assert make(20, seed=7) == make(20, seed=7)
        assert make(20, seed=7) != make(20, seed=8)

    def test_no_seed_draws_from_the_global_generator(self, make):
        random.seed(7)
        first, second = make(21), make(21)
        assert first == make(21, seed=7)
        assert second != first
        random.seed(7)
        assert (make(21), make(21)) == (first, second)

    def test_a_seed_leaves_the_global_generator_alone(self, make):
        state = random.getstate()
        make(20, seed=7)
        assert random.getstate() == state

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
    def test_few_points(self, make, n):
        X, y = make(n, seed=0)
        assert len(X) == len(y) == n

    @pytest.mark.parametrize("n", [0, -5, 2.0, "8", None, True, math.nan, [3]])
    def test_n_is_checked(self, make, n):
        message = refusal(OptionError, make, n)
        assert "n must be a whole number of at least 1; got " in message
        assert repr(n) in message
        assert "such as n=100" in message

    @pytest.mark.parametrize("seed", ["7", 1.5, [7]])
    def test_seed_is_checked(self, make, seed):
        message = refusal(OptionError, make, 5, seed=seed)
        assert "seed must be a whole number such as 42, or None" in message
        assert repr(seed) in message


def test_numpy_numbers_will_do():
    np = pytest.importorskip("numpy")
    assert circle(np.int64(5), seed=np.int32(7)) == circle(5, seed=7)
    assert moons(5, noise=np.float32(0.5), seed=7) == moons(5, noise=0.5, seed=7)
    assert blobs(4, centers=np.eye(2), seed=7) == blobs(4, centers=[[1, 0], [0, 1]], seed=7)
    assert blobs(4, centers=np.int8(2), seed=7) == blobs(4, centers=2, seed=7)


@pytest.mark.parametrize(("make", "name"), [(moons, "noise"), (spiral, "noise"), (blobs, "spread")])
class TestNoise:
    @pytest.mark.parametrize(
        "bad", [-1, -1e-9, math.nan, math.inf, 1e200, "0.1", None, True, 1j, 10**400]
    )
    def test_is_checked(self, make, name, bad):
        message = refusal(OptionError, make, 5, **{name: bad})
        assert message.startswith(
            f"{name} must be a finite number of at least 0 and of at most 1e+100; got "
        )
        assert repr(bad)[:20] in message
        assert f"Give a number such as {name}=0.1." in message

    def test_does_not_change_how_often_is_drawn(self, make, name):
        states = []
        for noise in (0, 0.3, Fraction(1, 2), 1e100):
            random.seed(7)
            X, _ = make(6, **{name: noise})
            states.append(random.getstate())
            assert all(math.isfinite(x) for row in X for x in row)
        assert all(state == states[0] for state in states)


def test_moons_without_noise_lie_on_their_arcs():
    X, y = moons(101, noise=0)
    assert y == [0.0, 1.0] * 50 + [0.0]
    for (x1, x2), label in zip(X, y, strict=True):
        if label == 0.0:
            assert math.hypot(x1, x2) == pytest.approx(1)
            assert x2 >= 0
        else:
            assert math.hypot(x1 - 1, x2 - 0.5) == pytest.approx(1)
            assert x2 <= 0.5
    upper, lower = X[0::2], X[1::2]
    assert upper[0] == [1.0, 0.0]
    assert upper[-1] == pytest.approx([-1, 0])
    assert lower[0] == [0.0, 0.5]
    assert lower[-1] == pytest.approx([2, 0.5])


def test_moons_draw_x1_then_x2_point_by_point():
    draw = random.Random(3)
    expected = [
        [x1 + draw.gauss(0, 0.2), x2 + draw.gauss(0, 0.2)] for x1, x2 in moons(9, noise=0)[0]
    ]
    assert moons(9, noise=0.2, seed=3)[0] == expected


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("turns", [1.0, 2.5, -1])
def test_spiral_without_noise_is_its_formula(classes, turns):
    n = 10 * classes + 1
    X, y = spiral(n, classes=classes, turns=turns, noise=0)
    assert y == [float(i % classes) for i in range(n)]
    for label in range(classes):
        arm = X[label::classes]
        for k, (x1, x2) in enumerate(arm):
            r = (k + 1) / len(arm)
            t = 2 * math.pi * (turns * r + label / classes)
            assert [x1, x2] == pytest.approx([r * math.cos(t), r * math.sin(t)])


def test_spiral_noise_turns_points_about_the_origin():
    clean, noisy = spiral(30, noise=0)[0], spiral(30, noise=0.3, seed=1)[0]
    draw = random.Random(1)
    for before, after in zip(clean, noisy, strict=True):
        assert math.hypot(*after) == pytest.approx(math.hypot(*before))
        angle = draw.gauss(0, 0.3)
        x1, x2 = before
        turned = [
            x1 * math.cos(angle) - x2 * math.sin(angle),
            x1 * math.sin(angle) + x2 * math.cos(angle),
        ]
        assert after == pytest.approx(turned)


def test_spiral_checks_its_settings():
    for classes in (1, 0, 2.0, "2", True):
        message = refusal(OptionError, spiral, 5, classes=classes)
        assert "classes must be a whole number of at least 2; got " in message
    for turns in (math.inf, math.nan, 1e308, "1", None):
        message = refusal(OptionError, spiral, 5, turns=turns)
        assert "must be a finite number of at least -1e+100 and of at most 1e+100; got " in message
    assert all(math.isfinite(x) for row in spiral(5, turns=1e100, noise=1e100)[0] for x in row)


def test_blobs_have_evenly_spaced_centres():
    X, y = blobs(4, centers=4, spread=0)
    assert y == [0.0, 1.0, 2.0, 3.0]
    for row, expected in zip(X, [[2, 0], [0, 2], [-2, 0], [0, -2]], strict=True):
        assert row == pytest.approx(expected, abs=1e-12)
    assert blobs(2, centers=1, spread=0) == ([[2.0, 0.0], [2.0, 0.0]], [0.0, 0.0])


def test_blobs_around_given_centres_draw_point_by_point():
    centers = [(1, 2, 3), [10.0, 20.0, 30.0]]
    draw = random.Random(4)
    points = [[at + draw.gauss(0, 0.5) for at in centers[i % 2]] for i in range(5)]
    assert blobs(5, centers, spread=0.5, seed=4) == (points, [0.0, 1.0, 0.0, 1.0, 0.0])


def test_blobs_have_the_spread_asked_for():
    X, _ = blobs(4000, centers=1, spread=0.25, seed=0)
    for axis, middle in enumerate((2.0, 0.0)):
        values = [row[axis] - middle for row in X]
        assert sum(values) / 4000 == pytest.approx(0, abs=0.02)
        assert math.sqrt(sum(v * v for v in values) / 4000) == pytest.approx(0.25, rel=0.05)


@pytest.mark.parametrize(
    ("centers", "error", "says"),
    [
        (0, OptionError, "centers must be a whole number of at least 1; got 0"),
        (2.5, OptionError, "centers must be a whole number of at least 1; got 2.5"),
        (True, OptionError, "got True (a bool)"),
        ("ab", OptionError, "got 'ab' (a str)"),
        ([1, 2], OptionError, "centers[0] must be a point such as [0.0, 1.0], not 1 (an int)"),
        (["ab"], OptionError, "centers[0] must be a point such as [0.0, 1.0], not 'ab'"),
        ([[0, 0], [0, "x"]], OptionError, "centers[1][1] must be a finite number"),
        ([[0, math.nan]], OptionError, "centers[0][1] must be a finite number"),
        ([], ShapeError, "at least one point of at least one number, not [] (a list)"),
        ([[]], ShapeError, "at least one point of at least one number, not [[]] (a list)"),
        ([[1, 2], [3]], ShapeError, "centers[1] has 1 number and centers[0] has 2"),
    ],
)
def test_blobs_check_their_centres(centers, error, says):
    assert says in refusal(error, blobs, 5, centers=centers)


@pytest.mark.parametrize(("make", "classes"), [(moons, 2), (spiral, 2), (blobs, 3)])
def test_classes_are_dealt_out_evenly(make, classes):
    _, y = make(100)
    counts = Counter(y)
    assert set(counts) == {float(label) for label in range(classes)}
    assert max(counts.values()) - min(counts.values()) <= 1


# --- train_test_split ---------------------------------------------------------------------


@given(
    n=st.integers(2, 60),
    share=st.floats(0, 1, exclude_min=True, exclude_max=True),
    seed=st.integers(),
)
def test_split_keeps_every_pair_once(n, share, seed):
    X, y = [[float(i)] for i in range(n)], [i * 10 for i in range(n)]
    X_train, X_test, y_train, y_test = train_test_split(X, y, share, seed)
    assert len(X_test) == len(y_test) == min(max(round(share * n), 1), n - 1)
    pairs = [*zip(X_train, y_train, strict=True), *zip(X_test, y_test, strict=True)]
    assert all(row[0] * 10 == target for row, target in pairs)
    assert sorted(target for _, target in pairs) == y


def test_split_is_reproducible_shuffled_and_leaves_its_input_alone():
    X, y = circle(40, seed=1)
    before = copy.deepcopy((X, y))
    first = train_test_split(X, y, seed=7)
    assert first == train_test_split(X, y, seed=7)
    assert first != train_test_split(X, y, seed=8)
    random.seed(7)
    assert train_test_split(X, y) == first
    assert first[0] != X[10:]
    assert (X, y) == before
    order = list(range(40))
    random.Random(7).shuffle(order)
    assert first[1] == [X[i] for i in order[:10]]


def test_split_sizes_and_other_iterables():
    assert [len(part) for part in train_test_split(*xor())] == [3, 1, 3, 1]
    X_train, X_test, y_train, y_test = train_test_split(range(100), iter(range(100)), 0.07)
    assert (X_train, X_test) == (y_train, y_test)
    assert len(X_test) == 7


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        ([[1], [2]], [1], "X has 2 rows and y has 1 target. Give one target for each row."),
        ([[1]], [1], "X has 1 row, and a split needs at least 2"),
        ([], [], "X has 0 rows"),
        (5, [1], "X must be a list with one entry per row, not 5 (an int)"),
        ([1, 2], None, "y must be a list with one entry per row, not None"),
    ],
)
def test_split_checks_its_rows(X, y, says):
    assert says in refusal(ShapeError, train_test_split, X, y)


@pytest.mark.parametrize("share", [0, 1, -0.1, 25, math.nan, "0.25", None, True])
def test_split_checks_its_share(share):
    message = refusal(OptionError, train_test_split, *xor(), share)
    assert "test_fraction must be a finite number above 0 and below 1; got " in message
    assert repr(share) in message


# --- read_csv: what it reads --------------------------------------------------------------


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Write data.csv in the current folder; gives its name."""
    monkeypatch.chdir(tmp_path)

    def write(content):
        raw = content if isinstance(content, bytes) else content.encode()
        Path("data.csv").write_bytes(raw)
        return "data.csv"

    return write


PETS = "weight,length,kind\n4.1,46,cat\n30,90.5,dog\n3.9,44,cat\n"


def test_unpacks_and_knows_its_names(file):
    X, y = table = read_csv(file(PETS))
    assert X == table.X == [[4.1, 46.0], [30.0, 90.5], [3.9, 44.0]]
    assert y == table.y == [0.0, 1.0, 0.0]
    assert table.feature_names == ["weight", "length"]
    assert table.target_name == "kind"
    assert table.classes == ["cat", "dog"]
    assert [table.classes[int(label)] for label in y] == ["cat", "dog", "cat"]
    assert {type(x) for row in X for x in row} | {type(label) for label in y} == {float}


def test_table_shows_copies_and_pickles(file):
    table = read_csv(file(PETS))
    assert repr(table) == (
        "Table(3 rows, features=['weight', 'length'], target='kind', classes=['cat', 'dog'])"
    )
    assert repr(read_csv(file("1,2\n"))) == "Table(1 row, features=['x0'], target='y')"
    for twin in (copy.copy(table), copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert type(twin) is Table
        assert twin == table
        assert vars(twin) == vars(table)


@pytest.mark.parametrize("path", [Path("data.csv"), b"data.csv", os.path.join(".", "data.csv")])
def test_kinds_of_path(file, path):
    file(PETS)
    assert read_csv(path).target_name == "kind"


@pytest.mark.parametrize(
    ("target", "name", "row", "y"),
    [
        ("a", "a", [2.0, 3.0], 1.0),
        ("b", "b", [1.0, 3.0], 2.0),
        (" b ", "b", [1.0, 3.0], 2.0),
        (0, "a", [2.0, 3.0], 1.0),
        (-2, "b", [1.0, 3.0], 2.0),
        (2, "c", [1.0, 2.0], 3.0),
        (-3, "a", [2.0, 3.0], 1.0),
    ],
)
def test_target_by_name_or_position(file, target, name, row, y):
    table = read_csv(file("a,b,c\n1,2,3\n"), target)
    assert (table.target_name, table.X, table.y) == (name, [row], [y])
    assert table.feature_names == [column for column in "abc" if column != name]


@pytest.mark.parametrize(
    ("text", "options", "names", "rows"),
    [
        ("a,b\n1,2\n", {}, (["a"], "b"), 1),
        ("1,2\n1,2\n", {}, (["x0"], "y"), 2),
        ("1,cat\n2,dog\n", {}, (["x0"], "y"), 2),  # a label does not make a header
        ("cat,1\ndog,2\n", {"target": 0}, (["x1"], "y"), 2),
        ("1,2,3\n4,5,6\n", {"target": 1}, (["x0", "x2"], "y"), 2),
        ("2020,2021\n1,2\n", {"header": True}, (["2020"], "2021"), 1),
        ("2020,2021\n1,2\n", {"target": "2020"}, (["2021"], "2020"), 1),
        ("2020,b,y\n1,2,3\n", {"header": True}, (["2020", "b"], "y"), 1),
        ("1,2\n1,2\n", {"header": False}, (["x0"], "y"), 2),
    ],
)
def test_header_or_not(file, text, options, names, rows):
    table = read_csv(file(text), **options)
    assert (table.feature_names, table.target_name) == names
    assert len(table.X) == len(table.y) == rows


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a,b,y\n1,2,3\n", [1, 2]),
        ("a;b;y\n1;2;3\n", [1, 2]),
        ("a\tb\ty\n1\t2\t3\n", [1, 2]),
        ("a|b|y\n1|2|3\n", [1, 2]),
        ("a b y\n1 2 3\n", [1, 2]),
        ("  a   b  y \n   1   2  3\n\n", [1, 2]),
        ("a, b, y\n1, 2, 3\n", [1, 2]),
        ("my a;my b;y\n1;2;3\n", [1, 2]),
        ('a,"b; c; d",y\n1,2,3\n', [1, 2]),
        ('"a","b","y"\n1,2,3\n', [1, 2]),
    ],
)
def test_finds_the_delimiter(file, text, row):
    assert read_csv(file(text)) == ([row], [3.0])


def test_takes_the_delimiter_given(file):
    assert read_csv(file("1:2\n"), delimiter=":") == ([[1.0]], [2.0])
    assert read_csv(file("a;1,b;2\n1,2\n"), delimiter=",").feature_names == ["a;1"]
    assert read_csv(file("\t\n1\t2\n \t \n"), delimiter="\t") == ([[1.0]], [2.0])


@pytest.mark.parametrize(
    "text",
    [
        "a,y\n1,2\n3,4\n",
        "\ufeffa,y\n1,2\n3,4\n",  # byte order mark
        "a,y\r\n1,2\r\n3,4\r\n",
        "a,y\r1,2\r3,4",
        "a,y\n1,2\n3,4",
        "\n\n a , y \n\n 1 ,\t2\n   \n3,4\n\n\n",
        '"a","y"\n"1","2"\n"3",4\n',
        '"a",y\n"1\n",2\n+3,4.0e0\n',
    ],
)
def test_same_table_in_many_guises(file, text):
    table = read_csv(file(text), target="y")
    assert table == ([[1.0], [3.0]], [2.0, 4.0])
    assert table.feature_names == ["a"]


def test_quoted_fields(file):
    table = read_csv(file('"size, in ""cm""",kind\n1,"cat, tabby"\n2,"dog\nbig"\n3,it\'s\n'))
    assert table.feature_names == ['size, in "cm"']
    assert table.classes == ["cat, tabby", "dog\nbig", "it's"]


@pytest.mark.parametrize(
    ("labels", "y", "classes"),
    [
        (["0", "1", "1"], [0.0, 1.0, 1.0], []),
        (["-1.5", "2e3", "7"], [-1.5, 2000.0, 7.0], []),
        (["b", "a", "b"], [1.0, 0.0, 1.0], ["a", "b"]),
        (["yes", "no", "Yes"], [2.0, 1.0, 0.0], ["Yes", "no", "yes"]),
        (["True", "False", "True"], [1.0, 0.0, 1.0], ["False", "True"]),
        (["NA", "EU", "EU"], [1.0, 0.0, 0.0], ["EU", "NA"]),
        (["été", "hiver", "zoé"], [2.0, 0.0, 1.0], ["hiver", "zoé", "été"]),
        (["only", "only", "only"], [0.0, 0.0, 0.0], ["only"]),
    ],
)
def test_labels(file, labels, y, classes):
    table = read_csv(file("x,label\n" + "".join(f"1,{label}\n" for label in labels)))
    assert (table.y, table.classes) == (y, classes)


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None)
@given(
    rows=st.integers(2, 5).flatmap(
        lambda width: st.lists(
            st.lists(finite, min_size=width, max_size=width), min_size=1, max_size=8
        )
    ),
    delimiter=st.sampled_from(",;\t| "),
    header=st.booleans(),
    sniff=st.booleans(),
    target=st.integers(-2, 1),
)
def test_floats_come_back_bit_for_bit(rows, delimiter, header, sniff, target):
    width = len(rows[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "floats.csv")
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream, delimiter=delimiter)
            if header:
                writer.writerow([f"column{i}" for i in range(width)])
            writer.writerows([[repr(x) for x in row] for row in rows])
        X, y = read_csv(path, target=target, delimiter=None if sniff else delimiter)
    at = target % width
    assert list(map(repr, y)) == [repr(row[at]) for row in rows]
    assert repr(X) == repr([row[:at] + row[at + 1 :] for row in rows])


def is_label(text):
    if text != text.strip() or not text:
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


@settings(deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(is_label),
        min_size=1,
        max_size=8,
    )
)
def test_any_text_can_be_a_label(labels):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "labels.csv")
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
            writer.writerow(["x", "label"])
            writer.writerows([[i, label] for i, label in enumerate(labels)])
        table = read_csv(path, delimiter=",")
    assert [table.classes[int(label)] for label in table.y] == labels
    assert table.classes == sorted(set(labels))


# --- read_csv: what it refuses ------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        # nothing there
        ("", "data.csv is empty. Expected rows of numbers"),
        ("\ufeff", "data.csv is empty."),
        ("\n  \n\r\n", "data.csv is empty."),
        ("a,b,y\n", "column names in line 1 but no rows below them. Add rows, or"),
        ("\n\na,b,y\n\n", "column names in line 3 but no rows"),
        # the wrong number of cells
        ("a,b,y\n1,2,0\n\n1,2\n", "line 4: 2 cells where line 1 has 3. Look for a missing or"),
        ("a,b,y\n1,2,0,5\n", "line 2: 4 cells where line 1 has 3."),
        ("a,b,y\n1\n", "line 2: 1 cell where line 1 has 3."),
        ("1,2\n1,2,3\n", "line 2: 3 cells where line 1 has 2."),
        ("a\n1\n", "line 1: a single cell, 'a', when split at ','; expected at least two"),
        ("My title\na,b\n1,2\n", "line 1: a single cell, 'My title'"),
        # cells without a usable number
        ("a,b,y\n1,,0\n", "line 2, column 'b': the cell is empty. Fill it in, or delete the row."),
        ("a,b,y\n1,2,\n", "line 2, column 'y': the cell is empty."),
        ("a,b,y\n,,\n", "line 2, column 'a': the cell is empty."),
        ("1,,3\n", "line 1, column 'x1' (position 1, counted from 0): the cell is empty."),
        (",,3\n", "line 1, column 'x0' (position 0, counted from 0): the cell is empty."),
        ("a,b,y\n1,red,0\n", "line 2, column 'b': expected a number, found 'red'."),
        ("a,b,y\n1,red,0\n", "if this column is the one to predict, pass target='b'."),
        ("1,2,3\n1,red,0\n", "if this column is the one to predict, pass target=1."),
        ("a,b,y\n1_000,2,0\n", "line 2, column 'a': expected a number, found '1_000'."),
        ("a,b,y\n0x1F,2,0\n", "expected a number, found '0x1F'."),
        ('a,y\n"1,000",0\n', "found '1,000'. Write it with a decimal point and without commas."),
        ("a;y\n1,5;0\n", "found '1,5'. Write it with a decimal point and without commas."),
        ("1,5;0\n2,5;1\n", "line 1, column 'x0' (position 0, counted from 0): expected a number"),
        ("a,b,y\n1;2,3,4\n", "The columns were split at ','; if that is not right, pass delimiter"),
        # nan and inf
        ("a,b,y\n1,nan,0\n", "line 2, column 'b': expected a finite number, found 'nan'."),
        ("a,b,y\n1,2,0\n-Infinity,2,0\n", "line 3, column 'a': expected a finite number, found"),
        ("a,b,y\n1,2,inf\n", "line 2, column 'y': expected a finite number, found 'inf'."),
        ("a,b,y\n1,1e400,0\n", "found '1e400'. One nan or inf would spoil every weight"),
        ("nan,2\n3,4\n", "line 1, column 'x0' (position 0, counted from 0): expected a finite"),
        # headers
        ("a,b,a,y\n1,2,3,4\n", "line 1: columns 1 and 3 are both named 'a'. Rename or delete one."),
        (",a,y\n0,1,2\n", "line 1: column 1 of 3 has no name. Name it there, or delete it if"),
        ("a,y,\n0,1,\n", "line 1: column 3 of 3 has no name."),
        ("1,a,0\n2,3,0\n", "line 1: 'a' is text and '1' is a number, so it is not clear whether"),
        ("oops,0\n2,1\n", "line 1: 'oops' is text and '0' is a number, so it is not clear"),
        # numbers and labels in one target column
        ("a,y\n1,0\n1,1\n1,x\n", "line 4, column 'y': 'x' is text, but '0' in line 2 is a number."),
        ("a,y\n1,u\n1,v\n1,5\n", "line 4, column 'y': '5' is a number, but 'u' in line 2 is text."),
        ("1,label\n2,0\n3,1\n", "(If the first line names the columns: header=True.)"),
        # quotes
        ('a,y\n1,2\n"3,4\n5,6\n', "line 3: the quotes in this row do not match up"),
        ('a,y\n1,2\n"3"x,4\n', "line 3: the quotes in this row do not match up"),
        ('"a', "line 1: the quotes in this row do not match up"),
        # lines are counted in the file, not in rows: quoted line breaks and blank lines
        ('a,y\n"1\n",0\n\nx,0\n', "line 5, column 'a': expected a number, found 'x'."),
        ("a,y\r1,0\r\rx,0", "line 4, column 'a': expected a number, found 'x'."),
    ],
)
def test_bad_text(file, text, says):
    message = refusal(DataError, read_csv, file(text))
    assert says in message
    assert message.startswith("data.csv")


def test_a_header_declared_to_be_data(file):
    message = refusal(DataError, read_csv, file("a,y\n1,2\n"), header=False)
    assert "line 1, column 'x0' (position 0, counted from 0): expected a number, found 'a'." in (
        message
    )
    assert "If this line names the columns, pass header=True" in message


def test_long_cells_are_cut_short(file):
    message = refusal(DataError, read_csv, file("a,y\n" + "z" * 5000 + ",1\n"))
    assert len(message) < 300
    assert "zzz...zzz" in message


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "line 1: byte 0x89 is not UTF-8 text."),
        ("a,y\n1,2\n\u00e9,3\n".encode("latin-1"), "line 3: byte 0xe9 is not UTF-8 text."),
        ("a,y\n1,2\n".encode("utf-16"), "line 1: byte 0xff is not UTF-8 text."),
        ("a,y\n1,2\n".encode("utf-16-le"), "line 1: a zero byte, so this is not UTF-8 text."),
        (b"PK\x03\x04\n\0\0", "line 2: a zero byte"),
    ],
)
def test_not_text(file, raw, says):
    message = refusal(DataError, read_csv, file(raw))
    assert says in message
    assert "save it there as 'CSV UTF-8'" in message


def test_not_a_file(file, tmp_path):
    file(PETS)
    message = refusal(DataError, read_csv, "dota.csv")
    assert "There is no file 'dota.csv' (looked for " in message
    assert "Check the spelling and the folder." in message
    for folder in (tmp_path, "."):
        assert "is a folder. Give the name of a CSV file in it." in refusal(
            DataError, read_csv, folder
        )
    assert "cannot be read: " in refusal(DataError, read_csv, "a\0b.csv")
    assert "data.csv" in refusal(DataError, read_csv, "data.csv/inside.csv")


@pytest.mark.parametrize("path", [5, None, 1.5, ["data.csv"], True])
def test_not_even_a_path(path):
    message = refusal(OptionError, read_csv, path)
    assert "path must be the name of a CSV file, not " in message
    assert repr(path) in message


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"target": "Kind"}, "has no column named 'Kind': line 1 names 'weight', 'length', 'kind'"),
        ({"target": ""}, "has no column named ''"),
        ({"target": 3}, "target=3 is no column of data.csv: line 1 has 3 cells, 'weight', "),
        ({"target": -4}, "Give a position from 0 to 2, or -1 for the last."),
        ({"target": None}, "target must be a column's name or its position, not None"),
        ({"target": True}, "not True (a bool). Give target='price', or target=-1"),
        ({"target": 1.0}, "not 1.0 (a float)"),
        ({"target": ["kind"]}, "not ['kind'] (a list)"),
        ({"header": 0}, "header must be True (the first line names the columns), False"),
        ({"header": "yes"}, "not 'yes' (a str)"),
        ({"header": False, "target": "kind"}, "target='kind' is a name, but header=False"),
        ({"delimiter": "\\t"}, "delimiter must be a single character such as ',' or '\\t'"),
        ({"delimiter": ""}, "not '' (a str)"),
        ({"delimiter": '"'}, "delimiter must be a single character"),
        ({"delimiter": "\n"}, "delimiter must be a single character"),
        ({"delimiter": 9}, "not 9 (an int)"),
    ],
)
def test_options_are_checked(file, options, says):
    assert says in refusal(OptionError, read_csv, file(PETS), **options)


def test_a_name_that_a_file_without_header_cannot_have(file):
    message = refusal(OptionError, read_csv, file("1,2,0\n"), "y")
    assert "has no column named 'y': line 1 names '1', '2', '0'." in message
    assert "or a position such as target=-1 if the file has no header." in message


def test_many_columns_are_not_all_listed(file):
    text = ",".join(f"c{i}" for i in range(1000)) + "\n"
    message = refusal(OptionError, read_csv, file(text), "label")
    assert "'c19', ..." in message
    assert "'c20'" not in message


def test_wrong_delimiter(file):
    message = refusal(DataError, read_csv, file(PETS), delimiter=";")
    assert "a single cell, 'weight,length,kind', when split at ';'" in message
    assert "pass that as delimiter" in message


@settings(deadline=None, max_examples=200)
@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(st.sampled_from('ab019.-;,|"\n\r\t _'), max_size=60).map(str.encode),
    ),
    st.sampled_from([-1, 0, 1, "a"]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, ",", ";", " ", "\t"]),
)
def test_whatever_the_file_holds(raw, target, header, delimiter):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "any.csv")
        path.write_bytes(raw)
        table = None
        with contextlib.suppress(ChainruleError):
            table = read_csv(path, target, header, delimiter)
    if table is None:
        return
    assert len(table.X) == len(table.y) >= 1
    assert {len(row) for row in table.X} == {len(table.feature_names)}
    assert all(math.isfinite(x) for row in table.X for x in row)
    assert all(math.isfinite(x) for x in table.y)


def test_public_names():
    assert chainrule.data.__all__ == [
        "Dataset",
        "MatchedRows",
        "Table",
        "blobs",
        "circle",
        "digits",
        "moons",
        "read_csv",
        "read_rows",
        "spiral",
        "train_test_split",
        "xor",
    ]
