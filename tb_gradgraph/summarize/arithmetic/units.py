"""Compute what only values have: units that are zero, elements near the ends, entropy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch

from tb_gradgraph.statistics import ValueMeaning
from tb_gradgraph.summarize.arithmetic.elements import real_floats

#: An element is near an end if it is within this share of the range.
NEAR = 0.01
#: The entropy is the mean over at most this many distributions, evenly spread.
MOST_DISTRIBUTIONS = 1024

#: Returns how many units along a dimension are zero; None if it cannot tell.
CountDead = Callable[[torch.Tensor, int], "int | None"]


def further_statistics(
    values: torch.Tensor, meaning: ValueMeaning, count_dead: CountDead | None
) -> Iterator[tuple[str, torch.Tensor | float]]:
    """Yield names and numbers, each a number or a 0-d tensor on the device of ``values``.

    Nothing for empty or complex tensors. An element that is NaN is not zero, and near no end; a
    distribution with NaN has the entropy NaN, which is left out of the mean.
    """
    if not values.numel() or values.is_complex() or values.layout != torch.strided:
        return
    if meaning.units is not None:
        yield "zero_units", _zero_units(values, meaning.units, count_dead)
    if meaning.ends is not None:
        yield "saturated", _saturated(values, *meaning.ends)
    if meaning.is_distribution and values.shape[-1] > 1:
        yield "entropy", _entropy(values)


def _zero_units(
    values: torch.Tensor, dim: int, count_dead: CountDead | None
) -> torch.Tensor | float:
    """Return the share of units along ``dim`` all of whose elements are zero."""
    dead = None if count_dead is None else count_dead(values, dim)
    if dead is not None:
        return dead / values.shape[dim]
    others = [other for other in range(values.dim()) if other != dim]
    return values.ne(0).any(others).logical_not().float().mean()


def _saturated(values: torch.Tensor, low: float, high: float) -> torch.Tensor:
    """Return the share of elements within ``NEAR`` of the range's length of one of its ends."""
    margin = NEAR * (high - low)
    floats = real_floats(values)
    return ((floats <= low + margin) | (floats >= high - margin)).float().mean()


def _entropy(values: torch.Tensor) -> torch.Tensor:
    """Return the mean entropy of the distributions along the last dimension, as a share of its maximum."""
    rows = values.reshape(-1, values.shape[-1])
    rows = real_floats(rows[:: -(-len(rows) // MOST_DISTRIBUTIONS)])
    entropies = torch.special.entr(rows).sum(-1) / math.log(values.shape[-1])
    return entropies.nanmean()
