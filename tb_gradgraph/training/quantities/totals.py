"""Norms over all parameters together, and what clipping made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tb_gradgraph.quantities import CLIP_FACTOR, GRAD_NORM, LOSS
from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

_NORM = STATISTICS.index("l2_norm")


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
    """Return the l2 norm of the gradients of ``rows`` together, over finite elements.

    Nothing if none of them has a gradient.
    """
    present = [row for row in {*rows} if table.present[row]]
    if not present:
        return {}
    return {GRAD_NORM: total_of(table.values[present, _NORM])}


def clip_factor(before: StatisticsTable, after: StatisticsTable) -> dict[str, float]:
    """Return the norm after clipping, divided by the norm before it, over the rows of ``after``.

    Nothing if the gradient was zero, or if an element is not finite, before or after.
    """
    rows = after.present & before.present
    if _is_finite(before, rows) and _is_finite(after, rows):
        total = total_of(before.values[rows, _NORM])
        if total > 0:
            return {CLIP_FACTOR: total_of(after.values[rows, _NORM]) / total}
    return {}


def loss_of(roots: Sequence[np.ndarray | None], scale: float) -> dict[str, float]:
    """Return the value of the only root of a backward, if it is one number, without a scaler's factor."""
    if len(roots) != 1 or roots[0] is None or roots[0].size != 1 or np.iscomplexobj(roots[0]):
        return {}
    return {LOSS: float(roots[0].reshape(())) / scale}


def _is_finite(table: StatisticsTable, rows: np.ndarray) -> bool:
    return not (table.values[rows][:, NONFINITE_COLUMNS] > 0).any()
