"""The l2 norms of many tensors, as weights and updates need them, and nothing else of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from tb_gradgraph.summarize.elements import (
    in_memory_order,
    laid_end_to_end,
    real_floats,
    stored,
    wide_dtype,
)
from tb_gradgraph.summarize.large import norm_of_large
from tb_gradgraph.summarize.segments import norms_of_segments
from tb_gradgraph.summarize.transfer import send

_SMALL = 4096


@torch.no_grad()
def norms(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Give the l2 norm of each tensor, without waiting for a device.

    Neither 1e-30 nor 1e30 is lost: squares are summed in float64 where float32 does not do
    (not on a device that has nothing wider). NaN and infinity are not left out.

    Args:
        tensors: Of any type, dense or sparse; complex ones count by magnitude.

    Returns:
        A tensor of one dimension and that type, on the accelerator of the first tensor
        that lies on one, else on the CPU.
    """
    devices = [tensor.device for tensor in tensors if not tensor.is_cpu]
    target = devices[0] if devices else torch.device("cpu")
    result = torch.zeros(len(tensors), dtype=wide_dtype(target), device=target)
    alike: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for place, tensor in enumerate(tensors):
        alike.setdefault((tensor.device, tensor.dtype), []).append(place)
    for (device, _), places in alike.items():
        values = [stored(tensors[place]) for place in places]
        found = norms_on_host(values) if device.type == "cpu" else _norms_on_device(values)
        if len(places) == len(tensors):
            return found
        indices = send(np.array(places), target)
        result.index_copy_(0, indices, found.to(target, result.dtype, non_blocking=True))
    return result


def _norms_on_device(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    dtype = wide_dtype(tensors[0].device)
    return torch.stack(torch._foreach_norm([real_floats(t) for t in tensors], 2, dtype=dtype))


def norms_on_host(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Give the l2 norms of dense tensors of one type on the CPU, in float64.

    Small ones are squared together. Large ones are summed in float32 by rows, which is
    ten times as fast; those with squares out of its range again in float64.
    """
    norms = np.empty(len(tensors))
    small = [place for place, tensor in enumerate(tensors) if tensor.numel() <= _SMALL]
    if small:
        flat, order, counts = laid_end_to_end([tensors[place] for place in small])
        norms[np.array(small)[order]] = norms_of_segments(real_floats(flat).numpy(), counts)
    for place, tensor in enumerate(tensors):
        if tensor.numel() > _SMALL:
            norms[place] = norm_of_large(in_memory_order(tensor))
    return torch.from_numpy(norms)
