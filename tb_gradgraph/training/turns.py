"""Whose optimizer step ends a step of the training."""

from __future__ import annotations

import torch


class Turns:
    """A step ends when all optimizers have stepped.

    Where one steps again before the others have, as the critic of a GAN, the last to
    step then ends every step from now on.
    """

    def __init__(self, optimizers: int) -> None:
        """Prepare for so many optimizers."""
        self._optimizers = optimizers
        self._done: list[int] = []  # by ``id``
        self._closing = 0  # 0: all of them

    def has_stepped(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether ``optimizer`` has stepped in this step."""
        return id(optimizer) in self._done

    def close_with_last(self) -> None:
        """Have the one that stepped last end every step."""
        self._closing = self._done[-1]

    def take(self, optimizer: torch.optim.Optimizer) -> bool:
        """Note a step of ``optimizer``; give whether the training's step ends with it."""
        self._done.append(id(optimizer))
        if self._closing:
            return id(optimizer) == self._closing
        return len(set(self._done)) == self._optimizers

    def begin(self) -> None:
        """Begin a step."""
        self._done.clear()
