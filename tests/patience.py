"""How long a test waits before it gives up: seconds of an idle machine, whatever else runs on this one.

Every limit of a test is written down as it is right on the machine of ``REFERENCE_S`` with nothing
beside it, and is multiplied by how much slower work goes here and now. A limit only ends what hangs;
no test passes or fails by how fast something was.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable

#: Wall time of ``_work`` on the machine that limits are written for: two idle cores of 2026.
REFERENCE_S = 0.02
#: How long a measured factor holds.
FRESH_S = 5.0
MOST = 100.0


@dataclasses.dataclass
class _Measured:
    factor: float = 1.0
    at: float = float("-inf")


_last = _Measured()


def factor() -> float:
    """How many times as long as on the reference machine, idle, work takes now; at least 1.

    It is the greatest of what a fixed piece of work took, what waits for a core at
    this moment and what did in the last minute: a short piece alone may run within
    one slice of the scheduler's.
    """
    if time.monotonic() - _last.at > FRESH_S:
        _last.factor = min(max(1.0, _work() / REFERENCE_S, *_waiting()), MOST)
        _last.at = time.monotonic()
    return _last.factor


def patient(seconds: float) -> float:
    """Return a limit for this machine now, of one for the idle reference machine."""
    return seconds * factor()


def patient_ms(seconds: float) -> float:
    """Return ``patient(seconds)`` in the milliseconds that Playwright counts in."""
    return 1e3 * patient(seconds)


class Limit:
    """A limit that follows the machine while a test waits: time counts less where work goes slowly."""

    def __init__(self, seconds: float) -> None:
        self._left_s = seconds
        self._seen = time.monotonic()

    def is_over(self) -> bool:
        """Return whether an idle machine would have had that long."""
        now = time.monotonic()
        self._left_s -= (now - self._seen) / factor()
        self._seen = now
        return self._left_s < 0


def wait_until(
    holds: Callable[[], bool],
    limit_s: float,
    *,
    pause: Callable[[float], object] = time.sleep,
    every_s: float = 0.05,
) -> bool:
    """Ask until ``holds()`` or the limit is over; tells which.

    ``pause`` waits that many seconds; a browser's page has a way of its own.
    """
    limit = Limit(limit_s)
    while not holds():
        if limit.is_over():
            return False
        pause(every_s)
    return True


def _work() -> float:
    """Do a fixed piece of work; give the wall time that it took."""
    start = time.perf_counter()
    total = 0
    for number in range(400_000):
        total += number & 7
    return time.perf_counter() - start


def _waiting() -> tuple[float, float]:
    """Return how many want to run per core: in this moment, and in the last minute on the average."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            average, _, _, running, _ = file.read().split()
        return int(running.partition("/")[0]) / cores, float(average) / cores
    except OSError:  # not Linux
        return 1.0, os.getloadavg()[0] / cores if hasattr(os, "getloadavg") else 1.0


if __name__ == "__main__":
    print(f"{factor():.2f}")
