"""Two processes of one process group that run checks one after the other, started once."""

from __future__ import annotations

import json
import os
import pathlib
import selectors
import socket

from tests import warm
from tests.patience import Limit

WORLD = 2
#: Seconds of an idle machine for one check.
LIMIT_S = 100.0


class Pair:
    """Processes of ``tests.distributed.process``; ``run`` has both run a check."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._processes: list[warm.Talk] = []
        self._starts = 0

    def run(self, check: str, directory: pathlib.Path) -> None:
        """Run ``module.function`` of this package on every rank; raise AssertionError with what one raised.

        After a failure both are started anew: their group may be out of step.
        """
        if not self._processes:
            self._start()
        for process in self._processes:
            process.say(json.dumps([check, str(directory)]))
        answers = self._wait()
        told = [f"rank {rank}: {answer}" for rank, answer in answers.items() if answer]
        if told or len(answers) < WORLD:
            silent = [f"rank {rank}: no answer" for rank in range(WORLD) if rank not in answers]
            self.close()
            raise AssertionError(f"{check}\n" + "\n".join([*told, *silent]))

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.close()
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
                environment = {**os.environ, **environment, "MASTER_ADDR": "127.0.0.1"}
                program = ("-m", "tests.distributed.process")
                self._processes.append(warm.Talk(*program, stderr=errors, env=environment))

    def _wait(self) -> dict[int, str]:
        """Return what each rank answers, "" where all is well, as far as they do in time."""
        answers: dict[int, str] = {}
        limit = Limit(LIMIT_S)
        with selectors.DefaultSelector() as selector:
            for rank, process in enumerate(self._processes):
                selector.register(process.stdout, selectors.EVENT_READ, rank)
            while len(answers) < WORLD and not limit.is_over():
                for key, _ in selector.select(1.0):
                    selector.unregister(key.fileobj)
                    line = key.fileobj.readline()
                    answers[key.data] = json.loads(line) if line else "ended"
                    if answers[key.data]:
                        limit = Limit(5)  # the other may wait for it
        return answers
