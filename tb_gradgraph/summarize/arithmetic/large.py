"""Compute the moments of one large tensor on the CPU, block by block, while each block is in cache."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import torch

from tb_gradgraph.summarize.arithmetic.elements import as_array, real_floats
from tb_gradgraph.summarize.arithmetic.moments import (
    are_sound,
    limits_of,
    merged_moments,
    moments_of_sums,
)
from tb_gradgraph.summarize.arithmetic.segments import careful_segments, starts_of

#: How many elements a thread reduces at a time: 1 MiB of float32. All passes after the first find
#: them in the second-level cache.
BLOCK = 262_144
_MOST = 64  # blocks that threads reduce at a time; float32 can count 2^23 elements exactly
_ROW = 1024  # elements squared and summed in float32 at a time; the error is below 1e-6
_FEW = 16_384  # up to this many elements, numpy is faster than starting torch's kernels


@dataclasses.dataclass(frozen=True, slots=True)
class BlockSums:
    """A tensor on the CPU, reduced block by block.

    Attributes:
        counts: How many elements each block has.
        sums: As ``moments_of_sums`` takes them, one tuple for each block.
        exact: The moments of blocks whose sums are not accurate enough, by place.
    """

    counts: list[int]
    sums: list[tuple[float, ...]]
    exact: dict[int, np.ndarray]


def large_on_host(flat: torch.Tensor) -> BlockSums:
    """Reduce a flat tensor of at least one element, of any type.

    Blocks are summed in float32 with float64 totals. A block is reduced again in float64 if this is
    not accurate enough (NaN, infinity, squares out of range, cancellation).
    """
    result = BlockSums([], [], {})
    scratch = np.empty(min(BLOCK, flat.numel()), bool)
    with np.errstate(all="ignore"):
        for stored in _blocks_of(flat):
            block = real_floats(stored)
            count = block.numel()
            sums = (*_totals(block), *_extremes(block, scratch))
            if not are_sound(*sums[:4], count, limits_of(block)):
                found = careful_segments(as_array(block), np.array([count]))
                result.exact[len(result.sums)] = found[0]
            result.counts.append(count)
            result.sums.append(sums)
    return result


def moments_of_blocks(tensors: Sequence[BlockSums]) -> np.ndarray:
    """Turn the block sums of several tensors into one row of ``COLUMNS`` for each tensor."""
    lengths = np.array([len(tensor.counts) for tensor in tensors])
    counts = np.array([count for tensor in tensors for count in tensor.counts])
    starts = starts_of(lengths)
    moments = moments_of_sums(np.array([sums for t in tensors for sums in t.sums]), counts)
    for start, tensor in zip(starts, tensors):
        for place, row in tensor.exact.items():
            moments[start + place] = row
    return merged_moments(moments, starts)


def norm_of_large(flat: torch.Tensor) -> float:
    """Return the l2 norm of a flat tensor of any type on the CPU. Non-finite elements count too."""
    floats = real_floats(flat.detach().resolve_neg())
    least, greatest, _ = limits_of(floats)
    with np.errstate(all="ignore"):
        norm = math.sqrt(_square(floats))
        if not least < norm < greatest:
            norm = float(torch.linalg.vector_norm(floats, dtype=torch.float64).numpy())
    return norm


def _blocks_of(flat: torch.Tensor) -> Sequence[torch.Tensor]:
    flat = flat.detach().resolve_neg()
    threads = torch.get_num_threads()
    size = BLOCK * (min(2 * threads, _MOST) if threads > 1 else 1)
    return flat.split(size) if flat.numel() > size else (flat,)


def _totals(block: torch.Tensor) -> tuple[float, float]:
    """Return the sum, and the sum of squares."""
    if block.numel() <= _FEW:
        array = as_array(block)
        return float(np.add.reduce(array)), float(np.add.reduce(array * array))
    square = _square(block)  # first, because it overlaps with reading memory
    return float(block.sum().numpy()), square


def _square(flat: torch.Tensor) -> float:
    rest = flat.numel() % _ROW
    rows = flat[: flat.numel() - rest] if rest else flat
    norms = torch.linalg.vector_norm(rows.view(-1, _ROW), dim=1).numpy().astype(np.float64)
    square = float(np.add.reduce(norms * norms))  # numpy's dot would start BLAS threads
    if rest:
        square += float(torch.linalg.vector_norm(flat[-rest:]).numpy()) ** 2
    return square


def _extremes(block: torch.Tensor, scratch: np.ndarray) -> tuple[float, float, int]:
    """Return the least and the greatest element, and how many are not zero.

    With several threads torch's kernels are used, because they share the work. On one thread
    numpy's kernels are up to ten times as fast.
    """
    if block.numel() > len(scratch):
        low, high = float(block.amin().numpy()), float(block.amax().numpy())
        nonzero = torch.ne(block, 0, out=torch.empty_like(block)).sum()  # as bool it is slower
        return low, high, int(nonzero.numpy())
    array = as_array(block)
    low, high = float(np.minimum.reduce(array)), float(np.maximum.reduce(array))
    is_nonzero = np.not_equal(array, 0, out=scratch[: len(array)])
    return low, high, int(np.count_nonzero(is_nonzero))
