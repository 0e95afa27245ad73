"""Processes that start with torch imported: 0.1 s instead of 5 for each program that a test runs.

What a program does, prints and returns is as with an interpreter of its own, its end included
(``atexit``, signals, tracebacks), save that triton's may tell on standard error of its own objects that
the fork left to the end. What a test wants to know of *importing* takes ``run_cold``.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from tests.patience import Limit, patient

ROOT = pathlib.Path(__file__).parents[1]
LIMIT_S = 60.0
Ended = subprocess.CompletedProcess[str]


class Process:
    """One program that runs; ``wait`` for it or ``kill`` it."""

    def __init__(self, asked: dict[str, Any], streams: Sequence[int]) -> None:
        self._answers = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._answers.connect(_address())
        socket.send_fds(self._answers, [json.dumps(asked).encode() + b"\n"], streams)
        self.returncode: int | None = None
        self.pid = self._read_number()

    def fileno(self) -> int:
        """Return what ``select`` finds readable when it has ended."""
        return self._answers.fileno()

    def wait(self, limit_s: float = LIMIT_S) -> int:
        """Wait until it has ended; give its status as subprocess does.

        Raises:
            TimeoutError: If it has not after ``limit_s`` seconds of an idle machine.
        """
        if self.returncode is None:
            limit = Limit(limit_s)
            while not select.select([self], [], [], 1.0)[0]:
                if limit.is_over():
                    raise TimeoutError(f"process {self.pid} has not ended after {limit_s:.0f} s")
            self.returncode = self._read_number()
            self._answers.close()
        return self.returncode

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def _read_number(self) -> int:
        self._answers.settimeout(patient(LIMIT_S))
        text = b""
        while not text.endswith(b"\n"):
            part = self._answers.recv(1)
            if not part:
                raise RuntimeError("the process that forks has ended; what it wrote is above")
            text += part
        return int(text)


def start(
    *arguments: str,
    stdin: IO[Any] | int = subprocess.DEVNULL,
    stdout: IO[Any],
    stderr: IO[Any],
    cwd: str | os.PathLike[str] = ROOT,
    env: Mapping[str, str] | None = None,
) -> Process:
    """Start ``python ARGUMENTS`` in a fork: ``-W`` options, then ``-c``, ``-m`` or a file."""
    asked = {
        "arguments": arguments,
        "cwd": os.fspath(cwd),
        "env": dict(os.environ if env is None else env),
    }
    with open(os.devnull, "rb") as nothing:
        source = nothing if stdin == subprocess.DEVNULL else stdin
        return Process(asked, [stream.fileno() for stream in (source, stdout, stderr)])


class Talk:
    """A program that is talked with: ``stdin`` and ``stdout`` are its own, as text."""

    def __init__(self, *arguments: str, stderr: IO[Any], **options: Any) -> None:
        source, told = os.pipe()
        heard, target = os.pipe()
        with open(source, "rb") as stdin, open(target, "wb") as stdout:
            self.process = start(*arguments, stdin=stdin, stdout=stdout, stderr=stderr, **options)
        self.stdin, self.stdout = os.fdopen(told, "w"), os.fdopen(heard)

    def say(self, line: str) -> None:
        """Send it a line."""
        self.stdin.write(line + "\n")
        self.stdin.flush()

    def close(self) -> None:
        """Kill it if it has not ended; leave nothing behind."""
        self.process.kill()
        self.stdin.close()
        self.stdout.close()


def run(*arguments: str, limit_s: float = LIMIT_S, **options: Any) -> Ended:
    """Run ``python ARGUMENTS`` to its end; give what it printed, and its status."""
    (ended,) = run_together([arguments], limit_s=limit_s, **options)
    return ended


def run_together(
    programs: Iterable[Sequence[str]], *, limit_s: float = LIMIT_S, **options: Any
) -> list[Ended]:
    """Run several at once, as the ranks of a training; where one fails the others are killed.

    Raises:
        TimeoutError: If one has not ended after ``limit_s`` seconds of an idle machine, with
            what it wrote. None goes on.
    """
    with contextlib.ExitStack() as stack:
        processes, files = [], []
        for arguments in programs:
            made = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2)]
            processes.append(start(*arguments, stdout=made[0], stderr=made[1], **options))
            stack.callback(processes[-1].kill)
            files.append(made)
        late = _wait_for_all(processes, limit_s)
        if late is not None:
            told = _read(files[processes.index(late)][1])
            raise TimeoutError(f"not ended after {limit_s:.0f} s; on standard error:\n{told}")
        return [
            subprocess.CompletedProcess(process.pid, process.wait(), *map(_read, made))
            for process, made in zip(processes, files)
        ]


def _wait_for_all(processes: Sequence[Process], limit_s: float) -> Process | None:
    """Wait until all have ended; give one that has not when the time is over."""
    running, limit = list(processes), Limit(limit_s)
    while running:
        for process in select.select(running, [], [], 1.0)[0]:
            running.remove(process)
            if process.wait() != 0:
                for other in running:
                    other.kill()
                return None
        if running and limit.is_over():
            return running[0]
    return None


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def run_cold(*arguments: str, cwd: str | os.PathLike[str] = ROOT) -> Ended:
    """Run ``python ARGUMENTS`` in an interpreter of its own, which imports what it wants itself."""
    command, limit_s = [sys.executable, *arguments], patient(LIMIT_S)
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=limit_s)


@functools.cache
def _address() -> str:
    """Start the process that forks, once, and give the address at which it is asked."""
    directory = tempfile.TemporaryDirectory(prefix="warm")
    address = os.path.join(directory.name, "socket")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen()
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm_process", str(listener.fileno())],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=[listener.fileno()],
        start_new_session=True,  # an interrupt of the tests is none of its own
    )
    listener.close()

    @atexit.register
    def stop() -> None:
        server.stdin.close()
        server.wait()
        directory.cleanup()

    return address
