"""Moments of many small tensors that lie end to end on the host, in numpy."""

from __future__ import annotations

import numpy as np

from tb_gradgraph.summarize.moments import (
    COLUMNS,
    are_sound,
    exact_moments,
    limits_of,
    moments_of_sums,
)

_CHUNK = 65_536  # elements of which all passes but the first find what they need in cache


class _Segments:
    """Reduces flat arrays by segment; none may be empty."""

    xp = np

    def __init__(self, counts: np.ndarray) -> None:
        self._counts = counts
        self._starts = starts_of(counts)

    def total(self, terms: np.ndarray) -> np.ndarray:
        return np.add.reduceat(terms, self._starts, dtype=np.float64)

    def least(self, terms: np.ndarray) -> np.ndarray:
        return np.minimum.reduceat(terms, self._starts)

    def greatest(self, terms: np.ndarray) -> np.ndarray:
        return np.maximum.reduceat(terms, self._starts)

    def spread_out(self, numbers: np.ndarray) -> np.ndarray:
        return np.repeat(numbers, self._counts)


def starts_of(counts: np.ndarray) -> np.ndarray:
    """Give where each of several segments begins when they lie end to end."""
    return np.cumsum(counts) - counts


def exact_segments(flat: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Reduce segments of a flat array to rows of ``COLUMNS`` in float64, whatever stands in it."""
    with np.errstate(all="ignore"):
        return exact_moments(flat.astype(np.float64), _Segments(counts))


def segments_on_host(flat: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Reduce segments of a flat float32 or float64 array to rows of ``COLUMNS``.

    Sums are pairwise in the array's own type; the segments for which these do not
    do are reduced again in float64.
    """
    moments = np.zeros((len(counts), len(COLUMNS)))
    moments[:, -2:] = np.inf, -np.inf
    filled = np.flatnonzero(counts)
    counts = counts[filled]
    if len(counts) == 0:
        return moments
    sums = _sums(flat, starts_of(counts))
    found = moments_of_sums(sums, counts)
    with np.errstate(all="ignore"):
        doubtful = ~are_sound(*sums.T[:4], counts, limits_of(flat))
    if doubtful.any():
        chosen = flat[np.repeat(doubtful, counts)]
        found[doubtful] = exact_segments(chosen, counts[doubtful])
    moments[filled] = found
    return moments


def _sums(flat: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Give sum, sum of squares, least, greatest and count of nonzero elements of each segment."""
    sums = np.empty((len(starts), 5))
    scratch = np.empty(_CHUNK, flat.dtype)
    ends = np.append(starts[1:], len(flat))
    first = 0
    with np.errstate(all="ignore"):
        while first < len(starts):
            start = starts[first]
            last = max(np.searchsorted(ends, start + _CHUNK, "right"), first + 1)
            chunk = flat[start : ends[last - 1]]
            _sums_of_chunk(chunk, starts[first:last] - start, scratch, sums[first:last])
            first = last
    return sums


def _sums_of_chunk(
    chunk: np.ndarray, starts: np.ndarray, scratch: np.ndarray, sums: np.ndarray
) -> None:
    if len(chunk) > len(scratch):
        scratch = np.empty_like(chunk)
    work = scratch[: len(chunk)]
    sums[:, 0] = np.add.reduceat(chunk, starts)
    sums[:, 1] = np.add.reduceat(np.multiply(chunk, chunk, out=work), starts)
    sums[:, 2] = np.minimum.reduceat(chunk, starts)
    sums[:, 3] = np.maximum.reduceat(chunk, starts)
    nonzero = np.not_equal(chunk, 0, out=work.view(bool)[: len(chunk)])
    sums[:, 4] = np.add.reduceat(nonzero.view(np.int8), starts, dtype=np.int32)
