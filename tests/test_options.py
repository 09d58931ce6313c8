"""Settings: what is taken, and how a wrong one is refused."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from chainrule.errors import OptionError
from chainrule.options import choice, random_source, real, several, whole


@pytest.mark.parametrize("given", [1, 1.0, Fraction(1), np.float32(1), np.int8(1)])
def test_any_real_number_is_taken_as_a_float(given):
    found = real("lr", given, least=1.0, most=1.0, above=0.0, below=2.0)
    assert (found, type(found)) == (1.0, float)


@pytest.mark.parametrize("given", ["1", None, True, 1j, [1.0], math.nan, math.inf, -math.inf])
def test_anything_else_is_no_number(given):
    with pytest.raises(OptionError, match=r"lr must be a finite number; got .*such as lr=0\.5\."):
        real("lr", given, example="0.5")


def test_an_integer_beyond_floats_is_refused():
    with pytest.raises(OptionError, match="a finite number; got 1000"):
        real("lr", 10**400)


@pytest.mark.parametrize(
    ("bounds", "bad", "says"),
    [
        ({"least": 0.0}, -1e-9, "a finite number of at least 0;"),
        ({"most": 1.0}, 1.1, "a finite number of at most 1;"),
        ({"above": 0.0}, 0.0, "a finite number above 0;"),
        ({"below": 1.0}, 1.0, "a finite number below 1;"),
        ({"least": 0.0, "below": 1.0}, 1.0, "a finite number of at least 0 and below 1;"),
        ({"above": 0.0, "below": 1.0}, 0, "a finite number above 0 and below 1;"),
    ],
)
def test_bounds(bounds, bad, says):
    with pytest.raises(OptionError) as caught:
        real("share", bad, **bounds)
    assert f"share must be {says} got {bad!r}" in str(caught.value)


def test_bounds_that_belong_to_the_range():
    assert real("x", 0, least=0.0) == 0.0
    assert real("x", 1, most=1.0) == 1.0


@pytest.mark.parametrize("given", [0, -1, True, 1.0, "3", None])
def test_whole_refuses(given):
    with pytest.raises(OptionError, match=r"n must be a whole number of at least 1; got .* n=5"):
        whole("n", given, least=1, example=5)


def test_whole_takes_numpys_integers():
    assert type(whole("n", np.int64(3), least=1, example=5)) is int


@pytest.mark.parametrize("given", ["Mean", "", None, ["mean"]])
def test_choice_lists_what_there_is(given):
    with pytest.raises(OptionError, match="way must be one of 'mean', 'sum', or a number; got "):
        choice("way", given, ("mean", "sum"), "a number")


def test_random_sources():
    source = random.Random(1)
    assert random_source(source) is source
    assert random_source(None) is random
    assert random_source(random) is random
    assert random_source(np.int32(7)).uniform(0, 1) == random.Random(7).uniform(0, 1)


def test_counts():
    assert [several(n, "row") for n in (0, 1, 2, 1234)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1,234 rows",
    ]
