"""Statistics of a whole, merged from parts, are those of plain torch over the whole."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tb_gradgraph.ranks.merge import merge_histograms, merge_parts, middle_of
from tb_gradgraph.statistics import STATISTICS
from tests.oracle import statistics_of
from tests.summarize import oracle

AT = {name: at for at, name in enumerate(STATISTICS)}
OF_GRADIENTS = (
    *("l2_norm", "mean", "std", "min", "max", "abs_max", "zero_fraction"),
    *("nan", "posinf", "neginf", "numel"),
)


def row_of(tensor: torch.Tensor) -> np.ndarray:
    """Return the statistics of a tensor in the order of a table's columns, in float64."""
    found = statistics_of(tensor.double())
    numbers = [found.get(name) for name in STATISTICS]
    return np.array([math.nan if number is None else number for number in numbers])


def tensor(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


GENERATOR = torch.Generator().manual_seed(0)
WHOLES = {
    "random": torch.randn(1000, generator=GENERATOR, dtype=torch.float64) + 3,
    "far from zero": torch.randn(64, generator=GENERATOR, dtype=torch.float64) * 1e-6 + 1e6,
    "huge": torch.randn(100, generator=GENERATOR, dtype=torch.float64) * 1e200,
    "tiny": torch.randn(100, generator=GENERATOR, dtype=torch.float64) * 1e-200,
    "zeros": torch.zeros(10, dtype=torch.float64),
    "with NaN and infinity": tensor(1, math.nan, -2, math.inf, -math.inf, 0, 0.5, math.nan),
    "nothing finite": tensor(math.nan, math.inf, math.nan, math.nan),
    "one": tensor(-2.5),
    "none": tensor(),
}


@pytest.mark.parametrize("name", WHOLES)
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_parts_give_what_the_whole_gives(name: str, count: int) -> None:
    whole = WHOLES[name]
    cuts = sorted(torch.randint(len(whole) + 1, (count - 1,), generator=GENERATOR).tolist())
    pieces = torch.tensor_split(whole, cuts)  # uneven, and some are empty
    values = np.stack([row_of(piece) for piece in pieces])[:, None]
    found = merge_parts(values, np.ones((count, 1), bool))[0]
    expected = row_of(whole)
    for statistic in OF_GRADIENTS:
        number = found[AT[statistic]]
        about = expected[AT["abs_max"]] if statistic in ("mean", "std") else None
        wanted = pytest.approx(
            expected[AT[statistic]],
            rel=1e-12,
            abs=0 if about is None or math.isnan(about) else 1e-14 * about,
            nan_ok=True,
        )
        assert number == wanted, statistic


def test_parts_that_do_not_count_are_left_out() -> None:
    values = np.stack([row_of(tensor(1, 2)), row_of(tensor(100)), row_of(tensor(3))])[:, None]
    found = merge_parts(values, np.array([[True], [False], [True]]))[0]
    assert found[AT["l2_norm"]] == pytest.approx(math.sqrt(14))
    assert found[AT["numel"]] == 3
    nothing = merge_parts(values, np.zeros((3, 1), bool))[0]
    assert np.isnan(nothing).all()


def with_update(before: torch.Tensor, after: torch.Tensor) -> np.ndarray:
    row = row_of(before)
    row[AT["weight_norm"]], row[AT["update_norm"]] = before.norm(), (after - before).norm()
    return row


def test_norms_of_weights_and_updates() -> None:
    before = torch.randn(30, generator=GENERATOR, dtype=torch.float64)
    after = before + 1e-3 * torch.randn(30, generator=GENERATOR, dtype=torch.float64)
    pieces = zip(before.tensor_split([7, 7]), after.tensor_split([7, 7]))
    values = np.stack([with_update(*pair) for pair in pieces])[:, None]
    found = merge_parts(values, np.ones((3, 1), bool))[0]
    assert found[AT["weight_norm"]] == pytest.approx(float(before.norm()))
    assert found[AT["update_norm"]] == pytest.approx(float((after - before).norm()))
    ratio = float((after - before).norm() / before.norm())
    assert found[AT["update_ratio"]] == pytest.approx(ratio)
    assert np.isnan(found[AT["update_spread"]])
    values[0, 0, AT["update_norm"]] = np.nan  # one process could not tell
    lacking = merge_parts(values, np.ones((3, 1), bool))[0]
    assert np.isnan(lacking[AT["update_norm"]]) and np.isnan(lacking[AT["update_ratio"]])


def test_the_spread_of_an_estimated_update() -> None:
    """Of the norm sqrt(a^2 + b^2), by the usual propagation of independent errors."""
    values = np.full((2, 1, len(STATISTICS)), np.nan)
    values[:, 0, AT["numel"]] = 5
    values[:, 0, AT["update_norm"]] = (3, 4)
    values[:, 0, AT["update_spread"]] = (0.1, 0.2)
    found = merge_parts(values, np.ones((2, 1), bool))[0]
    assert found[AT["update_norm"]] == pytest.approx(5)
    assert found[AT["update_spread"]] == pytest.approx(math.hypot(0.6 * 0.1, 0.8 * 0.2))


def histogram_of(values: torch.Tensor) -> np.ndarray:
    return np.array(oracle.histogram_of(values.tolist()), np.uint16)


def test_histograms_of_parts_sampled_whole_are_exact() -> None:
    whole = torch.randn(500, generator=GENERATOR)
    pieces = whole.tensor_split([100, 101])
    histograms = np.stack([histogram_of(piece) for piece in pieces])[:, None]
    numel = np.array([[len(piece)] for piece in pieces], float)
    found = merge_histograms(histograms, numel, np.ones((3, 1), bool))[0]
    assert found.tolist() == histogram_of(whole).tolist()


def test_a_part_counts_in_a_histogram_as_much_as_it_has_elements() -> None:
    histograms = np.zeros((2, 1, 32), np.uint16)
    histograms[0, 0, 3], histograms[1, 0, 9] = 4096, 1024
    numel = np.array([[4_096_000], [1024]], float)
    found = merge_histograms(histograms, numel, np.ones((2, 1), bool))[0]
    assert found[3] / max(1, found[9]) == pytest.approx(4000, rel=0.05)


def test_no_bin_overflows() -> None:
    histograms = np.full((40, 1, 32), 4096, np.uint16)
    found = merge_histograms(histograms, np.full((40, 1), 32 * 4096.0), np.ones((40, 1), bool))[0]
    assert set(found.tolist()) == {2**16 - 1}


def test_the_middle_of_samples_is_that_of_one_of_them_and_keeps_nan() -> None:
    rows = [row_of(one) for one in (tensor(1, 2), tensor(3, 4), tensor(math.nan, 50))]
    values = np.stack(rows)[:, None]
    found = middle_of(values, np.ones((3, 1), bool))[0]
    assert found[AT["l2_norm"]] == pytest.approx(5)
    assert found[AT["nan"]] == 1
    two = middle_of(values, np.array([[True], [False], [False]]))[0]
    assert two.tolist() == pytest.approx(rows[0].tolist(), nan_ok=True)
    nobody = middle_of(values, np.zeros((3, 1), bool))[0]
    assert np.isnan(nobody).all()
