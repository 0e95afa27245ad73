"""Check whether a tensor has elements in memory that can be read."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch

#: Returns whether a tensor is functional, without memory of its own. A torch without this function has none.
_is_functional = getattr(torch, "_is_functional_tensor", lambda _: False)


def has_memory(tensor: torch.Tensor) -> bool:
    """Return whether the elements of a tensor can be read. Ask this before reading them.

    They cannot be read if the memory was freed, as ``fully_shard`` frees that of gathered
    parameters. Nor can those of tensors without memory: tensors on the device "meta", fake tensors,
    and functionalized ones.
    """
    if tensor.is_meta or _is_functional(tensor):
        return False
    kind = type(tensor)
    is_plain = kind is torch.Tensor or kind is torch.nn.Parameter
    if is_plain and tensor.layout == torch.strided:
        return not is_freed(tensor)
    if not is_plain and _is_pretended(tensor):
        return False
    parts = _parts(tensor)
    return not is_freed(tensor) if parts is None else all(map(has_memory, parts))


def is_freed(tensor: torch.Tensor) -> bool:
    """Return whether a dense tensor with elements no longer has memory."""
    if tensor.layout != torch.strided or not tensor.numel() or tensor._is_zerotensor():
        return False
    try:
        return tensor.untyped_storage().nbytes() == 0
    except (NotImplementedError, RuntimeError):  # within vmap, or on a device without storages
        return False


def _is_pretended(tensor: torch.Tensor) -> bool:
    for file, name in (("fake_tensor", "FakeTensor"), ("functional_tensor", "FunctionalTensor")):
        module = sys.modules.get(f"torch._subclasses.{file}")
        if module is not None and isinstance(tensor, getattr(module, name, ())):
            return True
    return False


def _parts(tensor: torch.Tensor) -> Sequence[torch.Tensor] | None:
    """Return the tensors that hold the elements of a tensor; None if it holds them itself."""
    if tensor.layout == torch.sparse_coo:
        return (tensor._values(),)
    if tensor.layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
        return (tensor.values(),)
    flatten = getattr(
        tensor, "__tensor_flatten__", None
    )  # distributed and jagged tensors have it, among others
    if flatten is None:
        return None
    held = (getattr(tensor, name, None) for name in flatten()[0])
    return [part for part in held if isinstance(part, torch.Tensor)]
