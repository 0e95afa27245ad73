"""The hooks on autograd nodes and leaves, and their removal."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import torch
from torch.utils.hooks import RemovableHandle

from tb_gradgraph.autograd.gradients.rows import SlotRows
from tb_gradgraph.autograd.gradients.threads import forget_table, gate

#: A hook to remove, and the leaf tensor it is on (None: it is on an autograd node).
Attached = tuple[RemovableHandle, torch.Tensor | None]


class Observer(Protocol):
    """What hooks call: with each gradient, and at the end of a pass."""

    def see(self, rows: Iterable[int], gradient: torch.Tensor | None, begins: bool = True) -> None:
        """Take the gradient of ``rows``; ``begins`` says that it may be the first of its pass."""

    def see_all(self, rows: SlotRows, gradients: Sequence[torch.Tensor | None]) -> None:
        """Take the gradients of a node's slots, or of the edges into it."""

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


class NodeHook:
    """Reads one gradient for each slot of a node, or one for each of its inputs.

    As a prehook it gets what flows into the node, summed over its users. As a hook it gets what the
    node sends to its inputs: the shares of single edges.
    """

    def __init__(self, observer: Observer, rows: SlotRows) -> None:
        self._observer = observer
        self._rows = rows

    def __call__(self, gradients: Sequence[torch.Tensor | None], _received: Any = None) -> None:
        """Read the gradients."""
        self._observer.see_all(self._rows, gradients)


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
