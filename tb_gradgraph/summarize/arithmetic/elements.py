"""Get the elements of a tensor of any layout and type as a flat tensor of real floats."""

from __future__ import annotations

import functools

import numpy as np
import torch

_FLOATS = (torch.float32, torch.float64)
_HALVES = (torch.float16, torch.bfloat16)
#: The types in which torch computes on every device. Other types are only stored.
_COMPUTED = frozenset(
    {
        *(*_FLOATS, *_HALVES, torch.complex64, torch.complex128),
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    }
)


def stored(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements that a tensor stores, each once. A dense tensor is returned itself.

    For a sparse tensor on an accelerator, this waits for the device, because only the device knows
    how many elements are left after repeated ones are summed. It never waits otherwise.
    """
    if tensor.layout == torch.strided:
        return tensor
    return tensor.coalesce().values() if tensor.layout == torch.sparse_coo else tensor.values()


def is_computed(dtype: torch.dtype) -> bool:
    """Return whether torch can compute with a type on every device."""
    return dtype in _COMPUTED


def computable(values: torch.Tensor) -> torch.Tensor:
    """Return the elements in a type that torch can compute with; complex32 and float8 are widened.

    Raises:
        RuntimeError: If torch cannot read the type at all, such as bits8 or float4.
    """
    if values.dtype in _COMPUTED:
        return values
    if values.is_quantized:
        return values.dequantize()
    if values.is_complex():
        return values.to(torch.complex64)
    return values.to(torch.float32 if values.is_floating_point() else wide_dtype(values.device))


@functools.cache
def is_readable(dtype: torch.dtype) -> bool:
    """Return whether torch can convert a type to one that it can compute with."""
    try:
        computable(torch.zeros(16, dtype=torch.uint8, device="cpu").view(dtype))
    except RuntimeError:
        return False
    return True


def real_floats(values: torch.Tensor) -> torch.Tensor:
    """Return real floats of at least 32 bits. Complex numbers become magnitudes, in float64.

    A magnitude in float32 would be rounded, so the variance of nearly equal numbers would be lost.
    """
    if values.dtype in _FLOATS:
        return values
    if values.dtype in _HALVES:
        return values.to(torch.float32)
    values, wide = computable(values), wide_dtype(values.device)
    if values.is_complex():
        return values.to(torch.complex128 if wide == torch.float64 else values.dtype).abs()
    return values.to(wide)


def without_repeats(values: torch.Tensor) -> torch.Tensor:
    """Return each element of an expanded tensor, such as a gradient of ``sum``, once."""
    for dim, stride in enumerate(values.stride()):
        if stride == 0 and values.shape[dim] > 1:
            values = values.narrow(dim, 0, 1)
    return values


def as_array(values: torch.Tensor) -> np.ndarray:
    """Return an array of the same memory, for real floats on the CPU that need no gradient.

    ``Tensor.numpy`` is not used, because it makes torch refuse to resize the memory later, as
    sharding does.
    """
    return np.from_dlpack(values)


def in_memory_order(values: torch.Tensor) -> torch.Tensor:
    """Return all elements as a flat tensor, which is a view if they are contiguous in memory."""
    if values.is_contiguous():
        return values.view(-1)
    strides = values.stride()
    by_stride = sorted(range(values.dim()), key=lambda dim: -strides[dim])
    return values.permute(by_stride).reshape(-1)


def wide_dtype(device: torch.device) -> torch.dtype:
    """Return the widest float type with which ``device`` can compute."""
    return torch.float64 if _computes_wide(device.type) else torch.float32


@functools.cache
def _computes_wide(kind: str) -> bool:
    """Test whether a kind of device can compute in float64. Apple's cannot, nor can some of Intel's.

    If it cannot, sums of up to four million elements are in float32, with each element divided by
    the greatest magnitude. The host adds these sums in float64.
    """
    if kind in ("cpu", "cuda", "meta"):
        return True
    try:
        torch.ones(2, dtype=torch.float64, device=kind).sum()
    except Exception:  # each device raises a different error
        return False
    return True
