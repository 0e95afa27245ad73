"""Find which autograd nodes a backward with ``create_graph`` made, if we saw that backward."""

from __future__ import annotations

import collections
import threading
from collections.abc import Iterable

#: Thread, first number, and last number plus one of each backward seen; the oldest are forgotten.
_ranges: collections.deque[tuple[int, int, int]] = collections.deque(maxlen=1024)


def note_backward(first: int, end: int) -> None:
    """Note that a backward on this thread gave its nodes the numbers from ``first`` up to ``end``."""
    if first < end:
        _ranges.append((threading.get_ident(), first, end))


def second_order(numbers: Iterable[int]) -> frozenset[int]:
    """Return those of ``numbers``, given on this thread, that came from a backward we saw."""
    thread = threading.get_ident()
    ranges = [(first, end) for owner, first, end in _ranges if owner == thread]
    if not ranges:
        return frozenset()
    return frozenset(n for n in numbers if any(first <= n < end for first, end in ranges))
