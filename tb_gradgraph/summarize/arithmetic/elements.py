"""The elements of a tensor that count, whatever its layout and type, as a flat tensor of real floats."""

from __future__ import annotations

import functools

import numpy as np
import torch

_FLOATS = (torch.float32, torch.float64)
_HALVES = (torch.float16, torch.bfloat16)
#: The types torch computes in on every device; it stores others, but adds, compares and joins none.
_COMPUTED = frozenset(
    {
        *(*_FLOATS, *_HALVES, torch.complex64, torch.complex128),
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    }
)


def stored(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements that a tensor stores, each place once; for a dense one the tensor itself.

    Sparse tensors on an accelerator are the one case where this waits for the device:
    only the device knows how many places are left when repeated ones are summed.
    """
    if tensor.layout == torch.strided:
        return tensor
    return tensor.coalesce().values() if tensor.layout == torch.sparse_coo else tensor.values()


def is_computed(dtype: torch.dtype) -> bool:
    """Return whether torch computes in a type on every device."""
    return dtype in _COMPUTED


def computable(values: torch.Tensor) -> torch.Tensor:
    """Return the elements in a type that torch computes in; complex32, float8 and the like are widened.

    Raises:
        RuntimeError: If torch cannot even read them, such as those of bits8 or float4.
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
    """Return whether torch can convert elements of a type to one that it computes in."""
    try:
        computable(torch.zeros(16, dtype=torch.uint8, device="cpu").view(dtype))
    except RuntimeError:
        return False
    return True


def real_floats(values: torch.Tensor) -> torch.Tensor:
    """Return real floats of 32 bits or more; for complex numbers the magnitude, as exact as they are.

    A magnitude in float32 would be rounded, which would leave nothing of the spread of numbers
    that differ little.
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
    """Return once each element that an expanded tensor repeats (``sum`` sends back such tensors)."""
    for dim, stride in enumerate(values.stride()):
        if stride == 0 and values.shape[dim] > 1:
            values = values.narrow(dim, 0, 1)
    return values


def as_array(values: torch.Tensor) -> np.ndarray:
    """Return a readable array of the same memory; only for CPU real floats that need no gradient.

    ``Tensor.numpy`` makes torch refuse to resize that memory ever after, which sharding a model does.
    """
    return np.from_dlpack(values)


def in_memory_order(values: torch.Tensor) -> torch.Tensor:
    """Return all elements as a flat tensor; a view if they lie together in memory."""
    if values.is_contiguous():
        return values.view(-1)
    strides = values.stride()
    by_stride = sorted(range(values.dim()), key=lambda dim: -strides[dim])
    return values.permute(by_stride).reshape(-1)


def wide_dtype(device: torch.device) -> torch.dtype:
    """Return the widest float that ``device`` computes in."""
    return torch.float64 if _computes_wide(device.type) else torch.float32


@functools.cache
def _computes_wide(kind: str) -> bool:
    """Try whether a kind of device computes in float64: Apple's do not, nor do some of Intel's.

    If it does not, sums of up to four million elements are in float32, each divided by the
    greatest magnitude, and the host adds those up in float64.
    """
    if kind in ("cpu", "cuda", "meta"):
        return True
    try:
        torch.ones(2, dtype=torch.float64, device=kind).sum()
    except Exception:  # each device raises a different one
        return False
    return True
