"""What clipping made of the gradient, and the loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_gradgraph.quantities import CLIP_FACTOR, LOSS, total_of
from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

_NORM = STATISTICS.index("l2_norm")


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
