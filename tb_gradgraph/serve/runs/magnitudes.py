"""Where the magnitudes of many numbers lie: from end to end, and where most of them are."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tb_gradgraph.record import StoredColumn

#: Of each octave: how finely it is told where most numbers lie.
_BINS = 8
#: Left out at either end, as xarray's ``robust=True`` does; of ten or more numbers at least one.
_LEFT_OUT = 0.02
_FEWEST = 10
#: Beyond the others by less than this part of their length, a number is no outlier.
_MARGIN = 0.5

Range = tuple[float, float]


class Magnitudes(NamedTuple):
    """Of finite numbers that are not zero."""

    least: float
    greatest: float
    bins: np.ndarray  # of log2, those that are not empty, ascending
    counts: np.ndarray


def magnitudes_of_column(column: StoredColumn, aside: Sequence[int] = ()) -> Magnitudes | None:
    """Look at the numbers of a column; ``None`` where none of them is finite and not zero.

    Those of rows ``aside`` do not count to where most lie, unless there are no others.
    """
    if column.values is None:
        return None
    is_aside = np.zeros(column.values.shape, bool)
    if column.is_whole:
        is_aside[:, list(aside)] = True
    elif aside:
        presence = column.presence
        rows = [np.flatnonzero(presence.record(at)) for at in range(presence.records)]
        is_aside[:] = np.isin(np.concatenate([*rows, np.zeros(0, np.int64)]), list(aside))
    return magnitudes_of(column.values, is_aside)


def magnitudes_of(values: np.ndarray, is_aside: np.ndarray | None = None) -> Magnitudes | None:
    """Look at many numbers; those that are aside do not count to where most lie."""
    counts_for = np.isfinite(values) & (values != 0)
    found = np.abs(values[counts_for])
    if not len(found):
        return None
    if is_aside is not None:
        counts_for &= ~is_aside
    most = np.abs(values[counts_for]) if counts_for.any() else found
    bins, counts = np.unique(np.floor(np.log2(most) * _BINS).astype(np.int32), return_counts=True)
    return Magnitudes(float(found.min()), float(found.max()), bins, counts)


def domain_of(parts: Sequence[Magnitudes]) -> Range | None:
    """Give the least and the greatest of all."""
    if not parts:
        return None
    return min(part.least for part in parts), max(part.greatest for part in parts)


def fences_of(parts: Sequence[Magnitudes]) -> Range | None:
    """Give two magnitudes beyond which a number lies far outside of the others.

    Of the logarithms at most 2 % at either end are beyond, and no nearer to the rest than half
    of its length: of numbers spread as by chance (log-normal) none, up to some 25,000.
    """
    if not parts:
        return None
    bins = np.concatenate([part.bins for part in parts])
    order = np.argsort(bins, kind="stable")
    passed = np.cumsum(np.concatenate([part.counts for part in parts])[order])
    total = int(passed[-1])
    left = 0 if total < _FEWEST else math.ceil(_LEFT_OUT * total)
    low = int(bins[order][np.searchsorted(passed, left, side="right")])
    high = int(bins[order][np.searchsorted(passed, total - left)]) + 1
    margin = _MARGIN * (high - low)
    return _power((low - margin) / _BINS), _power((high + margin) / _BINS)


def _power(exponent: float) -> float:
    """Give 2 to the ``exponent``, within what a float can be."""
    lowest, highest = math.log2(sys.float_info.min), sys.float_info.max_exp - 1
    return 2.0 ** min(max(exponent, lowest), highest)
