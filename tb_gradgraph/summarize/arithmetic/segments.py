"""Compute the moments of many small concatenated tensors on the host, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tb_gradgraph.summarize.arithmetic.moments import (
    COLUMNS,
    are_sound,
    exact_moments,
    limits_of,
    moments_of_sums,
)

Careful = Callable[[np.ndarray, np.ndarray], np.ndarray]

_CHUNK = 65_536  # with this many elements, all passes after the first find their data in cache


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
    """Return the beginning of each of several concatenated segments."""
    return np.cumsum(counts) - counts


def segments_on_host(flat: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Reduce segments of a flat float32 or float64 array to rows of ``COLUMNS``.

    Sums are pairwise, in the type of the array. Segments for which this is not accurate enough are
    reduced again by ``careful_segments``.
    """
    moments = np.zeros((len(counts), len(COLUMNS)))
    moments[:, -2:] = np.inf, -np.inf
    filled = np.flatnonzero(counts)
    moments[filled] = _plain_or(careful_segments, flat, counts[filled])
    return moments


def careful_segments(flat: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Reduce nonempty segments to rows of ``COLUMNS``, for any values.

    First come plain sums in float64. If they are not accurate enough, for example because a value
    is not finite, several further passes follow.
    """
    return _plain_or(_exact_segments, flat.astype(np.float64, copy=False), counts)


def _plain_or(otherwise: Careful, flat: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Make rows of ``COLUMNS`` from plain sums, or by ``otherwise`` if these are not accurate enough."""
    sums = np.empty((len(counts), 5))
    scratch = np.empty(_CHUNK, flat.dtype)
    with np.errstate(all="ignore"):
        for rows, chunk in _chunks(flat, counts):
            _sums_of_chunk(chunk, starts_of(counts[rows]), scratch, sums[rows])
        found = moments_of_sums(sums, counts)
        total, square, low, high = sums.T[:4]
        doubtful = ~are_sound(total, square, low, high, counts, limits_of(flat))
    if doubtful.any():
        found[doubtful] = otherwise(flat[np.repeat(doubtful, counts)], counts[doubtful])
    return found


def _exact_segments(flat: np.ndarray, counts: np.ndarray) -> np.ndarray:
    moments = np.empty((len(counts), len(COLUMNS)))
    with np.errstate(all="ignore"):
        for rows, chunk in _chunks(flat, counts):
            moments[rows] = exact_moments(chunk, _Segments(counts[rows]))
    return moments


def _chunks(flat: np.ndarray, counts: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield ranges of whole segments that fit into the cache; at least one segment each."""
    ends = np.cumsum(counts)
    first = start = 0
    while first < len(counts):
        last = max(int(np.searchsorted(ends, start + _CHUNK, "right")), first + 1)
        yield slice(first, last), flat[start : ends[last - 1]]
        first, start = last, int(ends[last - 1])


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
