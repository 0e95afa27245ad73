"""The histogram: a strided sample of each tensor, counted by magnitude on the host."""

from __future__ import annotations

import numpy as np
import torch

from tb_gradgraph.statistics import (
    HISTOGRAM_BINS,
    HISTOGRAM_LOW,
    HISTOGRAM_SAMPLE,
    HISTOGRAM_WIDTH,
)
from tb_gradgraph.summarize.elements import real_floats
from tb_gradgraph.summarize.segments import starts_of

_LEAST_SAMPLE = 16  # of each tensor, however many share the budget
_SPARE = HISTOGRAM_BINS  # the bin of what is not counted


def sample_limit(tensors: int, budget: int | None) -> int:
    """Give how many elements of a tensor are sampled at most, if ``tensors`` share ``budget``."""
    if budget is None:
        return HISTOGRAM_SAMPLE
    return min(HISTOGRAM_SAMPLE, max(_LEAST_SAMPLE, budget // max(tensors, 1)))


def sample_of(flat: torch.Tensor, limit: int) -> torch.Tensor:
    """Copy at most ``limit`` elements of a flat tensor, evenly spread, as real floats."""
    return real_floats(flat[:: -(-flat.numel() // limit)].clone())


def sample_places(counts: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Give where the sampled elements of segments that lie end to end are, and how many of each."""
    strides = np.maximum(-(-counts // limit), 1)
    sizes = -(-counts // strides)
    within = np.arange(sizes.sum()) - np.repeat(starts_of(sizes), sizes)
    return np.repeat(starts_of(counts), sizes) + within * np.repeat(strides, sizes), sizes


def histograms_of(samples: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Count the finite nonzero elements of segments that lie end to end by log2 of their magnitude.

    Returns:
        uint16 of shape ``[len(sizes), HISTOGRAM_BINS]``.
    """
    width = HISTOGRAM_BINS + 1
    places = np.repeat(np.arange(len(sizes)) * width, sizes)
    places += _bins_of(samples)
    counts = np.bincount(places, minlength=len(sizes) * width)
    return counts.reshape(len(sizes), width)[:, :HISTOGRAM_BINS].astype(np.uint16)


def _bins_of(samples: np.ndarray) -> np.ndarray:
    """Read the bin of each number off the exponent in its bits: ten times faster than ``frexp``."""
    kind = np.finfo(samples.dtype)
    bits = samples.view(np.uint32 if kind.bits == 32 else np.uint64)
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
