"""Compute only the l2 norms of many tensors, for weights and updates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from tb_gradgraph.summarize.arithmetic.elements import (
    in_memory_order,
    is_readable,
    real_floats,
    stored,
    wide_dtype,
)
from tb_gradgraph.summarize.arithmetic.end_to_end import are_alike
from tb_gradgraph.summarize.arithmetic.large import norm_of_large
from tb_gradgraph.summarize.arithmetic.moments import limits_of
from tb_gradgraph.summarize.arithmetic.transfer import send

_SMALL = 4096  # up to this many elements the error of float32 sums is below 2e-6


@torch.no_grad()
def norms(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the l2 norm of each tensor, without waiting for a device.

    Squares are summed in float64 if float32 is not enough, so neither 1e-30 nor 1e30 is lost
    (except on a device without float64). NaN and infinity are included.

    Args:
        tensors: Tensors of any type, dense or sparse. Of complex elements the magnitudes are used.

    Returns:
        A one-dimensional tensor, on the first accelerator that holds one of the tensors, or else on
        the CPU.
    """
    if are_alike(tensors):
        return _norms_of_dense(list(tensors))
    devices = [tensor.device for tensor in tensors if not tensor.is_cpu]
    target = devices[0] if devices else torch.device("cpu")
    result = torch.zeros(len(tensors), dtype=wide_dtype(target), device=target)
    alike: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for place, tensor in enumerate(tensors):
        alike.setdefault((tensor.device, tensor.dtype), []).append(place)
    for places in alike.values():
        found = _norms_of_dense([stored(tensors[place]) for place in places])
        indices = send(np.array(places), target)
        result.index_copy_(0, indices, found.to(target, result.dtype, non_blocking=True))
    return result


def _norms_of_dense(tensors: list[torch.Tensor]) -> torch.Tensor:
    """Return the norms of dense tensors of one type on their device."""
    device = tensors[0].device
    if not is_readable(tensors[0].dtype):
        return torch.full((len(tensors),), torch.nan, dtype=wide_dtype(device), device=device)
    if tensors[0].dtype not in (torch.float32, torch.float64):
        tensors = [real_floats(tensor) for tensor in tensors]
    if device.type != "cpu":
        return torch.stack(torch._foreach_norm(tensors, 2, dtype=wide_dtype(device)))
    sizes = np.fromiter(map(torch.Tensor.numel, tensors), np.int64, len(tensors))
    if (sizes <= _SMALL).all():
        return torch.from_numpy(_norms_of_small(tensors))
    result = np.empty(len(tensors))
    small = np.flatnonzero(sizes <= _SMALL).tolist()
    if small:
        result[small] = _norms_of_small([tensors[place] for place in small])
    for place in np.flatnonzero(sizes > _SMALL).tolist():
        result[place] = norm_of_large(in_memory_order(tensors[place]))
    return torch.from_numpy(result)


def _norms_of_small(tensors: list[torch.Tensor]) -> np.ndarray:
    """Sum squares in float32, which is ten times as fast, or in float64 if the range is too small."""
    found = torch.stack(torch._foreach_norm(tensors)).to(torch.float64).numpy()
    least, greatest, _ = limits_of(tensors[0])
    doubtful = np.flatnonzero(~((found > least) & (found < greatest))).tolist()
    if doubtful:
        again = torch._foreach_norm([tensors[place] for place in doubtful], 2, torch.float64)
        found[doubtful] = torch.stack(again).numpy()
    return found
