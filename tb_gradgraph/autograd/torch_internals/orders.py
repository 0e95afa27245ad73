"""Which autograd nodes were made by a backward with ``create_graph``, known of those that we saw."""

from __future__ import annotations

import collections
import threading
from collections.abc import Iterable

#: Thread, first number and the one after the last of each backward seen; the oldest are forgotten.
_ranges: collections.deque[tuple[int, int, int]] = collections.deque(maxlen=1024)


def note_backward(first: int, end: int) -> None:
    """Note that a backward of this thread gave its nodes the numbers from ``first`` up to ``end``."""
    if first < end:
        _ranges.append((threading.get_ident(), first, end))


def second_order(numbers: Iterable[int]) -> frozenset[int]:
    """Give those of ``numbers``, given on this thread, that a backward seen by us gave."""
    thread = threading.get_ident()
    ranges = [(first, end) for owner, first, end in _ranges if owner == thread]
    if not ranges:
        return frozenset()
    return frozenset(n for n in numbers if any(first <= n < end for first, end in ranges))
