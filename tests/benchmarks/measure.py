"""Measuring: contenders take turns, and the median of processor time counts."""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time
from collections.abc import Callable, Mapping


@dataclasses.dataclass(frozen=True)
class Figure:
    """One line of the table: what was measured, against what, and the limit it must keep."""

    name: str
    value: float
    unit: str
    limit: float | None = None  # in the same unit; None: no promise
    ratio: float | None = None  # against a bare step of the same run

    @property
    def kept(self) -> bool:
        """Return whether the promise, if any, is kept."""
        return self.limit is None or self.value <= self.limit

    def format(self) -> str:
        """Make a line of a Markdown table, under HEADER."""
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}"
        return f"| {self.name} | {self.value:.4g} {self.unit} | {ratio} | {self._limit()} |"

    def format_alone(self) -> str:
        """Make a line of a table in which nothing is compared with a bare step."""
        return f"| {self.name} | {self.value:.4g} {self.unit} | {self._limit()} |"

    def _limit(self) -> str:
        limit = "" if self.limit is None else f"{self.limit:.4g}"
        verdict = "" if self.limit is None else ("yes" if self.kept else "**no**")
        return f"{limit} | {verdict}"


HEADER_ALONE = "| what | measured | limit | kept |\n| --- | --- | --- | --- |"
HEADER = "| what | measured | of a bare step | limit | kept |\n| --- | --- | --- | --- | --- |"


def measure_in_turn(
    contenders: Mapping[str, Callable[[], object]], repetitions: int, warm_up: int = 1
) -> dict[str, list[float]]:
    """Call the contenders in turn and return the processor times of each, in seconds.

    Taking turns lets a busy machine disturb all alike; the time of all threads
    of this process is counted, waiting is not.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for repetition in range(warm_up + repetitions):
        for name, call in contenders.items():
            gc.collect()
            start = time.process_time()
            call()
            elapsed = time.process_time() - start
            if repetition >= warm_up:
                times[name].append(elapsed)
    return times


def median_excess(times: list[float], over: list[float]) -> float:
    """Return the median of what one contender took beyond another in the same turn."""
    return statistics.median(time - base for time, base in zip(times, over))
