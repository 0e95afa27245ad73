"""Give the records of a tag to the rules that look at a whole training."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

import numpy as np

from tb_gradgraph.diagnose import Course, course_of
from tb_gradgraph.graph import FACTS, Graph, Record
from tb_gradgraph.serve.evidence.elsewhere import first_nonfinite
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

#: How many numbers are kept expanded. The rules go through the steps in order, so that the numbers
#: of a segment are needed again and again, and then no more.
_MOST_NUMBERS = 2**23

#: The steps of a training times its parameters. The rules hold all statistics of all of them.
MOST_CELLS = 2**21


def read_course(reader: Reader, run: RunView, tag: str) -> Course:
    """Return the training of a tag. Its numbers are read when a rule asks for them.

    A training of more than ``MOST_CELLS`` steps times parameters has only some of its steps.
    """
    entries, forwards = run.records[tag], run.forwards.get(tag, ())
    used = dict.fromkeys(entry.graph_hash for entry in (*entries, *forwards))
    graphs = {key: reader.graph(run, key) for key in used if key in run.graphs}
    numbers = _LastNumbers(reader, run)
    steps = _examined(reader, run, entries, graphs.values())
    records, values = (
        [_record_of(reader, run, entry, numbers) for entry in some if entry.step in steps]
        for some in (entries, forwards)
    )
    return course_of(run.name, tag, graphs, records, values)


def _examined(
    reader: Reader, run: RunView, entries: Sequence[Entry], graphs: Iterable[Graph]
) -> Container[int]:
    """Choose the steps: all of them, or some of a very long training, the first bad one among them."""
    steps = list(dict.fromkeys(entry.step for entry in entries))
    parameters = max((sum(n.kind == "parameter" for n in one.nodes) for one in graphs), default=0)
    every = -(-len(steps) * max(1, parameters) // MOST_CELLS)
    if every <= 1:
        return frozenset(steps)
    chosen = {*steps[::every], steps[-1]}
    bad = first_nonfinite(reader, run, entries)
    if bad is not None:
        at = steps.index(bad.step)
        chosen.update(steps[max(0, at - 1) : at + 1])
    return chosen


def _record_of(reader: Reader, run: RunView, entry: Entry, numbers: _LastNumbers) -> Record:
    whole = functools.partial(reader.whole, run, entry)
    return Record(
        tag=entry.tag,
        graph_hash=entry.graph_hash,
        step=entry.step,
        wall_time=entry.wall_time,
        backward_pass=entry.backward_pass,
        table=_ReadTable(reader, run, entry, numbers),
        gradients=_ReadWhole(whole, 0),
        values=_ReadWhole(whole, 1),
        unread=entry.unread,
        quantities=entry.quantities,
        quantity_reasons=entry.quantity_reasons,
        **{fact.name: getattr(entry, fact.name) for fact in FACTS},
    )


class _LastNumbers:
    """Expands the numbers of whole segments, and keeps those that were used last."""

    def __init__(self, reader: Reader, run: RunView) -> None:
        self._reader, self._run = reader, run
        self._kept: collections.OrderedDict[tuple[str, int], np.ndarray] = collections.OrderedDict()

    def of(self, entry: Entry) -> np.ndarray:
        """Return all statistics of one record: ``[rows, statistics]``."""
        one = self._reader.column(self._run, entry, STATISTICS[0]).presence
        if one.records * one.rows * len(STATISTICS) > _MOST_NUMBERS:
            return self._reader.table(self._run, entry).values
        key = (entry.chunk, entry.segment)
        if key not in self._kept:
            self._kept[key] = self._expand(entry)
            while sum(found.size for found in self._kept.values()) > _MOST_NUMBERS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key][:, entry.position].T

    def _expand(self, entry: Entry) -> np.ndarray:
        columns = [self._reader.column(self._run, entry, name) for name in STATISTICS]
        present = columns[0].presence.every()
        found = np.full((len(columns), *present.shape), np.nan)
        for at, column in enumerate(columns):
            numbers = column.every(present)
            if numbers is not None:
                found[at] = numbers
        return found


class _ReadTable(StatisticsTable):
    """A table that is read each time it is asked for, so that many take little memory."""

    _reader: Reader
    _run: RunView
    _entry: Entry
    _numbers: _LastNumbers

    def __init__(self, reader: Reader, run: RunView, entry: Entry, numbers: _LastNumbers) -> None:
        vars(self).update(_reader=reader, _run=run, _entry=entry, _numbers=numbers)

    @property
    def values(self) -> np.ndarray:  # noqa: D102
        return self._numbers.of(self._entry)

    @property
    def present(self) -> np.ndarray:  # noqa: D102
        return self._reader.present(self._run, self._entry)

    @property
    def histogram(self) -> np.ndarray:  # noqa: D102
        return self._reader.histogram(self._run, self._entry)


@dataclasses.dataclass(frozen=True)
class _ReadWhole(Mapping[int, np.ndarray]):
    """Whole tensors by row, read when they are asked for."""

    read: Callable[[], Sequence[Mapping[int, np.ndarray]]]
    part: int  # 0: gradients, 1: values

    def __getitem__(self, row: int) -> np.ndarray:
        return self.read()[self.part][row]

    def __iter__(self) -> Iterator[int]:
        return iter(self.read()[self.part])

    def __len__(self) -> int:
        return len(self.read()[self.part])
