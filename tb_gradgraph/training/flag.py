"""Yes or no, on its way from a device."""

from __future__ import annotations

import torch

from tb_gradgraph.memory import has_memory
from tb_gradgraph.summarize.transfer import Transfer


class Flag:
    """A number on a device that says yes where it is not 0; or what is known already."""

    def __init__(self, number: torch.Tensor | bool) -> None:
        """Begin the copy to the host."""
        self._transfer = None
        self._read = False
        if isinstance(number, torch.Tensor) and has_memory(number):
            self._transfer = Transfer(number.device, [number.detach().clone()])
        elif isinstance(number, bool):
            self._read = number

    @property
    def is_sure(self) -> bool:
        """Whether it is yes, and known to be."""
        return self._transfer is None and self._read

    def read(self) -> bool:
        """Say yes or no; waits for the copy."""
        if self._transfer is not None:
            self._read = bool(self._transfer.wait()[0][0])
            self._transfer = None
        return self._read
