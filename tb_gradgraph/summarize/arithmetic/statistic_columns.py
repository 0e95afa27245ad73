"""Convert moments to the columns of a statistics table."""

from __future__ import annotations

import numpy as np

from tb_gradgraph.statistics import NONFINITE, STATISTICS
from tb_gradgraph.summarize.arithmetic.moments import COLUMNS


def statistics_of_moments(moments: np.ndarray, numel: np.ndarray) -> np.ndarray:
    """Turn rows of ``COLUMNS`` into rows of ``STATISTICS``.

    Args:
        moments: Moments of the stored elements, of shape ``[rows, len(COLUMNS)]``.
        numel: The number of elements of each row. Elements that are not stored (sparse) are zeros.

    Returns:
        float64 of shape ``[rows, len(STATISTICS)]``. A missing number is NaN; so are the columns
        that do not follow from moments.
    """
    stored = dict(zip(COLUMNS, np.ascontiguousarray(moments.T, np.float64)))
    implicit = numel - sum(stored[name] for name in ("finite", *NONFINITE))
    finite = stored["finite"] + implicit
    zeros = stored["zero"] + implicit
    with np.errstate(all="ignore"):
        columns = _moments_with_zeros(stored, implicit, finite)
        columns["zero_fraction"] = np.where(numel > 0, zeros / numel, np.nan)
    counts = {name: stored[name] for name in NONFINITE}
    known = {**columns, **counts, "numel": numel}
    unknown = np.full(len(numel), np.nan)
    return np.stack([known.get(name, unknown) for name in STATISTICS], 1)


def _moments_with_zeros(
    stored: dict[str, np.ndarray], implicit: np.ndarray, finite: np.ndarray
) -> dict[str, np.ndarray]:
    """Include ``implicit`` zeros besides the stored elements."""
    low = np.where(implicit > 0, np.minimum(stored["min"], 0), stored["min"])
    high = np.where(implicit > 0, np.maximum(stored["max"], 0), stored["max"])
    scale = np.maximum(np.abs(low), np.abs(high))
    mean_scaled = np.where(scale > 0, stored["mean"] / scale, 0)
    pulled = stored["finite"] * implicit / finite * mean_scaled**2  # Chan's pairwise update
    spread = stored["spread"] + np.where(implicit > 0, pulled, 0)
    columns = {
        "l2_norm": scale * np.sqrt(stored["square"]),
        "mean": stored["mean"] * (stored["finite"] / finite),
        "std": scale * np.sqrt(spread / (finite - 1)),
        "min": low,
        "max": high,
        "abs_max": scale,
    }
    for name, values in columns.items():
        values[finite < (2 if name == "std" else 1)] = np.nan
    return columns
