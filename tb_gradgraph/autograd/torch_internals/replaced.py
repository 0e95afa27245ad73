"""Replace a function of torch while there is a listener."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

ListenerT = TypeVar("ListenerT")


class Replaced(Generic[ListenerT]):
    """Replaces ``owner.name`` while there is a listener, and restores it afterwards.

    Attributes:
        listeners: The listeners, in the order in which they were added.
    """

    def __init__(
        self, owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]
    ) -> None:
        """Prepare; ``make`` returns the replacement of the original, wrapped by ``functools.wraps``."""
        self.listeners: list[ListenerT] = []
        self._owner = owner
        self._name = name
        self._make = make
        self._lock = threading.RLock()  # reentrant: a garbage collection inside may end a watch
        self._original: Callable[..., Any] | None = None

    def listen(self, listener: ListenerT) -> Callable[[], None]:
        """Add ``listener``; return a function that removes it and may be called twice."""
        with self._lock:
            self.listeners.append(listener)
            if self._original is None:
                self._original = getattr(self._owner, self._name)
                setattr(self._owner, self._name, self._make(self._original))

        def stop() -> None:
            with self._lock:
                if listener in self.listeners:
                    self.listeners.remove(listener)
                if not self.listeners:
                    self._restore()

        return stop

    def _restore(self) -> None:
        """Restore torch's function, unless other code has replaced it since."""
        installed = getattr(self._owner, self._name)
        if self._original is not None and getattr(installed, "__wrapped__", None) is self._original:
            setattr(self._owner, self._name, self._original)
            self._original = None
