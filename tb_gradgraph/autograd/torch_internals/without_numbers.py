"""Substitutes for numbers that a future torch may lack: those of autograd nodes and backward passes."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable

from torch.autograd.graph import Node as AutogradNode


def numbers_by_use(roots: Iterable[AutogradNode]) -> dict[AutogradNode, int]:
    """Number all nodes behind ``roots``: sources before users, and the sources of an operation in order.

    This is the order of the forward, as far as its expressions show it. The order of two
    independent statements is unknown; they are ordered by the place of their first use.
    """
    numbers: dict[AutogradNode, int] = {}
    entered: set[AutogradNode] = set()
    pending = [(root, False) for root in roots][::-1]
    while pending:
        node, is_left = pending.pop()
        if is_left:
            numbers[node] = len(numbers)
        elif node not in entered:
            entered.add(node)
            pending.append((node, True))
            sources = (source for source, _ in reversed(node.next_functions))
            pending += [(source, False) for source in sources if source is not None]
    return numbers


class TaskOfThread:
    """Numbers the backward that runs on this thread, assuming that only one runs at a time.

    A backward that runs inside another on the same thread counts as part of it.
    """

    def __init__(self, call_after_backward: Callable[[Callable[[], None]], None]) -> None:
        """Prepare. ``call_after_backward`` must raise if no backward is running."""
        self._call_after_backward = call_after_backward
        self._running: dict[int, int] = {}  # by thread
        self._numbers = itertools.count()

    def __call__(self) -> int:
        """Return the number of the running backward; -1 if none runs."""
        thread = threading.get_ident()
        if thread not in self._running:
            try:
                self._call_after_backward(_LetGo(self._running, thread))
            except RuntimeError:
                return -1
            self._running[thread] = next(self._numbers)
        return self._running[thread]


class _LetGo:
    """Held by a backward and freed with it, even if it raises. Then the next one may begin."""

    def __init__(self, running: dict[int, int], thread: int) -> None:
        self._running = running
        self._thread = thread

    def __call__(self) -> None:
        """Do nothing at the end of a backward; the work is done when this object is freed."""

    def __del__(self) -> None:
        self._running.pop(self._thread, None)
