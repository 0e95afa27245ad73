"""A cache with a limit in bytes."""

from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

Value = TypeVar("Value")


class ByteBoundedCache:
    """Keeps the values that were used last, up to a number of bytes. Thread-safe.

    If two threads miss the same key, one makes its value while the other waits; threads that
    miss another key do not wait.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._size = 0
        self._entries: collections.OrderedDict[Hashable, tuple[Any, int]]
        self._entries = collections.OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, tuple[threading.Lock, int]] = {}  # and how many threads wait

    def get(
        self, key: Hashable, make: Callable[[], Value], size_of: Callable[[Value], int]
    ) -> Value:
        """Return the value of ``key``, or else make and keep it. A value above the limit is not kept."""
        found = self._find(key)
        if found is not None:
            return found[0]
        with self._alone(key):
            found = self._find(key)
            if found is not None:
                return found[0]
            value = make()
            self.put(key, value, size_of(value))
            return value

    def _find(self, key: Hashable) -> tuple[Any] | None:
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return (self._entries[key][0],)

    @contextlib.contextmanager
    def _alone(self, key: Hashable) -> Iterator[None]:
        """Allow only one thread at a time to make the value of a key."""
        with self._lock:
            lock, wanted = self._making.get(key, (threading.Lock(), 0))
            self._making[key] = (lock, wanted + 1)
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, wanted = self._making.pop(key)
                if wanted > 1:
                    self._making[key] = (lock, wanted - 1)

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of ``size`` bytes and drop what was used least recently."""
        with self._lock:
            self._size += size - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = (value, size)
            while self._size > self._limit:
                self._size -= self._entries.popitem(last=False)[1][1]
