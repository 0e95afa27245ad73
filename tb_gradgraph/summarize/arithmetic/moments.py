"""Compute moments: the ten numbers to which a tensor, a block, or a row of a batch is reduced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

#: The columns of moments, all float64. Sums are over finite elements divided by ``abs_max``, so
#: that 1e200 does not overflow, and 1e-200 does not vanish, when it is squared.
COLUMNS = ("finite", "nan", "posinf", "neginf", "zero", "mean", "spread", "square", "min", "max")
# mean: mean of finite elements. spread: sum of squared distances from the mean, divided by abs_max
# squared. square: sum of squares, divided by abs_max squared. min, max: +inf, -inf if no element is
# finite.

#: Columns that count or sum elements: a repeated element adds to them again.
EXTENSIVE = ("finite", "nan", "posinf", "neginf", "zero", "spread", "square")

_INF = float("inf")


class Reduction(Protocol):
    """Sums and compares elements, to one number or to one number for each row."""

    @property
    def xp(self) -> Any:
        """Return numpy or torch."""

    def total(self, terms: Any) -> Any:
        """Sum, in the widest float type."""

    def least(self, terms: Any) -> Any:
        """Return the least."""

    def greatest(self, terms: Any) -> Any:
        """Return the greatest."""

    def spread_out(self, numbers: Any) -> Any:
        """Return, for each element, the number of its row."""


def exact_moments(values: Any, by: Reduction) -> Any:
    """Reduce flat floats of the widest type to rows of ``COLUMNS``, whatever values they hold.

    The same formula serves numpy arrays on the host and torch tensors on a device, where
    nothing is read back.
    """
    xp = by.xp
    is_finite = xp.isfinite(values)
    finite = by.total(is_finite)
    low = by.least(xp.where(is_finite, values, _INF))
    high = by.greatest(xp.where(is_finite, values, -_INF))
    scale = xp.maximum(xp.abs(low), xp.abs(high))
    scale = xp.where((scale > 0) & xp.isfinite(scale), scale, 1.0)
    scaled = xp.where(is_finite, values / by.spread_out(scale), 0.0)
    mean = by.total(scaled) / finite.clip(min=1)
    away = xp.where(is_finite, scaled - by.spread_out(mean), 0.0)
    columns = (
        finite,
        by.total(xp.isnan(values)),
        by.total(values == _INF),
        by.total(values == -_INF),
        by.total(values == 0),
        mean * scale,
        by.total(away * away),
        by.total(scaled * scaled),
        low,
        high,
    )
    return xp.stack(columns, 1)


class Limits(NamedTuple):
    """The limits within which plain sums in a type are accurate enough."""

    least: float  # magnitudes whose squares, and sums of squares, the type can hold
    greatest: float
    spread: float  # least share of the sum of squares that must remain without the mean


def limits_of(values: Any) -> Limits:
    """Return the limits of float32 or float64."""
    return Limits(1e-15, 1e17, 0.1) if values.itemsize == 4 else Limits(1e-140, 1e150, 1e-6)


def are_sound(total: Any, square: Any, low: Any, high: Any, count: Any, limits: Limits) -> Any:
    """Return whether plain sums over all elements are accurate enough; for numbers or arrays.

    They are not if an element is not finite, if squares exceed the range of the type, or if the
    spread is the small difference of large numbers. Then a wider type or ``exact_moments`` is
    needed.
    """
    in_range = (low < -limits.least) | (high > limits.least)
    in_range &= (low > -limits.greatest) & (high < limits.greatest)
    distinct = square - total * total / count >= limits.spread * square
    return ((low == 0) & (high == 0)) | (in_range & (distinct | (count == 1)))


def moments_of_sums(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Turn plain sums over all elements into rows of ``COLUMNS``.

    Args:
        sums: float64 of shape ``[rows, 5]``: sum, sum of squares, least, greatest, count of
            elements that are not zero. The result is accurate only if they are.
        counts: How many elements each row has, at least one.
    """
    total, square, low, high, nonzero = sums.T
    moments = np.zeros((len(counts), len(COLUMNS)))
    column = dict(zip(COLUMNS, moments.T))
    column["finite"][:] = counts
    column["zero"][:] = counts - nonzero
    column["min"][:], column["max"][:] = low, high
    with np.errstate(all="ignore"):
        scale = _scale(low, high)
        column["mean"][:] = total / counts
        column["square"][:] = square / scale**2
        column["spread"][:] = (square - total * total / counts) / scale**2
    column["spread"][counts == 1] = 0
    return moments


def merged_moments(rows: np.ndarray, starts: Sequence[int] | np.ndarray) -> np.ndarray:
    """Merge rows of ``COLUMNS`` of the parts of each tensor, by Chan's formula.

    Args:
        rows: One row for each part.
        starts: The first part of each tensor, ascending.
    """
    if len(starts) == len(rows):
        return rows
    part = dict(zip(COLUMNS, rows.T))
    lengths = np.diff(np.append(starts, len(rows)))
    result = {name: np.add.reduceat(part[name], starts) for name in COLUMNS[:5]}
    result["min"] = np.minimum.reduceat(part["min"], starts)
    result["max"] = np.maximum.reduceat(part["max"], starts)
    scale = _scale(result["min"], result["max"])
    rescale = _scale(part["min"], part["max"]) / np.repeat(scale, lengths)
    result["square"] = np.add.reduceat(part["square"] * rescale**2, starts)
    mean = part["mean"] / np.repeat(scale, lengths)
    common = np.add.reduceat(mean * part["finite"], starts) / np.maximum(result["finite"], 1)
    away = part["spread"] * rescale**2 + part["finite"] * (mean - np.repeat(common, lengths)) ** 2
    result["spread"] = np.add.reduceat(away, starts)
    result["mean"] = common * scale
    return np.stack([result[name] for name in COLUMNS], 1)


def _scale(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    scale = np.maximum(np.abs(low), np.abs(high))
    return np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
