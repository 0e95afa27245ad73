"""Give the records of a tag to the rules that look at a whole training."""

from __future__ import annotations

import collections
import dataclasses
import operator
import threading
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tb_gradgraph.diagnose import Course, RunFinding, course_of, find_in_course
from tb_gradgraph.graph import FACTS, Record
from tb_gradgraph.record import StoredColumn
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import StatisticsTable

#: How many bytes of columns are kept at hand. The rules go through the steps in order, so that the
#: numbers of a segment are needed again and again, and then no more.
_MOST_BYTES = 2**25

_FACTS = tuple(fact.name for fact in FACTS)
_read_facts = operator.attrgetter(*_FACTS)

_NODE_BYTES = 1000  # a node with its slots and edges, roughly
_RECORD_BYTES = 1500  # a record, its step and its table, roughly


class RecordedCourse:
    """The training of one tag, which follows its log as that grows. Thread-safe.

    What was found out about its steps is kept, so that a step more takes little time. All of it is
    bounded by ``nbytes``, which the reader's cache limits.
    """

    def __init__(self, reader: Reader) -> None:
        self._lock = threading.Lock()
        self._source = _Source(reader)
        self._records: tuple[_Followed, _Followed] = (_Followed(), _Followed())
        self._course: Course | None = None

    def find(self, run: RunView, tag: str) -> tuple[Course, list[RunFinding]]:
        """Return the training in a view of its run, as the rules look at it, and what they find."""
        with self._lock:
            course = self.read(run, tag)
            return course.looked_at, find_in_course(course)

    def read(self, run: RunView, tag: str) -> Course:
        """Return the training. Its numbers are read when a rule asks for them."""
        entries = (run.records[tag], run.forwards.get(tag, ()))
        used = dict.fromkeys(entry.graph_hash for part in entries for entry in part)
        self._source.run = run
        reader = self._source.reader
        graphs = {key: reader.graph(run, key) for key in used if key in run.graphs}
        records, values = (
            one.follow(part, self._source) for one, part in zip(self._records, entries)
        )
        facts = (run.facts or {}).get(tag)
        self._course = course_of(run.name, tag, graphs, records, values, facts, self._course)
        return self._course

    @property
    def nbytes(self) -> int:
        """The number of bytes in memory, roughly."""
        kept = 0 if self._course is None else self._course.kept.nbytes
        graphs = {} if self._course is None else self._course.graphs
        nodes = sum(len(graph.nodes) for graph in graphs.values())
        records = sum(len(one.records) for one in self._records)
        return kept + _NODE_BYTES * nodes + _RECORD_BYTES * records + self._source.nbytes


def read_course(reader: Reader, run: RunView, tag: str) -> Course:
    """Return the training of a tag, of which nothing is kept."""
    return RecordedCourse(reader).read(run, tag)


class _Followed:
    """The records of a list of entries that grows; those of entries that stay are the same objects."""

    def __init__(self) -> None:
        self._entries: Sequence[Entry] = ()
        self.records: list[Record] = []

    def follow(self, entries: Sequence[Entry], source: _Source) -> Sequence[Record]:
        known = {id(old): record for old, record in zip(self._entries, self.records)}
        found = [known.get(id(entry)) or _record_of(entry, source) for entry in entries]
        self._entries, self.records = entries, found
        return found


def _record_of(entry: Entry, source: _Source) -> Record:
    return Record(
        tag=entry.tag,
        graph_hash=entry.graph_hash,
        step=entry.step,
        wall_time=entry.wall_time,
        backward_pass=entry.backward_pass,
        table=_ReadTable(source, entry),
        gradients=_ReadWhole(source, entry, 0),
        values=_ReadWhole(source, entry, 1),
        unread=entry.unread,
        quantities=entry.quantities,
        quantity_reasons=entry.quantity_reasons,
        **dict(zip(_FACTS, _read_facts(entry))),
    )


class _Source:
    """Reads the numbers of records, and keeps the columns of the segments that were used last."""

    run: RunView  # the latest view; entries of earlier ones are read through it, too

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._kept: collections.OrderedDict[tuple[str, int, str], StoredColumn]
        self._kept = collections.OrderedDict()
        self.nbytes = 0

    def whole(self, entry: Entry) -> Sequence[Mapping[int, np.ndarray]]:
        """Return one record's gradients and values that were kept whole."""
        return self.reader.whole(self.run, entry)

    def column(self, entry: Entry, name: str) -> np.ndarray:
        """Return one statistic of one record."""
        key = (entry.chunk, entry.segment, name)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = self.reader.column(self.run, entry, name)
            self.nbytes += found.nbytes
            while self.nbytes > _MOST_BYTES:
                self.nbytes -= self._kept.popitem(last=False)[1].nbytes
        return found.record(entry.position).astype(np.float64, copy=False)


class _ReadTable(StatisticsTable):
    """A table that is read each time it is asked for, so that many take little memory."""

    _source: _Source
    _entry: Entry

    def __init__(self, source: _Source, entry: Entry) -> None:
        object.__setattr__(self, "_source", source)
        object.__setattr__(self, "_entry", entry)

    @property
    def values(self) -> np.ndarray:  # noqa: D102
        return self._source.reader.values(self._source.run, self._entry)

    def column(self, name: str) -> np.ndarray:  # noqa: D102
        return self._source.column(self._entry, name)

    def is_nonfinite(self) -> bool:  # noqa: D102
        return self._source.reader.is_nonfinite(self._source.run, self._entry)

    @property
    def present(self) -> np.ndarray:  # noqa: D102
        return self._source.reader.present(self._source.run, self._entry)

    @property
    def histogram(self) -> np.ndarray:  # noqa: D102
        return self._source.reader.histogram(self._source.run, self._entry)


@dataclasses.dataclass(frozen=True, slots=True)
class _ReadWhole(Mapping[int, np.ndarray]):
    """Whole tensors by row, read when they are asked for."""

    source: _Source
    entry: Entry
    part: int  # 0: gradients, 1: values

    def read(self) -> Mapping[int, np.ndarray]:
        return self.source.whole(self.entry)[self.part]

    def __getitem__(self, row: int) -> np.ndarray:
        return self.read()[row]

    def __iter__(self) -> Iterator[int]:
        return iter(self.read())

    def __len__(self) -> int:
        return len(self.read())
