"""Find the range of the magnitudes of many numbers: all of them, and without outliers."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tb_gradgraph.record import Presence, Segment, StoredColumn
from tb_gradgraph.statistics import STATISTICS

#: Bins per octave, which is the resolution for the bulk of the numbers.
_BINS = 8
#: The share that counts as outliers at either end, as in xarray's ``robust=True``; of ten or more
#: numbers at least one.
_LEFT_OUT = 0.02
_FEWEST = 10
#: A number is an outlier only if it is beyond the others by more than this share of their range.
_MARGIN = 0.5

Range = tuple[float, float]


class Magnitudes(NamedTuple):
    """The distribution of the magnitudes of finite nonzero numbers."""

    least: float
    greatest: float
    bins: np.ndarray  # bins of log2 that are not empty, ascending
    counts: np.ndarray


def magnitudes_of_statistic(
    segment: Segment, name: str, presence: Presence, aside: Sequence[int] = ()
) -> Magnitudes | None:
    """Return the magnitudes of a built-in statistic, or of one of the user's own, in a segment."""
    if name in STATISTICS:
        return magnitudes_of_column(segment.column(name, presence), aside)
    return magnitudes_of(segment.own.values(name))


def magnitudes_of_column(column: StoredColumn, aside: Sequence[int] = ()) -> Magnitudes | None:
    """Return the magnitudes of a column; ``None`` if no number is finite and nonzero.

    Rows ``aside`` do not count for the bulk, unless there are no others.
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
    """Return the magnitudes of many numbers. Those aside do not count for the bulk."""
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
    """Return the least and the greatest magnitude."""
    if not parts:
        return None
    return min(part.least for part in parts), max(part.greatest for part in parts)


def fences_of(parts: Sequence[Magnitudes]) -> Range | None:
    """Return two magnitudes. A number outside them is an outlier.

    At most 2 % of the logarithms at either end are outliers. An outlier is at least half the range
    of the others away from them. Of up to about 25,000 log-normal numbers, none is an outlier.
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
    """Return 2 to the ``exponent``, within what a float can be."""
    lowest, highest = math.log2(sys.float_info.min), sys.float_info.max_exp - 1
    return 2.0 ** min(max(exponent, lowest), highest)
