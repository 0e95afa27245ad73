"""Run jobs for several runs, so that no run waits for a slow one."""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence

#: After this many seconds, jobs that wait for another job get a thread of their own.
_LONG = 0.25

_logger = logging.getLogger(__name__)

Job = Callable[[], None]


def run_all(jobs: Sequence[Job], patience: float | None) -> None:
    """Run jobs. If one raises an error, log it.

    Args:
        jobs: The jobs, in the order in which they begin.
        patience: Seconds after which this returns; running jobs continue. ``None``: run all jobs on
            this thread, one after the other.
    """
    if patience is None:
        for job in jobs:
            _run(job)
    elif jobs:
        _run_aside(jobs, time.monotonic() + patience)


def _run_aside(jobs: Sequence[Job], deadline: float) -> None:
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    done = threading.Semaphore(0)
    _start_lane(waiting, done)
    for _ in jobs:
        while not done.acquire(timeout=max(0.0, min(_LONG, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                return
            if not waiting.empty():
                _start_lane(waiting, done)


def _start_lane(waiting: queue.SimpleQueue[Job], done: threading.Semaphore) -> None:
    def work() -> None:
        while True:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            _run(job)
            done.release()

    threading.Thread(target=work, name="tb_gradgraph_reader", daemon=True).start()


def _run(job: Job) -> None:
    try:
        job()
    except Exception:
        _logger.exception("tb_gradgraph: a run could not be read")


def seconds(patience: float | None) -> float:
    """Return a waiting time as ``Lock.acquire`` takes it."""
    return -1 if patience is None or math.isinf(patience) else patience
