"""Statistics of all tensors of one backward pass, in as few kernels as may be."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from tb_gradgraph.statistics import HISTOGRAM_SAMPLE, StatisticsTable
from tb_gradgraph.summarize.columns import statistics_of_moments
from tb_gradgraph.summarize.moments import (
    histogram_of,
    in_memory_order,
    large_moments,
    segment_moments,
    wide_dtype,
    without_repeats,
)
from tb_gradgraph.summarize.whole import flattened, whole_arrays

#: Tensors of more elements are reduced at once, while they are in cache; smaller
#: ones are copied and reduced together (a kernel's start costs more than they do).
SMALL = 4096


@dataclasses.dataclass(slots=True)
class _Alike:
    """Tensors of one device and type: small ones copied, large ones reduced to a row each."""

    small_rows: list[int] = dataclasses.field(default_factory=list)
    small: list[torch.Tensor] = dataclasses.field(default_factory=list)
    large_rows: list[int] = dataclasses.field(default_factory=list)
    large: list[torch.Tensor] = dataclasses.field(default_factory=list)
    samples: list[torch.Tensor] = dataclasses.field(default_factory=list)


class StatisticsBatch:
    """Collect tensors by row during a backward, reduce them at its end.

    Nothing is kept of a tensor but its moments and a sample, or a copy where it
    is small; ``add`` never waits for an accelerator. Rows may be added from
    several autograd threads, one thread a device.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._alike: dict[tuple[torch.device, torch.dtype], _Alike] = {}
        self._sizes: dict[int, int] = {}  # all elements by row, those not stored too
        self._whole: dict[int, torch.Tensor] = {}

    def add(self, row: int, tensor: torch.Tensor, keep: bool = False) -> None:
        """Take in the tensor of ``row``; to be called under ``torch.no_grad()``.

        Args:
            row: A row added again replaces what was there.
            tensor: Floating or complex, dense or sparse, on any device. Read, not kept.
            keep: Whether ``finish`` gives the whole tensor back.
        """
        values = tensor if tensor.layout == torch.strided else _stored(tensor)
        self._sizes[row] = tensor.numel()
        alike = self._alike.get((values.device, values.dtype))
        if alike is None:
            alike = self._alike.setdefault((values.device, values.dtype), _Alike())
        if values.numel() <= SMALL:
            copy = values.clone()
            alike.small_rows.append(row)
            alike.small.append(copy)
            if keep:
                self._whole[row] = copy if values is tensor else tensor.clone()
            return
        if keep:
            self._whole[row] = tensor.clone()
        values = _real(values)
        alike.large_rows.append(row)
        alike.large.append(large_moments(values))
        alike.samples.append(_sample(values))

    def finish(self) -> tuple[StatisticsTable, dict[int, np.ndarray]]:
        """Reduce what was added; give the statistics, and the tensors kept whole by row.

        Waits for each device.
        """
        table = StatisticsTable.empty(self._rows)
        for (device, _), alike in self._alike.items():
            rows = alike.small_rows + alike.large_rows
            moments, histogram = _reduce(device, alike)
            numel = np.array([self._sizes[row] for row in rows], np.float64)
            table.values[rows] = statistics_of_moments(moments, numel)
            table.histogram[rows] = histogram
            table.present[rows] = True
        whole = whole_arrays(self._whole)
        self._alike.clear()
        self._whole.clear()
        return table, whole


def _sample(values: torch.Tensor) -> torch.Tensor:
    """Copy at most HISTOGRAM_SAMPLE elements, evenly spread over memory."""
    if values.numel() > HISTOGRAM_SAMPLE and 0 in values.stride():
        values = without_repeats(values)
    flat = in_memory_order(values)
    stride = -(-flat.numel() // HISTOGRAM_SAMPLE)
    return flat[::stride].to(wide_dtype(flat.device), copy=True)


def _stored(tensor: torch.Tensor) -> torch.Tensor:
    """Give the elements that a sparse tensor stores, each place once."""
    return tensor.coalesce().values() if tensor.layout == torch.sparse_coo else tensor.values()


def _real(values: torch.Tensor) -> torch.Tensor:
    """Give the magnitude of complex numbers, and integers as floats."""
    if values.is_complex():
        return values.abs()
    return values if values.is_floating_point() else values.to(torch.float32)


def _reduce(device: torch.device, alike: _Alike) -> tuple[np.ndarray, np.ndarray]:
    """Give moments and histograms of one device's tensors, small ones first, on the host."""
    parts = []
    if alike.small:
        values = _real(flattened(alike.small)).to(wide_dtype(device))
        segment = _segments(alike.small).to(device)
        moments = segment_moments(values, segment, len(alike.small))
        parts.append((moments, histogram_of(values, segment, len(alike.small))))
    if alike.large:
        segment = _segments(alike.samples).to(device)
        histogram = histogram_of(torch.cat(alike.samples), segment, len(alike.samples))
        parts.append((torch.stack(alike.large), histogram))
    moments, histograms = zip(*parts)
    return torch.cat(moments).cpu().numpy(), torch.cat(histograms).cpu().numpy()


def _segments(tensors: list[torch.Tensor]) -> torch.Tensor:
    """Number each element of tensors laid end to end by its tensor."""
    lengths = torch.tensor([tensor.numel() for tensor in tensors], device="cpu")
    return torch.repeat_interleave(torch.arange(len(tensors), device="cpu"), lengths)
