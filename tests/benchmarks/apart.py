"""Measuring a peer in a process of its own, where it may leave behind what it likes.

``python -m tests.benchmarks.apart PEER TRAINING ROUNDS SECONDS`` prints ratios to a bare step.
"""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import torch

from tests.benchmarks.peers import PEERS_APART
from tests.benchmarks.trainings import TRAININGS

ROOT = pathlib.Path(__file__).parents[2]
_REASON_LENGTH = 60


def measure_apart(
    peer: str, training: str, rounds: int, seconds: float
) -> tuple[list[float], str | None]:
    """Return ratios to a bare step of the same process, or why there are none.

    Each round is of steps for about ``seconds``; a peer for which one step takes
    as long as all rounds should is given one step, after one that is not counted.
    """
    command = [sys.executable, "-m", __name__, peer, training, str(rounds), str(seconds)]
    # Not of multiprocessing: in its children TorchLens refuses to trace.
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if finished.returncode:
        return [], _reason(finished.stderr)
    return json.loads(finished.stdout.splitlines()[-1]), None


def _reason(printed: str) -> str:
    """Find the exception's line at the end of a traceback."""
    lines = [line for line in printed.splitlines() if line and not line[0].isspace()]
    text = (lines or ["it died"])[-1].replace("|", "/")
    return text if len(text) <= _REASON_LENGTH else text[:_REASON_LENGTH] + "..."


def _ratios(peer: str, training_name: str, rounds: int, seconds: float) -> list[float]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")  # the peer's, of itself
    training = TRAININGS[training_name]()
    training.step()
    bare = statistics.median(_seconds_a_step(training.step, seconds) for _ in range(rounds))
    with PEERS_APART[peer](training, "") as (step, _):
        _seconds_a_step(step, 0)
        ratios: list[float] = []
        until = time.process_time() + rounds * seconds
        while len(ratios) < rounds and (not ratios or time.process_time() < until):
            ratios.append(_seconds_a_step(step, seconds) / bare)
    return ratios


def _seconds_a_step(step: Callable[[], None], seconds: float) -> float:
    """Run steps until they have taken that long, at least one."""
    start, count = time.process_time(), 0
    while True:
        step()
        count += 1
        taken = time.process_time() - start
        if taken >= seconds:
            return taken / count


if __name__ == "__main__":
    peer, training, rounds, seconds = sys.argv[1:]
    print(json.dumps(_ratios(peer, training, int(rounds), float(seconds))))
