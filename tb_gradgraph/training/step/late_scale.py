"""The factor of a GradScaler, and numbers out of which it was divided late."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch

from tb_gradgraph.statistics import HISTOGRAM_BINS, HISTOGRAM_WIDTH, StatisticsTable
from tb_gradgraph.summarize import Transfer
from tb_gradgraph.training.reading.numbers import Numbers, Whole, divided


class LossScale:
    """The factor of a GradScaler, on its way to the host; 1 if there is none (yet)."""

    def __init__(self, factor: torch.Tensor | None = None) -> None:
        """Begin the copy."""
        self.is_late = False  # whether it was found after gradients were reduced
        self._read = 1.0
        self._begin(factor)

    def find_late(self, factor: torch.Tensor | None) -> None:
        """Set the factor, after gradients of scaled losses were reduced."""
        self.is_late = factor is not None
        self._begin(factor)

    def _begin(self, factor: torch.Tensor | None) -> None:
        self.is_known = factor is not None
        self._transfer = None if factor is None else Transfer(factor.device, [factor])

    def read(self) -> float:
        """Return the factor; waits for the copy."""
        if self._transfer is not None:
            self._read = float(self._transfer.wait()[0][0])
            self._transfer = None
        return self._read


def scaled(numbers: Numbers, scale: LossScale) -> tuple[StatisticsTable, Whole]:
    """Return the numbers without the factor; waits for the copy to the host."""
    table, whole = numbers.collect()
    if not scale.is_late:
        return table, whole
    factor = scale.read()
    moved = _moved(table.histogram, factor)
    table = dataclasses.replace(divided(table, factor), histogram=moved)
    return table, {row: array / factor for row, array in whole.items()}


def _moved(histogram: np.ndarray, factor: float) -> np.ndarray:
    """Return a histogram of log2 after a division. Rows are empty if the shift is no whole number of bins.

    The factor of a scaler is a power of two, by default 2^16, which is eight bins.
    """
    bins = math.log2(factor) / HISTOGRAM_WIDTH if factor > 0 else math.nan
    moved = np.zeros_like(histogram)
    if not bins.is_integer() or abs(bins) >= HISTOGRAM_BINS:
        return moved
    by = int(bins)
    if by < 0:
        return _moved(histogram[:, ::-1], 1 / factor)[:, ::-1]
    moved[:, : HISTOGRAM_BINS - by] = histogram[:, by:]
    moved[:, 0] += histogram[:, :by].sum(1, dtype=histogram.dtype)
    if by:
        moved[histogram[:, -1] > 0] = 0  # its elements may belong to any higher bin
    return moved
