"""A process that has imported torch, and nothing of ours, and forks for each program that it is to run.

``python -m tests.warm_process LISTENER`` is started by ``tests.warm`` and ends with it. Torch takes 5 s of a
processor, and its compiler, which the first optimizer imports, 5 s more. Torch starts no thread before
its first parallel region or backward, and this process has neither, so a fork of it is as good as a
process that has just imported torch.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pathlib
import runpy
import selectors
import signal
import socket
import sys
import types
import warnings
from typing import Any

import torch._dynamo
import torch.utils.tensorboard  # noqa: F401

#: Longest message; programs are sent as text.
_MOST_BYTES = 1 << 20


class _Server:
    """Takes programs from a socket and tells each asker how its process ended."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._askers: dict[int, socket.socket] = {}
        self._woken, self._wakes = socket.socketpair()
        self._wakes.setblocking(False)
        self._selector = selectors.DefaultSelector()
        for readable in (listener, self._woken, sys.stdin.buffer):
            self._selector.register(readable, selectors.EVENT_READ)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # else no byte wakes the selector
        signal.set_wakeup_fd(self._wakes.fileno())

    def serve(self) -> dict[str, Any] | None:
        """Return in each child with what it is to run, and with None when the tests have ended."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    asked = self._fork(self._listener.accept()[0])
                    if asked is not None:
                        return asked
                elif key.fileobj is self._woken:
                    self._woken.recv(1024)
                    self._reap()
                else:
                    self._leave()
                    return None

    def _fork(self, asker: socket.socket) -> dict[str, Any] | None:
        content, descriptors, _, _ = socket.recv_fds(asker, _MOST_BYTES, 3)
        while not content.endswith(b"\n"):
            content += asker.recv(_MOST_BYTES)
        pid = os.fork()
        if pid:
            for descriptor in descriptors:
                os.close(descriptor)
            self._askers[pid] = asker
            asker.sendall(f"{pid}\n".encode())
            return None
        asker.close()
        self._leave()
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
            os.close(descriptor)
        return json.loads(content)

    def _leave(self) -> None:
        """Be no server any more, in the child."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for end in (self._listener, self._woken, self._wakes, *self._askers.values()):
            end.close()

    def _reap(self) -> None:
        while self._askers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._askers.pop(pid) as asker, contextlib.suppress(BrokenPipeError):
                asker.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _run(arguments: list[str]) -> None:
    """Do what ``python ARGUMENTS`` does: ``-W`` as often as wanted, then ``-c``, ``-m`` or a file."""
    options = []
    while arguments[0] == "-W":
        options.append(arguments[1])
        arguments = arguments[2:]
    sys.warnoptions[:] = options
    warnings._processoptions(options)
    if arguments[0] == "-m":
        sys.argv[:] = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    if arguments[0] == "-c":
        sys.argv[:] = ["-c", *arguments[2:]]
        sys.path[0] = ""
        code = compile(arguments[1], "<string>", "exec")
    else:
        path = pathlib.Path(arguments[0])
        sys.argv[:] = arguments
        sys.path[0] = str(path.parent)
        main.__file__ = arguments[0]
        code = compile(path.read_bytes(), arguments[0], "exec")
    exec(code, main.__dict__)


if __name__ == "__main__":
    _threads = pathlib.Path("/proc/self/task")
    assert len(list(_threads.iterdir())) == 1, "a fork would lose the other threads"
    gc.collect()
    gc.freeze()  # or each child would look through torch's objects, and copy their pages
    _asked = _Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    if _asked is not None:
        os.chdir(_asked["cwd"])
        os.environ.clear()
        os.environ.update(_asked["env"])
        _run(_asked["arguments"])
