"""Limit the memory for copies of weights, on the host and on accelerators."""

from __future__ import annotations

from typing import Any

import torch

#: Bytes on the host, and the most on an accelerator.
UPDATE_MEMORY = 256 * 2**20

_OF_FREE = 0.05  # share of an accelerator's free memory


class Room:
    """The memory that is left for copies of weights while an optimizer steps."""

    def __init__(self, limit: int) -> None:
        """Begin with ``limit`` bytes, or less if an accelerator has little free memory."""
        self._limit = limit
        self._left: dict[torch.device, int] = {}

    def take(self, device: torch.device, size: int) -> bool:
        """Take ``size`` bytes if that many are left."""
        if device not in self._left:
            free = self._limit if device.type == "cpu" else int(_OF_FREE * _free_bytes(device))
            self._left[device] = min(self._limit, free)
        if size > self._left[device]:
            return False
        self._left[device] -= size
        return True

    def close(self, device: torch.device) -> None:
        """Allow nothing more, because an allocation has failed."""
        self._left[device] = 0


def _free_bytes(device: torch.device) -> int:
    """Return the free bytes of an accelerator; 0 if they are unknown or may not be asked for."""
    accelerator: Any = getattr(torch, device.type, None)
    capturing = getattr(accelerator, "is_current_stream_capturing", None)
    try:
        if capturing is not None and capturing():  # into a CUDA graph
            return 0
        return int(accelerator.mem_get_info(device)[0])
    except (AttributeError, NotImplementedError, RuntimeError):
        return 0
