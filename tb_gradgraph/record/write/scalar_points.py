"""Quantities as scalars of TensorBoard's own, for trainings that ask for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from tb_gradgraph.graph import Record
from tb_gradgraph.quantities import series_name

#: How many points wait for a chunk at most; beyond that the oldest are dropped.
MOST_WAITING = 100_000

_FLOAT32 = np.finfo(np.float32)


class ScalarPoints:
    """The points that wait to be written. Of several values of one step, the last one counts.

    Attributes:
        prefixes: What the tags of a training's scalars begin with, by the training's tag.
        tags: The tags of all points so far.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.prefixes: dict[str, str] = {}
        self.tags: set[str] = set()
        self._waiting: dict[tuple[str, int], tuple[float, float]] = {}

    def add(self, record: Record, taken: Collection[str]) -> None:
        """Add the quantities of a record; tags in ``taken`` belong to something else."""
        prefix = self.prefixes.get(record.tag)
        if prefix is None:
            return
        for name, value in record.quantities.items():
            series = series_name(name, record.stage)
            tag = f"{prefix}{series}"
            if tag in taken:
                tag = f"{prefix}{record.tag}/{series}"
            self.tags.add(tag)
            self._waiting.pop((tag, record.step), None)
            self._waiting[tag, record.step] = (value, record.wall_time)
        while len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]

    def take(self) -> Iterator[tuple[Summary, int, float]]:
        """Remove the points; yield each with its step and wall time."""
        waiting, self._waiting = self._waiting, {}
        for (tag, step), (value, wall_time) in waiting.items():
            point = Summary.Value(tag=tag, simple_value=_narrowed(value))
            yield Summary(value=[point]), step, wall_time


def _narrowed(value: float) -> float:
    """Return a number that float32 holds: a finite number stays finite."""
    most = float(_FLOAT32.max)
    return value if not np.isfinite(value) else min(max(value, -most), most)
