"""Tensors kept whole, as numpy arrays of the same or a wider type."""

from __future__ import annotations

import numpy as np
import torch

#: numpy has no bfloat16 and torch's float8 kinds; float16 goes the same way so that readers see one kind.
_KEPT = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def whole_array(tensor: torch.Tensor) -> np.ndarray:
    """Copy ``tensor`` to the host, 16-bit floats widened to float32, integers to float64.

    Waits for the device. A sparse tensor is made dense.
    """
    dense = tensor.detach()
    if dense.layout != torch.strided:
        dense = dense.to_dense()
    if dense.dtype not in _KEPT:
        wider = torch.float32 if dense.is_floating_point() else torch.float64
        dense = dense.to(torch.complex64 if dense.is_complex() else wider)
    return dense.resolve_conj().resolve_neg().cpu().numpy().copy()
