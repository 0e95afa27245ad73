"""Two processes of one process group that run checks one after the other, started once."""

from __future__ import annotations

import json
import os
import pathlib
import selectors
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[2]
WORLD = 2
#: Seconds for one check; gloo gives up before.
LIMIT = 300.0


class Pair:
    """Processes of ``tests.distributed.process``; ``run`` has both run a check."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._processes: list[subprocess.Popen[str]] = []
        self._starts = 0

    def run(self, check: str, directory: pathlib.Path) -> None:
        """Run ``module.function`` of this package on every rank; raise AssertionError with what one raised.

        After a failure both are started anew: their group may be out of step.
        """
        if not self._processes:
            self._start()
        for process in self._processes:
            process.stdin.write(json.dumps([check, str(directory)]) + "\n")
            process.stdin.flush()
        answers = self._wait()
        told = [f"rank {rank}: {answer}" for rank, answer in answers.items() if answer]
        if told or len(answers) < WORLD:
            silent = [f"rank {rank}: no answer" for rank in range(WORLD) if rank not in answers]
            self.close()
            raise AssertionError(f"{check}\n" + "\n".join([*told, *silent]))

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        self._processes = []

    def _start(self) -> None:
        self._starts += 1
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        told = self._directory / f"told{self._starts}"
        for rank in range(WORLD):
            ours = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": WORLD, "MASTER_PORT": port}
            environment = {key: str(value) for key, value in ours.items()}
            with open(f"{told}_{rank}", "w", encoding="utf-8") as errors:
                process = subprocess.Popen(
                    [sys.executable, "-m", "tests.distributed.process"],
                    cwd=ROOT,
                    env={**os.environ, **environment, "MASTER_ADDR": "127.0.0.1"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
            self._processes.append(process)

    def _wait(self) -> dict[int, str]:
        """Give what each rank answers, "" where all is well, as far as they do in time."""
        answers: dict[int, str] = {}
        deadline = time.monotonic() + LIMIT
        with selectors.DefaultSelector() as selector:
            for rank, process in enumerate(self._processes):
                selector.register(process.stdout, selectors.EVENT_READ, rank)
            while len(answers) < WORLD and (left := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    selector.unregister(key.fileobj)
                    line = key.fileobj.readline()
                    answers[key.data] = json.loads(line) if line else "ended"
                if any(answers.values()):
                    deadline = min(deadline, time.monotonic() + 10)  # the other may wait for it
        return answers
