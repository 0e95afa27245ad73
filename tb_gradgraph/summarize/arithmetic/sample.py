"""Compute histograms: a strided sample of each tensor is counted by magnitude on the host."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from tb_gradgraph.statistics import (
    HISTOGRAM_BINS,
    HISTOGRAM_LOW,
    HISTOGRAM_SAMPLE,
    HISTOGRAM_WIDTH,
)
from tb_gradgraph.summarize.arithmetic.elements import real_floats
from tb_gradgraph.summarize.arithmetic.segments import starts_of

_LEAST_SAMPLE = 16  # from each tensor, however many tensors share the budget
_SPARE = HISTOGRAM_BINS  # the bin for elements that are not counted
_WIDTH = HISTOGRAM_BINS + 1
_CHUNK = 32_768  # with this many sampled elements, all temporary arrays fit into cache


def sample_limit(tensors: int, budget: int | None) -> int:
    """Return how many elements of each tensor to sample at most, if ``tensors`` share ``budget``."""
    if budget is None:
        return HISTOGRAM_SAMPLE
    return min(HISTOGRAM_SAMPLE, max(_LEAST_SAMPLE, budget // max(tensors, 1)))


def sample_of(flat: torch.Tensor, limit: int) -> torch.Tensor:
    """Copy at most ``limit`` elements of a flat tensor, evenly spread, as real floats."""
    return real_floats(flat[:: _stride(flat.numel(), limit)].clone())


def samples_of(
    flat: torch.Tensor, counts: np.ndarray, limit: int
) -> tuple[torch.Tensor, np.ndarray]:
    """Do ``sample_of`` for concatenated tensors; return the concatenated samples, and their sizes."""
    sizes = np.array([-(-count // _stride(count, limit)) for count in counts])
    if (sizes == counts).all():
        return flat, sizes
    return torch.cat([rows.reshape(-1) for _, rows in _rows_of(flat, counts, limit)]), sizes


def histograms_of(
    flat: np.ndarray,
    counts: np.ndarray,
    limit: int = HISTOGRAM_SAMPLE,
    divisor: float | None = None,
) -> np.ndarray:
    """Count the finite nonzero elements of samples by log2 of their magnitude.

    Args:
        flat: The concatenated tensors to sample.
        counts: The number of elements of each tensor.
        limit: How many elements a sample has at most.
        divisor: A number by which each element is divided first.

    Returns:
        uint16 of shape ``[len(counts), HISTOGRAM_BINS]``.
    """
    result = np.zeros((len(counts), HISTOGRAM_BINS), np.uint16)
    for place, rows in _rows_of(flat, counts, limit):
        bins = np.arange(len(rows))[:, None] * _WIDTH + _bins_of(divided(rows, divisor))
        found = np.bincount(bins.reshape(-1), minlength=len(rows) * _WIDTH)
        result[place : place + len(rows)] = found.reshape(-1, _WIDTH)[:, :HISTOGRAM_BINS]
    return result


def divided(array: np.ndarray, divisor: float | None) -> np.ndarray:
    """Divide by a number, if there is one, in the array's own type."""
    if divisor is None:
        return array
    with np.errstate(all="ignore"):
        return array / array.dtype.type(divisor)


def _stride(count: int, limit: int) -> int:
    return max(1, -(-count // limit))


def _rows_of(flat: Any, counts: np.ndarray, limit: int) -> Iterator[tuple[int, Any]]:
    """Yield samples of consecutive tensors of equal size as rows of a view, and the place of the first."""
    starts = starts_of(counts)
    edges = (np.flatnonzero(np.diff(counts)) + 1).tolist()
    for first, end in itertools.pairwise([0, *edges, len(counts)]):
        count = int(counts[first])
        stride = _stride(count, limit)
        step = max(1, _CHUNK * stride // max(1, count))
        for place in range(first, end, step) if count else ():
            size = min(step, end - place) * count
            part = flat[starts[place] : starts[place] + size]
            yield place, part.reshape(-1, count)[:, ::stride]


def _bins_of(samples: np.ndarray) -> np.ndarray:
    """Return each number's bin, from the exponent in its bits; ten times as fast as ``frexp``."""
    kind = np.finfo(samples.dtype)
    bits: np.ndarray = samples.view(np.uint32 if kind.bits == 32 else np.uint64)
    exponents = (bits >> kind.nmant).astype(np.uint16) & (2**kind.nexp - 1)
    bins = _BINS[kind.bits][exponents]
    if not exponents.all():
        bins[(exponents == 0) & (samples != 0)] = 0  # subnormal
    return bins


def _bins_by_exponent(dtype: type) -> np.ndarray:
    kind = np.finfo(dtype)
    exponents = np.arange(2**kind.nexp) - (2 ** (kind.nexp - 1) - 1)  # floor of log2|g|
    bins = ((exponents - HISTOGRAM_LOW) // HISTOGRAM_WIDTH).clip(0, HISTOGRAM_BINS - 1)
    bins[[0, -1]] = _SPARE  # zero; infinity and NaN
    return bins.astype(np.uint8)


_BINS = {32: _bins_by_exponent(np.float32), 64: _bins_by_exponent(np.float64)}
