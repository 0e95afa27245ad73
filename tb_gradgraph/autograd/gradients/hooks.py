"""The hooks on autograd nodes and leaves, and their removal."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch.utils.hooks import RemovableHandle

from tb_gradgraph.autograd.gradients.threads import forget_table, gate

#: A hook to remove, and the leaf tensor it is on (None: it is on an autograd node).
Attached = tuple[RemovableHandle, torch.Tensor | None]


class Observer(Protocol):
    """What hooks call: with each gradient, and at the end of a pass."""

    def see(self, rows: Iterable[int], gradient: torch.Tensor | None, begins: bool = True) -> None:
        """Take the gradient of ``rows``; ``begins`` says that it may be the first of its pass."""

    def end(self, task: int) -> None:
        """Finish the pass of a graph task that ended without an error."""

    def forget(self, task: int) -> None:
        """Drop everything held for a graph task, however it ended."""


class EndOfPass:
    """Called by the engine if a backward ends without an error. The engine drops it in any case."""

    def __init__(self, observer: Observer, task: int) -> None:
        self._observer = observer
        self._task = task

    def __call__(self) -> None:
        """Finish the pass."""
        self._observer.end(self._task)

    def __del__(self) -> None:
        self._observer.forget(self._task)


class SlotHook:
    """Reads the gradients that flow into a node, summed over its users: one for each slot."""

    def __init__(self, observer: Observer, rows: Sequence[tuple[int, ...]]) -> None:
        self._observer = observer
        self._rows = rows

    def __call__(self, gradients: tuple[torch.Tensor | None, ...]) -> None:
        """Read the gradients that flow into the node."""
        for rows, gradient in zip(self._rows, gradients):
            if gradient is not None:
                self._observer.see(rows, gradient)


class EdgeHook:
    """Reads what a node sends to each input: the share of one edge."""

    def __init__(self, observer: Observer, rows: Mapping[int, int]) -> None:
        self._observer = observer
        self._rows = rows

    def __call__(self, sent: Sequence[torch.Tensor | None], _received: Any) -> None:
        """Read the gradients that the node sends to its inputs."""
        for position, row in self._rows.items():
            gradient = sent[position] if position < len(sent) else None
            if gradient is not None:
                self._observer.see((row,), gradient)


class LeafHook:
    """Reads the gradient of a leaf, summed over this backward, before it is accumulated."""

    #: Tells torch not to warn when the tensor is copied; a copy is not observed.
    __torch_unserializable__ = True

    def __init__(self, observer: Observer, rows: tuple[int, ...]) -> None:
        self._observer = weakref.ref(observer)
        self._rows = rows

    def __call__(self, gradient: torch.Tensor) -> None:
        """Read the gradient of the leaf."""
        observer = self._observer()
        if observer is not None:
            observer.see(self._rows, gradient, begins=False)


def detach(attached: list[Attached]) -> None:
    """Remove hooks, and the empty table that torch leaves on a tensor that had no hooks."""
    with gate:
        while attached:
            handle, leaf = attached.pop()
            handle.remove()
            if leaf is not None:
                forget_table(leaf)
