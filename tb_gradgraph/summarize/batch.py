"""Statistics of all tensors of one backward pass, in as few kernels as may be."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from tb_gradgraph.statistics import (
    HISTOGRAM_BINS,
    HISTOGRAM_LOW,
    HISTOGRAM_SAMPLE,
    HISTOGRAM_WIDTH,
    STATISTICS,
    StatisticsTable,
)
from tb_gradgraph.summarize.moments import (
    COLUMNS,
    large_moments,
    segment_moments,
    wide_dtype,
)

#: Tensors of more elements are reduced at once, while they are in cache; smaller
#: ones are copied and reduced together (a kernel's start costs more than they do).
SMALL = 4096


@dataclasses.dataclass(slots=True)
class _DeviceBatch:
    """What was handed in from one device."""

    small_rows: list[int] = dataclasses.field(default_factory=list)
    small: list[torch.Tensor] = dataclasses.field(default_factory=list)
    large_rows: list[int] = dataclasses.field(default_factory=list)
    large: list[torch.Tensor] = dataclasses.field(default_factory=list)
    sample_rows: list[int] = dataclasses.field(default_factory=list)
    samples: list[torch.Tensor] = dataclasses.field(default_factory=list)


class StatisticsBatch:
    """Collect tensors by row during a backward, reduce them at its end.

    Nothing is kept of a tensor but its moments and a sample, or a copy where it
    is small; ``add`` never waits for an accelerator. Not thread-safe for one
    row, but rows may be added from several autograd threads.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._devices: dict[torch.device, _DeviceBatch] = {}
        self._sizes: dict[int, int] = {}  # all elements by row, those not stored too

    def add(self, row: int, tensor: torch.Tensor) -> None:
        """Take in the tensor of ``row``: floating or complex, dense or sparse, any device.

        A row added again replaces what was there.
        """
        values = _real_values(tensor.detach())
        self._sizes[row] = tensor.numel()
        batch = self._devices.get(values.device)
        if batch is None:
            batch = self._devices[values.device] = _DeviceBatch()
        if values.numel() <= SMALL:
            batch.small_rows.append(row)
            batch.small.append(values.reshape(-1).to(wide_dtype(values.device), copy=True))
            return
        batch.large_rows.append(row)
        batch.large.append(large_moments(values))
        flat = values.reshape(-1)
        stride = -(-flat.numel() // HISTOGRAM_SAMPLE)
        batch.sample_rows.append(row)
        batch.samples.append(flat[::stride].to(torch.float32, copy=True))

    def finish(self) -> StatisticsTable:
        """Reduce what was added. Waits for each device once."""
        table = StatisticsTable.empty(self._rows)
        for device, batch in self._devices.items():
            rows, moments, histogram = _reduce(device, batch)
            numel = np.array([self._sizes[row] for row in rows], np.float64)
            table.values[rows] = _statistics(moments, numel)
            table.histogram[rows] = histogram
            table.present[rows] = True
        self._devices.clear()
        return table


def _real_values(tensor: torch.Tensor) -> torch.Tensor:
    """Give the stored elements as real numbers: the magnitude of complex ones."""
    if tensor.layout != torch.strided:
        tensor = tensor.coalesce().values() if tensor.layout == torch.sparse_coo else tensor.values()
    if tensor.is_complex():
        return tensor.abs()
    return tensor if tensor.is_floating_point() else tensor.to(torch.float32)


def _reduce(
    device: torch.device, batch: _DeviceBatch
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Give rows, moments and histograms of one device's tensors, on the host."""
    lengths = torch.tensor([values.numel() for values in batch.small], dtype=torch.int64)
    segment = torch.repeat_interleave(torch.arange(len(lengths)), lengths).to(device)
    flat = torch.cat(batch.small) if batch.small else torch.zeros(0, device=device)
    moments = segment_moments(flat.to(wide_dtype(device)), segment, len(lengths))
    if batch.large:
        moments = torch.cat([moments, torch.stack([row.to(moments) for row in batch.large])])
    histogram = _histogram(flat, segment, len(lengths))
    if batch.samples:
        sizes = torch.tensor([sample.numel() for sample in batch.samples])
        of_sample = torch.repeat_interleave(torch.arange(len(sizes)), sizes).to(device)
        sampled = _histogram(torch.cat(batch.samples), of_sample, len(sizes))
        histogram = torch.cat([histogram, sampled])
    rows = batch.small_rows + batch.large_rows
    return rows, moments.cpu().numpy(), histogram.cpu().numpy()


def _histogram(values: torch.Tensor, segment: torch.Tensor, count: int) -> torch.Tensor:
    """Count the finite nonzero elements of each segment by log2 of their magnitude."""
    exponent = torch.frexp(values).exponent.to(torch.int64) - 1  # floor of log2|g|
    bins = ((exponent - HISTOGRAM_LOW) // HISTOGRAM_WIDTH).clamp(0, HISTOGRAM_BINS - 1)
    counted = torch.isfinite(values) & (values != 0)
    totals = torch.zeros(count * HISTOGRAM_BINS, dtype=torch.int64, device=values.device)
    totals.index_add_(0, segment * HISTOGRAM_BINS + bins, counted.to(torch.int64))
    return totals.reshape(count, HISTOGRAM_BINS)


def _statistics(moments: np.ndarray, numel: np.ndarray) -> np.ndarray:
    """Turn moments into the columns of ``STATISTICS``; elements not stored (sparse) are zeros."""
    columns = dict(zip(COLUMNS, moments.T.astype(np.float64)))
    stored = columns["finite"] + columns["nan"] + columns["posinf"] + columns["neginf"]
    implicit = numel - stored
    finite = columns["finite"] + implicit
    with np.errstate(all="ignore"):
        low = np.where(implicit > 0, np.minimum(columns["min"], 0), columns["min"])
        high = np.where(implicit > 0, np.maximum(columns["max"], 0), columns["max"])
        scale = np.maximum(np.abs(low), np.abs(high))
        mean = columns["mean"] * (columns["finite"] / finite)
        relative = np.where(scale > 0, columns["mean"] / scale, 0)
        lost = columns["finite"] * implicit / finite * relative**2
        spread = columns["spread"] + np.where(implicit > 0, lost, 0)
        result = {
            "l2_norm": scale * np.sqrt(columns["square"]),
            "mean": mean,
            "std": scale * np.sqrt(spread / (finite - 1)),
            "min": low,
            "max": high,
            "abs_max": scale,
            "zero_fraction": (columns["zero"] + implicit) / numel,
        }
    for name, values in result.items():
        values[finite < (2 if name == "std" else 1)] = np.nan
    result["zero_fraction"] = np.where(numel > 0, (columns["zero"] + implicit) / np.maximum(numel, 1), np.nan)
    counts = {"nan": columns["nan"], "posinf": columns["posinf"], "neginf": columns["neginf"]}
    return np.stack([{**result, **counts, "numel": numel}[name] for name in STATISTICS], 1)
