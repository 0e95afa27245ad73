"""The hooks that sit on autograd nodes and leaves, and how they are taken away."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch.utils.hooks import RemovableHandle

from tb_gradgraph.autograd.gradients.threads import forget_table, gate

#: What to undo: a hook, and the leaf tensor it sits on (None: it is on an autograd node).
Attached = tuple[RemovableHandle, torch.Tensor | None]


class Observer(Protocol):
    """What hooks report: gradients as they come, and how a pass ended."""

    def see(self, rows: Iterable[int], gradient: torch.Tensor | None, begins: bool = True) -> None:
        """Take in the gradient of ``rows``; ``begins`` says that it may be the first of its pass."""

    def end(self, task: int) -> None:
        """Finish the pass of a graph task that has ended well."""

    def forget(self, task: int) -> None:
        """Drop what is held for a graph task, however it ended."""


class EndOfPass:
    """Called by the engine when a backward has ended well; the engine drops it in any case."""

    def __init__(self, observer: Observer, task: int) -> None:
        self._observer = observer
        self._task = task

    def __call__(self) -> None:
        """Finish the pass."""
        self._observer.end(self._task)

    def __del__(self) -> None:
        self._observer.forget(self._task)


class SlotHook:
    """What flows into a node, summed over its users: the gradient of each slot."""

    def __init__(self, observer: Observer, rows: Sequence[tuple[int, ...]]) -> None:
        self._observer = observer
        self._rows = rows

    def __call__(self, gradients: tuple[torch.Tensor | None, ...]) -> None:
        """Read what flows into the node."""
        for rows, gradient in zip(self._rows, gradients):
            if gradient is not None:
                self._observer.see(rows, gradient)


class EdgeHook:
    """What a node sends to each input: the edge's own share."""

    def __init__(self, observer: Observer, rows: Mapping[int, int]) -> None:
        self._observer = observer
        self._rows = rows

    def __call__(self, sent: Sequence[torch.Tensor | None], _received: Any) -> None:
        """Read what the node sends to its inputs."""
        for position, row in self._rows.items():
            gradient = sent[position] if position < len(sent) else None
            if gradient is not None:
                self._observer.see((row,), gradient)


class LeafHook:
    """The gradient of a leaf, summed over this backward, before it is accumulated."""

    #: A copy of the tensor is not observed, so torch need not warn about it.
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
