"""Standardising: columns of mean 0 and deviation 1, and layers that take it over."""

import statistics

import pytest

from chainrule.nn.layers import Layer
from chainrule.nn.scaling import Scaling

ROWS = [[1.0, -200.0, 7.0], [2.0, 300.0, 7.0], [4.0, 50.0, 7.0]]


def test_columns_get_mean_0_and_deviation_1():
    first, second, constant = zip(*Scaling.of(ROWS).scaled(ROWS), strict=True)
    for column in (first, second):
        assert statistics.fmean(column) == pytest.approx(0.0, abs=1e-15)
        assert statistics.pstdev(column) == pytest.approx(1.0)
    assert constant == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1.7e308])
def test_columns_of_any_size(size):
    scaling = Scaling.of([[size], [-size]])
    assert scaling.means == [0.0]
    assert scaling.deviations == [pytest.approx(size)]


def test_rounding_is_no_spread():
    assert Scaling.of([[0.1], [0.1], [0.1]]).deviations == [1.0]


def test_a_layer_takes_the_scaling_of_its_inputs_over_and_gives_it_back():
    scaling, layer = Scaling.of(ROWS), Layer(3, 2, activation="tanh", seed=1)
    before = [p.data for p in layer.parameters()]
    expected = [[y.data for y in layer(row)] for row in scaling.scaled(ROWS)]
    scaling.into_inputs(layer)
    for row, outputs in zip(ROWS, expected, strict=True):
        assert [y.data for y in layer(row)] == pytest.approx(outputs)
    scaling.out_of_inputs(layer)
    assert [p.data for p in layer.parameters()] == pytest.approx(before)


def test_a_layer_takes_the_scaling_of_its_outputs_over_and_gives_it_back():
    scaling, layer = Scaling([5.0, -1.0], [2.0, 10.0]), Layer(1, 2, activation="linear", seed=1)
    before = [p.data for p in layer.parameters()]
    first, second = (y.data for y in layer([0.3]))
    scaling.into_outputs(layer)
    found = [y.data for y in layer([0.3])]
    assert found == pytest.approx([first * 2.0 + 5.0, second * 10.0 - 1.0])
    scaling.out_of_outputs(layer)
    assert [p.data for p in layer.parameters()] == pytest.approx(before)
