"""Values worth keeping, bounded by their size in bytes."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Value = TypeVar("Value")


class ByteBoundedCache:
    """Keeps what was used last, up to so many bytes; safe for several threads.

    Two threads that miss the same key both make its value; the later is kept.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._size = 0
        self._entries: collections.OrderedDict[Hashable, tuple[Any, int]]
        self._entries = collections.OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, key: Hashable, make: Callable[[], Value], size_of: Callable[[Value], int]
    ) -> Value:
        """Give the value kept under ``key``, else make and keep it; a value above the limit is not kept."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
        value = make()
        self.put(key, value, size_of(value))
        return value

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of ``size`` bytes and drop what was used least recently."""
        with self._lock:
            self._size += size - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = (value, size)
            while self._size > self._limit:
                self._size -= self._entries.popitem(last=False)[1][1]
