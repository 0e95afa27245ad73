"""The l2 norms of many tensors, as weights and updates need them, and nothing else of them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tb_gradgraph.summarize.elements import real_floats, stored, wide_dtype


@torch.no_grad()
def norms(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Give the l2 norm of each tensor, without waiting for a device.

    Squares are summed in float64 (float32 on a device that has nothing wider), so that
    neither 1e-30 nor 1e30 is lost. NaN and infinity are not left out.

    Args:
        tensors: Of any type, dense or sparse; complex ones count by magnitude.

    Returns:
        A tensor of one dimension and that type, on the accelerator of the first tensor
        that lies on one, else on the CPU.
    """
    devices = [tensor.device for tensor in tensors if tensor.device.type != "cpu"]
    target = devices[0] if devices else torch.device("cpu")
    result = torch.zeros(len(tensors), dtype=wide_dtype(target), device=target)
    alike: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for place, tensor in enumerate(tensors):
        alike.setdefault((tensor.device, tensor.dtype), []).append(place)
    for (device, _), places in alike.items():
        values = [real_floats(stored(tensors[place].detach())) for place in places]
        found = torch.stack(torch._foreach_norm(values, 2, dtype=wide_dtype(device)))
        found = found.to(target, result.dtype, non_blocking=True)
        if len(places) == len(tensors):
            return found
        indices = torch.tensor(places, device="cpu").to(target, non_blocking=True)
        result.index_copy_(0, indices, found)
    return result
