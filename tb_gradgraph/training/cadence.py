"""Decide which steps are recorded, and measure what recording costs."""

from __future__ import annotations

import collections
import math
import statistics
import time
from collections.abc import Callable

_BARE = 32  # the median of this many bare steps is the reference
_RECORDED = 5  # the median excess of this many is the cost; a step may include an evaluation


class Cadence:
    """Every n-th step is due; fewer are if a budget would be exceeded.

    The cost of recording is the time of a recorded step minus the median time of steps that are not
    recorded. This includes everything that we do, because no part is timed separately. The first
    recorded step, which builds the graph, does not count.
    """

    def __init__(
        self,
        every_n_steps: int,
        budget: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Begin; ``budget`` is the share of a training's time that recording may take."""
        self.every_n_steps = every_n_steps
        self.first = 0  # the training's first step, which is always due
        self._asked = every_n_steps
        self._budget = budget
        self._clock = clock
        self._began = clock()
        self._bare: collections.deque[float] = collections.deque(maxlen=_BARE)
        self._own: collections.deque[float] = collections.deque(maxlen=_RECORDED)
        self._recorded = 0
        self._last = -1  # the last recorded step
        self.cost = 0.0  # share of the time that recording takes; 0 if not measured
        if budget is not None:
            self.every_n_steps = max(every_n_steps, 2)  # some steps must be bare

    def is_due(self, step: int) -> bool:
        """Return whether ``step`` is to be recorded."""
        if self.every_n_steps == self._asked:
            return step % self._asked == 0 or step == self.first
        return self._last < 0 or step < self._last or step - self._last >= self.every_n_steps

    def end_step(self, step: int, recorded: bool, is_dense: bool = False) -> None:
        """Note that a step has ended; the time of one ``is_dense`` does not count."""
        now = self._clock()
        seconds, self._began = now - self._began, now
        if is_dense:
            return
        if not recorded:
            self._bare.append(seconds)
            return
        self._last = step
        self._recorded += 1
        if self._recorded > 1 and self._bare:
            self._measure(seconds)

    def _measure(self, seconds: float) -> None:
        bare = statistics.median(self._bare)
        self._own.append(max(seconds - bare, 0.0))
        own = statistics.median(self._own)
        if self._budget is not None and bare > 0:
            wanted = math.ceil(own * (1 / self._budget - 1) / bare)
            self.every_n_steps = max(self._asked, wanted, 2)
        self.cost = own / (own + bare * self.every_n_steps) if own else 0.0
