"""Read the loss of every backward: on the CPU at once, on a device one step late."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from tb_gradgraph.autograd import functions_not_overridden, modes_paused

#: Devices that can copy to pinned memory asynchronously.
_PINNED = ("cuda", "xpu")
_MOST_ROOTS = 4


class SeenLoss(NamedTuple):
    """A loss that is not finite."""

    step: int
    value: float
    is_late: bool  # whether its backward has run already


class Losses:
    """Looks at losses of one element. Nothing is written to, and nothing of the graph is kept."""

    def __init__(self) -> None:
        self._late: dict[torch.device, _LateLoss] = {}

    def see(self, roots: Any, step: int) -> SeenLoss | None:
        """Look at what a backward starts from; return a loss that is not finite.

        On a device it is one of an earlier step, because nobody waits for the device. Others than
        plain real tensors of one element are left out.
        """
        with functions_not_overridden(), modes_paused():
            for root in roots[:_MOST_ROOTS]:
                if type(root) is not torch.Tensor or root.numel() != 1 or root.is_complex():
                    continue
                if root.is_cpu:
                    value = root.item()
                    if value - value != 0:  # NaN or infinite
                        return SeenLoss(step, value, False)
                elif root.device.type in _PINNED:
                    late = self._late.get(root.device)
                    if late is None:
                        late = self._late[root.device] = _LateLoss(root.device)
                    found = late.exchange(root, step)
                    if found is not None:
                        return found
        return None


class _LateLoss:
    """The copy of one loss, on its way to the host."""

    def __init__(self, device: torch.device) -> None:
        accelerator: Any = getattr(torch, device.type)
        self._stream = accelerator.current_stream
        self._device = device
        self._event: Any = accelerator.Event()
        self._host = torch.empty(1, dtype=torch.float32, device="cpu", pin_memory=True)
        self._step = -1  # of the loss that is copied; -1: none

    def exchange(self, root: torch.Tensor, step: int) -> SeenLoss | None:
        """Begin to copy ``root``; return the loss before if it is not finite.

        If that has not arrived, ``root`` is left out.
        """
        found = None
        if self._step >= 0:
            if not self._event.query():
                return None
            value = self._host.item()
            if not math.isfinite(value):
                found = SeenLoss(self._step, value, True)
        self._host.copy_(root.detach().reshape(1), non_blocking=True)
        self._event.record(self._stream(self._device))
        self._step = step
        return found
