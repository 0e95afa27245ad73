"""A mode in which every way to make a program wait for a device is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
#: What reads a number, or makes a tensor whose size depends on numbers.
WAITING = frozenset(
    {
        aten._local_scalar_dense,
        aten.item,
        aten.is_nonzero,
        aten.equal,
        aten.allclose,
        aten.nonzero,
        aten.nonzero_static,
        aten.argwhere,
        aten.masked_select,
        aten.bincount,
        aten.unique_dim,
        aten._unique2,
        aten.unique_consecutive,
    }
)


class ForbidWaiting(TorchDispatchMode):
    """Raise where a number is read, a size depends on numbers, or data goes from a device to the CPU.

    What torch does not dispatch cannot be seen on the CPU, nor a copy from CPU to CPU:
    ``tolist``, ``numpy``, ``cpu``. On tensors of the meta device these raise by themselves.
    """

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func.overloadpacket in WAITING or _is_indexed_by_mask(func, args):
            raise AssertionError(f"{func} waits for the device")
        result = func(*args, **(kwargs or {}))
        if _device(result) == "cpu" and any(_device(arg) not in ("", "cpu") for arg in args):
            raise AssertionError(f"{func} copies to the CPU")
        return result


def _is_indexed_by_mask(func: Any, args: Sequence[Any]) -> bool:
    if func.overloadpacket not in (aten.index, aten.index_put, aten.index_put_):
        return False
    return any(index is not None and index.dtype == torch.bool for index in args[1])


def _device(found: Any) -> str:
    return found.device.type if isinstance(found, torch.Tensor) else ""
