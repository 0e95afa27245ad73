"""Copy tensors to the host: one copy for each device, which is awaited only when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

_PINNED = ("cuda", "xpu")  # devices that can copy to pinned memory asynchronously


class Transfer:
    """A copy of several tensors of one device to the host. The constructor starts it.

    Tensors on the CPU are not copied, so nobody may write to them any more.
    """

    def __init__(self, device: torch.device, tensors: Sequence[torch.Tensor]) -> None:
        self._tensors = [tensor.detach() for tensor in tensors]
        self._event: Any = None
        self._packed: torch.Tensor | None = None
        if device.type != "cpu":
            self._packed, self._event = _begin_copy(device, packed(self._tensors))

    def wait(self) -> list[np.ndarray]:
        """Wait for the copy, and return the tensors as flat arrays. It may be called on any thread."""
        if self._packed is None:
            return [tensor.reshape(-1).numpy() for tensor in self._tensors]
        if self._event is not None:
            self._event.synchronize()
        return unpacked(self._packed.cpu().numpy(), self._tensors)


def send(array: np.ndarray, device: torch.device) -> torch.Tensor:
    """Copy an array of the host to a device, without waiting."""
    tensor = torch.from_numpy(array)
    if device.type in _PINNED:
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def packed(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Concatenate tensors of any types as bytes, the widest types first."""
    parts = [tensors[place].reshape(-1).view(torch.uint8) for place in _by_width(tensors)]
    return torch.cat(parts)


def unpacked(content: np.ndarray, tensors: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """Reverse ``packed``: return flat arrays of the types and sizes of ``tensors``."""
    arrays: list[np.ndarray] = [content] * len(tensors)
    offset = 0
    for place in _by_width(tensors):
        dtype = torch.empty(0, dtype=tensors[place].dtype, device="cpu").numpy().dtype
        count = tensors[place].numel()
        arrays[place] = np.frombuffer(content, dtype, count, offset)
        offset += count * dtype.itemsize
    return arrays


def _by_width(tensors: Sequence[torch.Tensor]) -> list[int]:
    return sorted(range(len(tensors)), key=lambda place: -tensors[place].element_size())


def _begin_copy(device: torch.device, content: torch.Tensor) -> tuple[torch.Tensor, Any]:
    if device.type not in _PINNED:
        return content, None  # it is copied when it is read
    host = torch.empty(content.shape, dtype=content.dtype, device="cpu", pin_memory=True)
    host.copy_(content, non_blocking=True)
    accelerator = getattr(torch, device.type)
    event = accelerator.Event()
    event.record(accelerator.current_stream(device))
    return host, event
