"""Compute what only values have: units that are zero, elements near the ends, entropy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import torch

from tb_gradgraph.statistics import ValueMeaning
from tb_gradgraph.summarize.arithmetic.elements import real_floats

#: An element is near an end if it is within this share of the range.
NEAR = 0.01
#: The entropy is the mean over a sample of distributions, evenly spread: of at most this many
#: elements together, but at least so many distributions.
MOST_ELEMENTS = 4096
LEAST_DISTRIBUTIONS = 8


class Counts(Protocol):
    """Compiled code that computes the same; None for a tensor that it cannot read."""

    def dead_units(self, values: torch.Tensor, dim: int) -> int | None:
        """Return how many units along ``dim`` are zero."""

    def near_ends(self, values: torch.Tensor, low: float, high: float) -> int | None:
        """Return how many elements are at most ``low`` or at least ``high``."""

    def mean_entropy(self, values: torch.Tensor, step: int) -> float | None:
        """Return the mean entropy of every ``step``-th distribution along the last dimension."""


def further_statistics(
    values: torch.Tensor, meaning: ValueMeaning, counts: Counts | None
) -> Iterator[tuple[str, torch.Tensor | float]]:
    """Yield names and numbers, each a number or a 0-d tensor on the device of ``values``.

    Nothing for empty or complex tensors. An element that is NaN is not zero, and near no end; a
    distribution with NaN is left out of the mean of entropies.
    """
    if not values.numel() or values.is_complex() or values.layout != torch.strided:
        return
    if meaning.units is not None:
        yield "zero_units", _zero_units(values, meaning.units, counts)
    if meaning.ends is not None:
        yield "saturated", _saturated(values, *meaning.ends, counts)
    if meaning.is_distribution and values.shape[-1] > 1:
        yield "entropy", _entropy(values, counts)


def _zero_units(values: torch.Tensor, dim: int, counts: Counts | None) -> torch.Tensor | float:
    """Return the share of units along ``dim`` all of whose elements are zero."""
    dead = None if counts is None else counts.dead_units(values, dim)
    if dead is not None:
        return dead / values.shape[dim]
    others = [other for other in range(values.dim()) if other != dim]
    return values.ne(0).any(others).logical_not().float().mean()


def _saturated(
    values: torch.Tensor, low: float, high: float, counts: Counts | None
) -> torch.Tensor | float:
    """Return the share of elements within ``NEAR`` of the range's length of one of its ends."""
    margin = NEAR * (high - low)
    near = None if counts is None else counts.near_ends(values, low + margin, high - margin)
    if near is not None:
        return near / values.numel()
    floats = real_floats(values)
    return ((floats <= low + margin) | (floats >= high - margin)).float().mean()


def _entropy(values: torch.Tensor, counts: Counts | None) -> torch.Tensor | float:
    """Return the mean entropy of the distributions along the last dimension, as a share of its maximum."""
    size = values.shape[-1]
    total = values.numel() // size
    step = -(-total // max(LEAST_DISTRIBUTIONS, MOST_ELEMENTS // size))
    entropy = None if counts is None else counts.mean_entropy(values, step)
    if entropy is not None:
        return entropy / math.log(size)
    rows = real_floats(values.reshape(-1, size)[::step])
    return (torch.special.entr(rows).sum(-1) / math.log(size)).nanmean()
