"""Read graphs and statistics of the runs that TensorBoard has loaded."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from tensorboard.data.provider import DataProvider

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import Graph
from tb_gradgraph.record import Chunk, Presence, Segment, StoredColumn, decode_chunk, decode_graph
from tb_gradgraph.serve.runs.cache import ByteBoundedCache
from tb_gradgraph.serve.runs.index import Entry, RunIndex, RunView
from tb_gradgraph.serve.runs.joined_source import JoinedSource
from tb_gradgraph.serve.runs.magnitudes import Magnitudes, magnitudes_of_statistic
from tb_gradgraph.serve.runs.refreshing import run_all, seconds
from tb_gradgraph.statistics import NONFINITE, STATISTICS, StatisticsTable

#: TensorBoard itself looks for new events every 5 seconds.
LISTING_SECONDS = 2.0
CACHE_BYTES = 384 * 2**20

_NODE_BYTES = 1000  # a node with its slots and edges, roughly
_RECORD_BYTES = 500  # what a segment says about a record

Value = TypeVar("Value")


class DamagedRecordError(FormatError):
    """A record was damaged and was dropped from the index. The caller may try again."""


class Reader:
    """Reads records and caches what it reads. Thread-safe. It does nothing until it is called.

    Args:
        provider: TensorBoard's provider, the only way to the records.
        clock: Monotonic seconds.
        patience: How many seconds ``runs`` waits for runs that are slow to read; None: until they
            are read.
    """

    def __init__(
        self,
        provider: DataProvider,
        clock: Callable[[], float] = time.monotonic,
        patience: float | None = None,
    ) -> None:
        self.source = JoinedSource(provider)
        self._clock = clock
        self._patience = patience
        self.cache = ByteBoundedCache(CACHE_BYTES)
        self._runs: dict[str, _Run] = {}
        self._listed_at: float | None = None
        self._lock = threading.Lock()  # guards the two attributes above; never held while decoding

    def runs(self, all_sessions: bool = False) -> dict[str, RunView]:
        """List all runs that hold records of ours, at most LISTING_SECONDS old.

        With ``all_sessions`` it also lists, as a run, each session with hidden records. A run that
        takes longer to read than ``patience`` is given in its former state; at first it is missing.
        """
        with self._lock:
            now = self._clock()
            if self._listed_at is None or now - self._listed_at > LISTING_SECONDS:
                self._list()
                self._listed_at = now
            runs = dict(sorted(self._runs.items()))
        stale = [run for run in runs.values() if run.listed is not None]
        run_all([functools.partial(self._refresh, run) for run in stale], self._patience)
        views = {name: run.view for name, run in runs.items() if run.view is not None}
        found = {name: self.source.with_told(view) for name, view in views.items()}
        if all_sessions:
            earlier = {view.name: view for run in runs.values() for view in run.earlier}
            found = dict(sorted({**earlier, **found}.items()))
        return found

    def graph(self, run: RunView, graph_hash: str) -> Graph:
        """Read a graph; KeyError if the run has none with that hash."""
        tag = run.graphs[graph_hash]
        with self._dropping_damaged(run.stored_name, tag):
            return self.cache.get(
                (run.stored_name, tag),
                lambda: decode_graph(self._read(run.stored_name, tag), graph_hash),
                _graph_bytes,
            )

    def keep(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return the cached value of ``key``, or make and cache it."""
        return self.cache.get(key, make, len)

    def statistic(self, run: RunView, entry: Entry, name: str) -> np.ndarray:
        """Read one statistic of all rows of one record; NaN if there is no number."""
        if name not in STATISTICS:
            return self._segment(run, entry).own.column(entry.position, name, entry.rows)
        column = self.column(run, entry, name)
        with self._dropping_damaged(run.stored_name, entry.chunk, entry):
            return column.record(entry.position)

    def keys_with(self, run: RunView, entries: Iterable[Entry], name: str) -> set[str]:
        """Return the keys of the rows that have a number of one statistic in any of several records."""
        keys: set[str] = set()
        for entry in entries:
            if entry.graph_hash in run.graphs:
                has = np.flatnonzero(~np.isnan(self.statistic(run, entry, name)))
                of = self.graph(run, entry.graph_hash).row_keys
                keys.update(of[row] for row in has.tolist())
        return keys

    def present(self, run: RunView, entry: Entry) -> np.ndarray:
        """Read which rows of one record have a gradient."""
        return self._presence(run, entry).record(entry.position)

    def histogram(self, run: RunView, entry: Entry) -> np.ndarray:
        """Read the histograms of all rows of one record."""
        presence = self._presence(run, entry)
        found = self._part(run, entry, "histogram", lambda one: one.histograms(presence), _nbytes)
        return found.record(entry.position)

    def table(self, run: RunView, entry: Entry) -> StatisticsTable:
        """Read all numbers of one record."""
        present, histogram = self.present(run, entry), self.histogram(run, entry)
        return StatisticsTable(self.values(run, entry), present, histogram)

    def values(self, run: RunView, entry: Entry) -> np.ndarray:
        """Read all statistics of one record: ``[rows, len(STATISTICS)]``."""
        found = np.empty((entry.rows, len(STATISTICS)))
        for at, name in enumerate(STATISTICS):
            found[:, at] = self.statistic(run, entry, name)
        return found

    def column(self, run: RunView, entry: Entry, name: str) -> StoredColumn:
        """Read one statistic of all records that were written together with one."""
        of = functools.partial(self._presence, run, entry)
        return self._part(run, entry, name, lambda one: one.column(name, of()), _nbytes)

    def whole(
        self, run: RunView, entry: Entry
    ) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
        """Read, by row, one record's gradients and values that were kept whole."""
        gradients, values = self._part(
            run, entry, "whole", Segment.whole, lambda parts: _whole_bytes(parts[0] + parts[1])
        )
        return gradients[entry.position], values[entry.position]

    def own(self, run: RunView, entry: Entry) -> dict[str, dict[int, float]]:
        """Read the numbers of the user's own statistics of one record, by name and row."""
        return self._segment(run, entry).own.of_record(entry.position) if entry.own else {}

    def _segment(self, run: RunView, entry: Entry) -> Segment:
        with self._dropping_damaged(run.stored_name, entry.chunk, entry):
            return self._chunk(run.stored_name, entry.chunk).segments[entry.segment]

    def magnitudes(
        self, run: RunView, entry: Entry, name: str, aside: Sequence[int] = ()
    ) -> Magnitudes | None:
        """Return the range of the magnitudes of a statistic in the entry's segment.

        Rows ``aside`` do not count for the bulk. They must be the same at every call for one graph.
        """
        presence = self._presence(run, entry)
        return self._part(
            run,
            entry,
            f"magnitudes {name}",
            lambda part: magnitudes_of_statistic(part, name, presence, aside),
            lambda found: 200 if found is None else 200 + found.bins.nbytes + found.counts.nbytes,
        )

    def is_nonfinite(self, run: RunView, entry: Entry) -> bool:
        """Return whether any gradient of a record holds NaN or infinity."""
        of = functools.partial(self._presence, run, entry)
        bad = self._part(run, entry, "nonfinite", lambda one: _nonfinite(one, of()), _nbytes)
        return bool(bad[entry.position])

    def _presence(self, run: RunView, entry: Entry) -> Presence:
        return self._part(run, entry, "presence", Segment.presence, _nbytes)

    def _part(
        self,
        run: RunView,
        entry: Entry,
        name: str,
        decode: Callable[[Segment], Value],
        size_of: Callable[[Value], int],
    ) -> Value:
        """Decode a part of the entry's segment, or take it from the cache."""

        def make() -> Value:
            return decode(self._chunk(run.stored_name, entry.chunk).segments[entry.segment])

        with self._dropping_damaged(run.stored_name, entry.chunk, entry):
            return self.cache.get(
                (run.stored_name, entry.chunk, entry.segment, name), make, size_of
            )

    @contextlib.contextmanager
    def _dropping_damaged(self, run: str, tag: str, entry: Entry | None = None) -> Iterator[None]:
        """Drop a record from the index if decoding it fails."""
        try:
            yield
        except FormatError as error:
            where = "" if entry is None else f"tag {entry.tag!r}, step {entry.step}: "
            named = FormatError(f"{where}{error}")
            with self._lock:
                found = self._runs.get(run)
            if found is not None:
                found.discard(tag, named)
            raise DamagedRecordError(str(named)) from error

    def _chunk(self, run: str, tag: str) -> Chunk:
        return self.cache.get((run, tag), lambda: decode_chunk(self._read(run, tag)), _chunk_bytes)

    def _read(self, run: str, tag: str) -> tuple[bytes, ...]:
        return next((strings for _, strings in self.source.read(run, [tag])), ())

    def _list(self) -> None:
        listed = self.source.list_tags()
        self._runs = {name: self._runs.get(name) or _Run(name) for name in listed}
        for name, tags in listed.items():
            self._runs[name].listed = tags

    def _refresh(self, run: _Run) -> None:
        """Add new records of one run. If another thread is already doing so, wait for it."""
        if not run.lock.acquire(timeout=seconds(self._patience)):
            return
        try:
            tags = run.listed
            if tags is None:
                return
            run.index.keep_only(tags)
            for tag, strings in self.source.read(run.index.name, run.index.list_new(tags)):
                chunk = run.index.add(tag, strings)
                if chunk is not None:
                    self.cache.put((run.index.name, tag), chunk, _chunk_bytes(chunk))
            run.look()
            with self._lock:
                if run.listed is tags:  # otherwise more was listed meanwhile
                    run.listed = None
        finally:
            run.lock.release()


