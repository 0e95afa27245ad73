"""Moments of one large tensor on the CPU, block by block while each is in cache."""

from __future__ import annotations

import numpy as np
import torch

from tb_gradgraph.summarize.elements import real_floats
from tb_gradgraph.summarize.moments import merged_moments, moments_of_sums
from tb_gradgraph.summarize.segments import exact_segments

#: Elements a thread reduces at a time: 512 KiB of float32, which each of the six passes
#: after the first finds in the second-level cache.
BLOCK = 131_072
_ROW = 1024  # elements squared and summed in float32 at a time: errs by less than 1e-6


def large_on_host(flat: torch.Tensor) -> np.ndarray:
    """Reduce a flat tensor of at least one element, of any type, to a row of ``COLUMNS``.

    Blocks are summed in float32 with float64 totals. Those for which that does not do
    (NaN, infinity, squares out of range, cancellation) are reduced again in float64.
    """
    threads = torch.get_num_threads()
    blocks = flat.detach().resolve_neg().split(BLOCK * threads)
    sums = np.empty((len(blocks), 5))
    scratch = np.empty(blocks[0].numel(), bool) if threads == 1 else None
    with np.errstate(all="ignore"):
        for place, block in enumerate(blocks):
            sums[place] = _sums(real_floats(block), scratch)
    counts = np.array([block.numel() for block in blocks])
    dtype = real_floats(flat[:0]).numpy().dtype
    moments, doubtful = moments_of_sums(sums, counts, dtype)
    for place in np.flatnonzero(doubtful):
        block = real_floats(blocks[place]).numpy()
        moments[place] = exact_segments(block, counts[place : place + 1])[0]
    return merged_moments(moments, [0])[0]


def _sums(block: torch.Tensor, scratch: np.ndarray | None) -> tuple[float, ...]:
    """Give sum, sum of squares, least, greatest and count of nonzero elements.

    With several threads all is done by kernels of torch, which share the work;
    numpy's, of one thread, are up to ten times faster where they can be used.
    """
    total, square = block.sum().numpy(), _square(block)
    if scratch is None:
        nonzero = torch.ne(block, 0, out=torch.empty_like(block)).sum()  # to bool is slower
        return total, square, block.amin().numpy(), block.amax().numpy(), nonzero.numpy()
    array = block.numpy()
    is_nonzero = np.not_equal(array, 0, out=scratch[: len(array)])
    low, high = np.minimum.reduce(array), np.maximum.reduce(array)
    return total, square, low, high, np.count_nonzero(is_nonzero)


def _square(block: torch.Tensor) -> float:
    end = block.numel() // _ROW * _ROW
    norms = torch.linalg.vector_norm(block[:end].view(-1, _ROW), dim=1).numpy()
    rest = torch.linalg.vector_norm(block[end:]).numpy().astype(np.float64)
    return np.square(norms, dtype=np.float64).sum() + rest**2
