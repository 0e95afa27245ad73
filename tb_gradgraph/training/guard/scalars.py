"""Read the scalars of every step, its loss and its norm: on the CPU at once, on a device one step late."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from tb_gradgraph.autograd import functions_not_overridden, modes_paused

#: Devices that can copy to pinned memory asynchronously.
_PINNED = ("cuda", "xpu")
_MOST_SCALARS = 4


class NotFinite(NamedTuple):
    """A scalar that is NaN or infinite."""

    step: int
    value: float
    is_late: bool  # whether the training has gone on since


class Scalars:
    """Looks at tensors of one element. Nothing is written to, and nothing of the graph is kept."""

    def __init__(self) -> None:
        self._late: dict[tuple[torch.device, bool], _LateScalar] = {}

    def see(self, tensors: Sequence[Any], step: int) -> NotFinite | None:
        """Look at the first tensors; return a scalar that is not finite.

        On a device it is one of an earlier step, because nobody waits for the device. Others than
        plain real tensors of one element are left out.
        """
        with functions_not_overridden(), modes_paused():
            for tensor in tensors[:_MOST_SCALARS]:
                if type(tensor) is not torch.Tensor or tensor.numel() != 1 or tensor.is_complex():
                    continue
                if tensor.is_cpu:
                    value = tensor.item()
                    if value - value != 0:  # NaN or infinite
                        return NotFinite(step, value, False)
                elif tensor.device.type in _PINNED:
                    found = self._late_of(tensor).exchange(tensor, step)
                    if found is not None:
                        return found
        return None

    def _late_of(self, tensor: torch.Tensor) -> _LateScalar:
        is_double = tensor.dtype == torch.float64
        late = self._late.get((tensor.device, is_double))
        if late is None:
            late = _LateScalar(tensor.device, torch.float64 if is_double else torch.float32)
            self._late[tensor.device, is_double] = late
        return late


class _LateScalar:
    """The copy of one scalar, on its way to the host."""

    def __init__(self, device: torch.device, dtype: torch.dtype = torch.float32) -> None:
        accelerator: Any = getattr(torch, device.type)
        self._stream = accelerator.current_stream
        self._device = device
        self._event: Any = accelerator.Event()
        self._host = torch.empty(1, dtype=dtype, device="cpu", pin_memory=True)
        self._step = -1  # of the scalar that is copied; -1: none

    def exchange(self, scalar: torch.Tensor, step: int) -> NotFinite | None:
        """Begin to copy ``scalar``; return the one before if it is not finite.

        If that has not arrived, ``scalar`` is left out: its copy would overwrite it.
        """
        found = None
        if self._step >= 0:
            if not self._event.query():
                return None
            value = self._host.item()
            if not math.isfinite(value):
                found = NotFinite(self._step, value, True)
        stream = self._stream(self._device)
        self._host.copy_(scalar.detach().reshape(1), non_blocking=True)
        # If another stream made it, its memory must not be given away before the copy has run.
        scalar.record_stream(stream)
        self._event.record(stream)
        self._step = step
        return found