class _Run:
    """One run: its index, and the tags that TensorBoard listed since."""

    def __init__(self, name: str) -> None:
        self.index = RunIndex(name)
        self.lock = threading.RLock()  # guards the index
        self.view: RunView | None = None  # the latest view of the index
        self.earlier: tuple[RunView, ...] = ()  # sessions with hidden records
        self.listed: Sequence[str] | None = None

    def discard(self, tag: str, error: FormatError) -> None:
        """Drop a record that is damaged."""
        with self.lock:
            self.index.discard(tag, error)
            self.look()

    def look(self) -> None:
        """Update the view. The caller holds the lock."""
        self.view, self.earlier = self.index.view(), self.index.earlier()


def _nonfinite(segment: Segment, presence: Presence) -> np.ndarray:
    """Return for each record of a segment whether it has non-finite gradients."""
    found = np.zeros(len(segment), bool)
    for name in NONFINITE:
        column = segment.column(name, presence)
        if column.values is None or not (column.values > 0).any():
            continue
        for at in range(len(segment)):
            counts = column.of_record(at)
            found[at] |= counts is not None and bool((counts > 0).any())
    return found


def _nbytes(found: Presence | StoredColumn | np.ndarray) -> int:
    return found.nbytes


def _graph_bytes(graph: Graph) -> int:
    return _NODE_BYTES * (1 + len(graph.nodes))


def _chunk_bytes(chunk: Chunk) -> int:
    return 1000 + sum(
        one.message.ByteSize() + one.own.nbytes + _RECORD_BYTES * len(one) + 1000
        for one in chunk.segments
    )


def _whole_bytes(records: list[dict[int, np.ndarray]]) -> int:
    return sum(array.nbytes + 200 for record in records for array in record.values())
