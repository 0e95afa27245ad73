"""Tensors kept whole, as numpy arrays of the same or a wider type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

#: numpy has no bfloat16 nor torch's float8 kinds; float16 goes the same way, so that readers see one.
_KEPT = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def whole_array(tensor: torch.Tensor) -> np.ndarray:
    """Copy ``tensor`` to the host, 16-bit floats widened to float32, integers to float64.

    Waits for the device. A sparse tensor is made dense.
    """
    dense = tensor.detach()
    if dense.layout != torch.strided:
        dense = dense.to_dense()
    if dense.dtype not in _KEPT:
        dense = dense.to(_wider(dense.dtype))
    return dense.resolve_conj().resolve_neg().cpu().numpy().copy()


def whole_arrays(tensors: Mapping[int, torch.Tensor]) -> dict[int, np.ndarray]:
    """Do ``whole_array`` for many small tensors with one copy a device and type.

    The arrays of one type are parts of one block of memory.
    """
    alike: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    result: dict[int, np.ndarray] = {}
    for row, tensor in tensors.items():
        if tensor.layout == torch.strided:
            alike.setdefault((tensor.device, tensor.dtype), []).append(row)
        else:
            result[row] = whole_array(tensor)
    for rows in alike.values():
        block = whole_array(flattened([tensors[row] for row in rows]))
        start = 0
        for row in rows:
            size = tensors[row].numel()
            result[row] = block[start : start + size].reshape(tensors[row].shape)
            start += size
    return result


def flattened(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Lay tensors of one type end to end, each in row-major order."""
    return torch._utils._flatten_dense_tensors(list(tensors))


def _wider(dtype: torch.dtype) -> torch.dtype:
    if dtype.is_complex:
        return torch.complex64
    return torch.float32 if dtype.is_floating_point else torch.float64
