"""Slow answers that batches of tensors are checked against."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from tb_gradgraph.statistics import (
    HISTOGRAM_BINS,
    HISTOGRAM_LOW,
    HISTOGRAM_WIDTH,
    Statistics,
)
from tests.oracle import statistics_of


def _close(got: float | None, expected: float | int | None) -> bool:
    if got is None or expected is None:
        return got is None and expected is None
    return math.isclose(got, expected, rel_tol=2e-6, abs_tol=1e-300)


def assert_equal_the_oracle(found: Statistics | None, tensor: torch.Tensor) -> None:
    """Compare all statistics of a tensor with those from exact sums in Python."""
    assert found is not None
    expected = statistics_of(tensor)
    wrong = {
        name: (getattr(found, name), expected[name])
        for name in expected
        if not _close(getattr(found, name), expected[name])
    }
    # A mean near zero is a difference of great numbers: exact to the numbers' own precision.
    if "mean" in wrong and found.abs_max and expected["mean"] is not None:
        if abs(found.mean - expected["mean"]) < 1e-7 * found.abs_max:
            del wrong["mean"]
    assert not wrong


def histogram_of(values: Sequence[float]) -> list[int]:
    """Count finite nonzero numbers by ``math.frexp``."""
    counts = [0] * HISTOGRAM_BINS
    for value in values:
        if math.isfinite(value) and value != 0:
            exponent = math.frexp(value)[1] - 1
            place = (exponent - HISTOGRAM_LOW) // HISTOGRAM_WIDTH
            counts[min(max(place, 0), HISTOGRAM_BINS - 1)] += 1
    return counts
