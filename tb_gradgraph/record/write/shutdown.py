"""Write open sessions when the process ends: at exit and, if no other handler is installed, on SIGTERM."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import signal
import threading
import weakref
from types import FrameType
from typing import Protocol

#: How many seconds a SIGTERM may wait for the disk. The sender may send SIGKILL soon after.
SIGTERM_PATIENCE = 5.0


class Closable(Protocol):
    """The methods of a session that this module needs."""

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything queued so far is written."""

    def collect(self) -> None:
        """Collect the records that holders hold back, because the process is about to end."""

    def close(self) -> None:
        """Write what is pending and end."""


_open: weakref.WeakSet[Closable] = weakref.WeakSet()
_exits: weakref.WeakKeyDictionary[Closable, functools.partial] = weakref.WeakKeyDictionary()


def add(session: Closable) -> None:
    """Close a session at exit.

    Each session is registered separately. Exit functions run in reverse order, so this one runs
    before that of the writer, which was registered earlier.
    """
    _open.add(session)
    _exits[session] = functools.partial(_close, weakref.ref(session))
    atexit.register(_exits[session])
    _take_sigterm()


def remove(session: Closable) -> None:
    """Undo :func:`add`; with the last session the default SIGTERM comes back."""
    _open.discard(session)
    exit_function = _exits.pop(session, None)
    if exit_function is not None:
        atexit.unregister(exit_function)
    if not _open:
        _give_back_sigterm()


def _close(session: weakref.ref[Closable]) -> None:
    alive = session()
    if alive is not None:
        alive.close()


def _take_sigterm() -> None:
    """Install a SIGTERM handler if the default handler is in place, and if Python allows it."""
    if threading.current_thread() is not threading.main_thread():
        return
    with contextlib.suppress(ValueError, OSError):
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _on_sigterm)


def _give_back_sigterm() -> None:
    with contextlib.suppress(ValueError, OSError):
        if signal.getsignal(signal.SIGTERM) is _on_sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    """Write what is pending, and then end the process as the default handler would."""
    for session in list(_open):
        session.collect()
        session.flush(SIGTERM_PATIENCE)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


if hasattr(os, "register_at_fork"):
    # A child, such as a DataLoader's worker, has nothing of ours to write.
    os.register_at_fork(after_in_child=_give_back_sigterm)
