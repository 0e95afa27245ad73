"""Steps that are recorded in detail, because something was wrong just before."""

from __future__ import annotations

import dataclasses

from tb_gradgraph.training.step.setting import Progress, Setting


class DenseSteps:
    """A range of steps that are recorded at level ``"op"`` with values.

    Attributes:
        first: The first step of the range.
        last: The last one; -1 if there never was one.
    """

    def __init__(self, setting: Setting) -> None:
        self.first, self.last = 0, -1
        self._setting = setting
        self._dense: Setting | None = None
        self._progress: Progress | None = None

    def ask(self, first: int, count: int) -> None:
        """Record ``count`` steps from ``first`` on."""
        last = first + count - 1
        is_apart = first > self.last + 1 or self.first > last + 1
        self.first = first if is_apart else min(first, self.first)
        self.last = last if is_apart else max(last, self.last)

    def covers(self, step: int) -> bool:
        """Return whether ``step`` is in the range."""
        return self.first <= step <= self.last

    def of(self, progress: Progress) -> tuple[Setting, Progress]:
        """Return what to record such steps with; what they find is told where all steps tell it."""
        setting = self._setting
        if setting.denser is None or (setting.level == "op" and setting.reads_values):
            return setting, progress
        if self._dense is None or self._progress is None:
            self._dense = setting.denser(setting)
            self._progress = dataclasses.replace(progress, meetings={}, places={})
        self._progress.scaler = progress.scaler
        return self._dense, self._progress
