"""Lines of blocks, and the places of numbers in them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_gradgraph.commands.show.number_line import number_line, sparkline, tell_range, thinned

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("numbers", "line", "told"),
    [
        ([], "", "none is finite"),
        ([1], "▅", "1"),
        ([0, 0], "▅▅", "0"),
        ([1, 2, 3, 4, 5, 6, 7, 8], "▁▂▃▄▅▆▇█", "1 to 8"),
        ([-1, 1], "▁█", "-1 to 1"),
        ([1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7], "▁▂▃▄▅▆▇█", "1 to 1e+07, log scale"),
        ([0, 1, 1e7], "·▁█", "1 to 1e+07, log scale, · zero"),
        ([-1000, 1], "▁█", "-1e+03 to 1"),  # no logarithm where a number is negative
        ([1, NAN, 2, INF, -INF], "▁×█××", "1 to 2, × not finite"),
        ([NAN, INF], "××", "none is finite"),
        ([-1.7e308, 0, 1.7e308], "▁▅█", "-1.7e+308 to 1.7e+308"),
        ([5e-324, 1.7e308], "▁█", "4.94e-324 to 1.7e+308, log scale"),
    ],
)
def test_a_line_and_what_is_said_of_it(numbers, line, told):
    assert (sparkline(numbers), tell_range(numbers)) == (line, told)


def test_of_many_numbers_the_greatest_and_those_not_finite_stay():
    numbers = [1.0] * 1000
    numbers[500], numbers[700] = 50.0, NAN
    line = sparkline(numbers, 32)
    assert (len(line), line[16], line[22]) == (32, "█", "×")
    assert line.count("▁") == 30
    pairs = thinned(list(enumerate(numbers)), 10)
    assert [pair[0] for pair in pairs if pair[1] != 1.0] == [500, 700]


@given(st.lists(st.floats()), st.integers(1, 40))
def test_any_numbers_give_a_line_of_at_most_that_width(numbers, width):
    assert len(sparkline(numbers, width)) == min(len(numbers), width)
    line = number_line(numbers)
    places = [place for number in numbers if (place := line.place(number)) is not None]
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    assert tell_range(numbers)
