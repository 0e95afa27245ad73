"""What rules found out about the steps of a training, kept while it grows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from tb_gradgraph.diagnose.run.course_step import CourseStep

T = TypeVar("T")
#: By how much a matrix that is full grows, so that few rows are copied.
_GROWS = 1.5
#: How many steps are looked at together.
_BLOCK = 128
#: Bytes of a number or a small object that a rule keeps for a step, roughly; and of what it keeps
#: for a step that is examined.
_OF_COLUMN, _OF_EXAMINED = 100, 20_000
#: How many results that do not depend on steps are kept, and the bytes of one, roughly.
_MOST_ONCE, _OF_ONCE = 500, 50_000


class KeptColumns:
    """Results of functions that look at a step and at those before it.

    When steps are added to a training, its other steps stay the same objects (``course_of``), and
    so do the results for them. As soon as a step is another object, what is kept of it and of all
    later ones is dropped. So results are the same as if nothing had been kept.

    Attributes:
        lock: Held while the rules run: the courses of a growing training share what is kept.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._steps: Sequence[CourseStep] = ()
        self._graph_hash = ""
        self._columns: dict[Hashable, tuple[Hashable, list[Any]]] = {}
        self._matrices: dict[Hashable, tuple[np.ndarray, int]] = {}  # and how many rows are filled
        self._made_once: dict[Hashable, Any] = {}
        self._examined: dict[int, tuple[CourseStep, dict[Hashable, Any]]] = {}

    @property
    def nbytes(self) -> int:
        """The number of bytes in memory, roughly."""
        matrices = sum(array.nbytes for array, _ in self._matrices.values())
        columns = sum(len(found) for _, found in self._columns.values())
        rest = _OF_EXAMINED * len(self._examined) + _OF_ONCE * len(self._made_once)
        return matrices + _OF_COLUMN * columns + rest

    def follow(self, steps: Sequence[CourseStep], graph_hash: str) -> None:
        """Drop what is about steps that are no longer those of the training, or about another graph."""
        if steps is self._steps and graph_hash == self._graph_hash:
            return
        same = 0
        if graph_hash == self._graph_hash:
            pairs = enumerate(zip(self._steps, steps))
            same = min(len(self._steps), len(steps))
            same = next((at for at, (old, new) in pairs if old is not new), same)
        for _, found in self._columns.values():
            del found[same:]
        for key, (array, filled) in self._matrices.items():
            self._matrices[key] = (array, min(filled, same))
        if same == 0:
            self._matrices.clear()
        self._steps, self._graph_hash = steps, graph_hash

    def column(
        self,
        key: Hashable,
        count: int,
        make: Callable[[int, T | None], T],
        version: Hashable = None,
    ) -> Sequence[T]:
        """Return what ``make`` gives for each of ``count`` steps; only new ones are made.

        Args:
            key: What the results are.
            count: How many steps there are.
            make: Returns the result for the step at an index, from that step and those before it.
                It also gets the result for the step before; None: there is none.
            version: What else the results depend on. If it changes, all are made again.
        """
        found = self._column(key, version)
        for at in range(len(found), count):
            found.append(make(at, found[-1] if found else None))
        return found

    def by_blocks(
        self,
        key: Hashable,
        count: int,
        make: Callable[[int, int], Sequence[T]],
        version: Hashable = None,
    ) -> Sequence[T]:
        """Return the same of a ``make`` that gives the results for a range of steps."""
        found = self._column(key, version)
        for start, stop in _blocks(len(found), count):
            found.extend(make(start, stop))
        return found

    def _column(self, key: Hashable, version: Hashable) -> list[Any]:
        kept = self._columns.get(key)
        if kept is None or kept[0] != version:
            kept = self._columns[key] = (version, [])
        return kept[1]

    def matrix(
        self, key: Hashable, count: int, width: int, make: Callable[[int, int], np.ndarray]
    ) -> np.ndarray:
        """Return the same as a matrix, with a row for each step."""
        array, filled = self._matrices.get(key, (np.empty((0, width)), 0))
        if len(array) < count:
            grown = np.empty((max(count, int(_GROWS * len(array))), width))
            grown[:filled] = array[:filled]
            array = grown
        for start, stop in _blocks(filled, count):
            array[start:stop] = make(start, stop)
        self._matrices[key] = (array, count)
        return array[:count]

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` gives, made once: what depends on ``key`` alone, not on the steps."""
        if key not in self._made_once:
            if len(self._made_once) >= _MOST_ONCE:
                self._made_once.clear()
            self._made_once[key] = make()
        return self._made_once[key]

    def of_examined(
        self, step: CourseStep, key: Hashable, make: Callable[[], T], version: Hashable = None
    ) -> T:
        """Return what ``make`` gives for an examined step by itself, made once for a version."""
        _, kept = self._examined.setdefault(id(step), (step, {}))
        if key not in kept or kept[key][0] != version:
            kept[key] = (version, make())
        return kept[key][1]

    def keep_examined(self, steps: Collection[CourseStep]) -> None:
        """Drop what is kept of steps that are no longer examined."""
        wanted = {id(step) for step in steps}
        self._examined = {key: one for key, one in self._examined.items() if key in wanted}


def _blocks(start: int, stop: int) -> Iterator[tuple[int, int]]:
    for at in range(start, stop, _BLOCK):
        yield at, min(at + _BLOCK, stop)
