"""Norms over all parameters together, and what clipping made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tb_gradgraph.quantities import CLIP_FACTOR, GRAD_NORM, LOSS
from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

_NORM, _NAN = STATISTICS.index("l2_norm"), STATISTICS.index("nan")


def total_of(norms: np.ndarray) -> float:
    """Return the norm of the whole from the norms of its parts; NaN counts as nothing.

    Norms are divided by the greatest one before they are squared, so that neither 1e200 nor 1e-200
    is lost.
    """
    found = np.abs(norms[~np.isnan(norms)])
    most = float(found.max(initial=0.0))
    if most == 0 or math.isinf(most):
        return most
    return most * float(np.sqrt(np.square(found / most).sum()))


def grad_norm(table: StatisticsTable, rows: Iterable[int]) -> dict[str, float]:
    """Return the l2 norm of the gradients of ``rows`` together, or nothing if none of them has one.

    NaN if an element is NaN, and infinity if one is infinite, as ``torch.nn.utils.get_total_norm``
    gives.
    """
    present = [row for row in {*rows} if table.present[row]]
    if not present:
        return {}
    numbers = table.values[present]
    if (numbers[:, _NAN] > 0).any():
        return {GRAD_NORM: math.nan}
    if (numbers[:, NONFINITE_COLUMNS] > 0).any():
        return {GRAD_NORM: math.inf}
    return {GRAD_NORM: total_of(numbers[:, _NORM])}


def clip_factor(
    before: StatisticsTable, after: StatisticsTable, was_clipped: bool = True
) -> dict[str, float]:
    """Return the norm after clipping, divided by the norm before it, over the rows of ``after``.

    1 if it was not clipped. Nothing if the gradient was zero, or if an element is not finite,
    before or after.
    """
    rows = after.present & before.present
    if _is_finite(before, rows) and _is_finite(after, rows):
        total = total_of(before.values[rows, _NORM])
        if total > 0:
            left = total_of(after.values[rows, _NORM]) if was_clipped else total
            return {CLIP_FACTOR: left / total}
    return {}


def loss_of(roots: Sequence[np.ndarray | None], scale: float) -> dict[str, float]:
    """Return the value of the only root of a backward, if it is one number, without a scaler's factor."""
    if len(roots) != 1 or roots[0] is None or roots[0].size != 1 or np.iscomplexobj(roots[0]):
        return {}
    return {LOSS: float(roots[0].reshape(())) / scale}


def _is_finite(table: StatisticsTable, rows: np.ndarray) -> bool:
    return not (table.values[rows][:, NONFINITE_COLUMNS] > 0).any()
