"""Notice backward passes that run on several threads at once.

torch reads the hooks of a leaf, and of a node that graphs share, without a lock. If the first hook
is added there, or the table of hooks is removed, while another thread runs over it, the process
crashes. The ``.grad`` that such passes leave is the sum of both.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from tb_gradgraph.autograd.gradients.replay import reach

#: Held while a pass begins or ends, and while hooks are added or removed; never during a pass.
gate = threading.RLock()
_running: dict[int, Sequence[Any]] = {}  # roots, by thread
_tables: dict[int, torch.Tensor] = {}  # leaves whose tables of hooks are empty, by ``id``


class Passage:
    """The nodes and leaves that one pass runs over, while it is read."""

    def __init__(self, *places: Iterable[Any]) -> None:
        """Begin. Call it under ``gate``, before a hook is put on any of ``places`` (nodes and leaves)."""
        self._places = places
        self._thread = threading.get_ident()
        #: Whether another thread has run over one of these places.
        self.is_shared = False
        for thread, roots in _running.items():
            self.meet(thread, roots)
        _read[id(self)] = weakref.ref(self)

    def meet(self, thread: int, roots: Sequence[Any]) -> None:
        """Note that another thread begins a backward from ``roots``."""
        if thread != self._thread and not self.is_shared:
            self.is_shared = not self._identities().isdisjoint(_reached(roots))

    def end(self) -> None:
        """Forget what it ran over."""
        _read.pop(id(self), None)
        self._places = ()

    def _identities(self) -> set[int]:
        return {id(place) for places in self._places for place in places}


_read: dict[int, weakref.ref[Passage]] = {}  # the passes that are being read now


def _reached(roots: Sequence[Any]) -> set[int]:
    try:
        order, leaves, _ = reach(roots)
    except Exception:  # it cannot be differentiated; torch will raise an error
        return set()
    return {id(place) for place in (*order, *leaves)}


def begin_running(roots: Sequence[Any]) -> None:
    """Note that this thread runs backward, until ``end_running``."""
    thread = threading.get_ident()
    with gate:
        _running[thread] = roots
        for reference in tuple(_read.values()):
            if (passage := reference()) is not None:
                passage.meet(thread, roots)


def end_running() -> None:
    """Note that this thread's backward has ended."""
    with gate:
        _running.pop(threading.get_ident(), None)
        if _tables and not _running:
            _take_tables_away()


def forget_table(leaf: torch.Tensor) -> None:
    """Remove a leaf's table of hooks, if it is empty, once no backward runs. Call it under ``gate``."""
    _tables[id(leaf)] = leaf
    if not _running:
        _take_tables_away()


def _take_tables_away() -> None:
    while _tables:
        _, leaf = _tables.popitem()
        if not leaf._backward_hooks:
            leaf._backward_hooks = None


def _begin_anew() -> None:
    """Reset everything in a forked child, which has none of the other threads."""
    _running.clear()
    _read.clear()
    _take_tables_away()
    gate.release()


os.register_at_fork(before=gate.acquire, after_in_parent=gate.release, after_in_child=_begin_anew)
