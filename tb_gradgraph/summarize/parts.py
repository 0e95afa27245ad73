"""Reduce tensors of one device and type, as far as possible without waiting for the host."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from tb_gradgraph.summarize.arithmetic.accelerator import large_on_device, segments_on_device
from tb_gradgraph.summarize.arithmetic.elements import in_memory_order, real_floats, without_repeats
from tb_gradgraph.summarize.arithmetic.end_to_end import laid_end_to_end
from tb_gradgraph.summarize.arithmetic.large import BlockSums, large_on_host, moments_of_blocks
from tb_gradgraph.summarize.arithmetic.moments import COLUMNS, EXTENSIVE, merged_moments
from tb_gradgraph.summarize.arithmetic.sample import (
    histograms_of,
    sample_of,
    samples_of,
)
from tb_gradgraph.summarize.arithmetic.segments import segments_on_host, starts_of
from tb_gradgraph.summarize.arithmetic.transfer import send
from tb_gradgraph.summarize.pending import Entries, Part

_EXTENSIVE = [COLUMNS.index(name) for name in EXTENSIVE]


@dataclasses.dataclass(frozen=True, slots=True)
class Reduced:
    """A large tensor, reduced.

    Attributes:
        moments: On the CPU, sums of its blocks. Elsewhere, rows of ``COLUMNS``, one for each block.
        repeats: How often each element occurs in the tensor.
        sample: Its sample for the histogram.
    """

    moments: BlockSums | torch.Tensor
    repeats: int
    sample: torch.Tensor


def reduce_large(values: torch.Tensor, limit: int) -> Reduced:
    """Reduce a tensor that is not empty, without waiting for its device."""
    flat = in_memory_order(without_repeats(values))
    moments = large_on_host(flat) if flat.is_cpu else large_on_device(flat)
    return Reduced(moments, values.numel() // flat.numel(), sample_of(flat, limit))


def part_of_reduced(entries: Entries, reduced: Sequence[Reduced]) -> Part:
    """Join large tensors of one device."""
    sizes = np.array([len(found.sample) for found in reduced])
    tensors = [torch.cat([found.sample for found in reduced])]
    rows = _rows_of(reduced)
    if rows:
        tensors.append(torch.cat(rows))

    def read(arrays: Sequence[np.ndarray], divisor: float | None) -> tuple[np.ndarray, np.ndarray]:
        histograms = histograms_of(arrays[0], sizes, divisor=divisor)
        return _moments_of_reduced(reduced, arrays[1:]), histograms

    return Part(entries.in_order(np.arange(len(reduced))), tensors, read)


def _rows_of(reduced: Sequence[Reduced]) -> list[torch.Tensor]:
    """Return the moments of tensors on a device, without those on the host, which are not rows yet."""
    return [found.moments for found in reduced if isinstance(found.moments, torch.Tensor)]


def _moments_of_reduced(reduced: Sequence[Reduced], arrays: Sequence[np.ndarray]) -> np.ndarray:
    if arrays:
        rows = arrays[0].reshape(-1, len(COLUMNS)).astype(np.float64)
        moments = merged_moments(rows, starts_of(np.array(list(map(len, _rows_of(reduced))))))
    else:
        moments = moments_of_blocks(
            [found.moments for found in reduced if isinstance(found.moments, BlockSums)]
        )
    repeats = np.array([found.repeats for found in reduced])
    moments[:, _EXTENSIVE] *= repeats[:, None]
    return moments


def part_of_held(
    device: torch.device, entries: Entries, tensors: Sequence[torch.Tensor], limit: int
) -> Part:
    """Join small tensors of one device. On the CPU they are one copy, which is reduced when it is read."""
    flat, order, counts = laid_end_to_end(tensors)
    flat, found = real_floats(flat), entries.in_order(order)
    if device.type != "cpu":
        return part_on_device(found, flat, counts, limit)

    def read(arrays: Sequence[np.ndarray], divisor: float | None) -> tuple[np.ndarray, np.ndarray]:
        histograms = histograms_of(arrays[0], counts, limit, divisor)
        return segments_on_host(arrays[0], counts), histograms

    return Part(found, [flat], read)


def part_on_device(entries: np.ndarray, flat: torch.Tensor, counts: np.ndarray, limit: int) -> Part:
    """Join small concatenated tensors of an accelerator."""
    segment = torch.repeat_interleave(send(counts, flat.device), output_size=len(flat))
    samples, sizes = samples_of(flat, counts, limit)

    def read(arrays: Sequence[np.ndarray], divisor: float | None) -> tuple[np.ndarray, np.ndarray]:
        rows = arrays[0].reshape(-1, len(COLUMNS)).astype(np.float64)
        return rows, histograms_of(arrays[1], sizes, divisor=divisor)

    return Part(entries, [segments_on_device(flat, segment, len(counts)), samples], read)
