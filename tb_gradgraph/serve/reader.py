"""Graphs and statistics of the runs that TensorBoard has loaded."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from tensorboard.data.provider import DataProvider

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import Graph
from tb_gradgraph.record.decode import Chunk, decode_chunk, decode_graph
from tb_gradgraph.record.segment import Segment
from tb_gradgraph.serve.cache import ByteBoundedCache
from tb_gradgraph.serve.index import Entry, RunIndex, RunView
from tb_gradgraph.serve.magnitudes import Magnitudes, magnitudes_of
from tb_gradgraph.serve.source import RecordSource
from tb_gradgraph.statistics import NONFINITE, STATISTICS, StatisticsTable

#: TensorBoard itself looks for new events every 5 seconds.
LISTING_SECONDS = 2.0
CACHE_BYTES = 384 * 2**20

_NODE_BYTES = 1000  # a node with its slots and edges, roughly

Value = TypeVar("Value")


class DamagedRecordError(FormatError):
    """A record was found damaged and dropped from the index: the question may be asked again."""


class Reader:
    """Answers from memory where it can; safe for several threads, and idle until asked.

    Args:
        provider: TensorBoard's, the only way in.
        clock: Monotonic seconds.
    """

    def __init__(self, provider: DataProvider, clock: Callable[[], float] = time.monotonic) -> None:
        self.source = RecordSource(provider)
        self._clock = clock
        self._cache = ByteBoundedCache(CACHE_BYTES)
        self._indices: dict[str, RunIndex] = {}
        self._listed_at: float | None = None
        self._lock = threading.Lock()

    def runs(self, all_sessions: bool = False) -> dict[str, RunView]:
        """List all runs that hold records of ours, at most LISTING_SECONDS old.

        With ``all_sessions`` also each session whose records a later one hides, as a run.
        """
        with self._lock:
            now = self._clock()
            if self._listed_at is None or now - self._listed_at > LISTING_SECONDS:
                self._refresh()
                self._listed_at = now
            views = [index.view() for _, index in sorted(self._indices.items())]
            found = {view.name: view for view in views}
            if all_sessions:
                indices = self._indices.values()
                earlier = {view.name: view for index in indices for view in index.earlier()}
                found = dict(sorted({**earlier, **found}.items()))
            return found

    def graph(self, run: RunView, graph_hash: str) -> Graph:
        """Read a graph; KeyError if the run has none of that hash."""
        tag = run.graphs[graph_hash]
        with self._dropping_damaged(run.stored_name, tag):
            return self._cache.get(
                (run.stored_name, tag),
                lambda: decode_graph(self._read(run.stored_name, tag), graph_hash),
                _graph_bytes,
            )

    def keep(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Give what was made for ``key`` before, while there is room to keep it."""
        return self._cache.get(key, make, len)

    def statistic(self, run: RunView, entry: Entry, name: str) -> np.ndarray:
        """Read one statistic of all rows of one record; NaN where there is no number."""
        return self._column(run, entry, name, lambda segment: segment.statistic(name))

    def present(self, run: RunView, entry: Entry) -> np.ndarray:
        """Read for which rows of one record a gradient arrived."""
        return self._column(run, entry, "present", Segment.present)

    def histogram(self, run: RunView, entry: Entry) -> np.ndarray:
        """Read the histograms of all rows of one record."""
        return self._column(run, entry, "histogram", Segment.histogram)

    def table(self, run: RunView, entry: Entry) -> StatisticsTable:
        """Read all numbers of one record."""
        columns = [self.statistic(run, entry, name).astype(np.float64) for name in STATISTICS]
        present, histogram = self.present(run, entry), self.histogram(run, entry)
        return StatisticsTable(np.stack(columns, axis=1), present, histogram)

    def whole(
        self, run: RunView, entry: Entry
    ) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
        """Read gradients and values of one record that were kept whole, by row."""
        gradients, values = self._part(
            run, entry, "whole", Segment.whole, lambda parts: _whole_bytes(parts[0] + parts[1])
        )
        return gradients[entry.position], values[entry.position]

    def magnitudes(
        self, run: RunView, entry: Entry, name: str, aside: Sequence[int] = ()
    ) -> Magnitudes | None:
        """Tell where the magnitudes of a statistic in the entry's segment lie.

        Rows ``aside``, the same at every call for one graph, do not count to where most lie.
        """
        return self._part(
            run,
            entry,
            f"magnitudes {name}",
            lambda part: magnitudes_of(part.statistic(name), aside),
            lambda found: 200 if found is None else 200 + found.bins.nbytes + found.counts.nbytes,
        )

    def is_nonfinite(self, run: RunView, entry: Entry) -> bool:
        """Tell whether any gradient of a record holds NaN or infinity."""
        bad = self._part(run, entry, "nonfinite", _nonfinite, lambda array: array.nbytes)
        return bool(bad[entry.position])

    def _column(
        self, run: RunView, entry: Entry, name: str, decode: Callable[[Segment], np.ndarray]
    ) -> np.ndarray:
        return self._part(run, entry, name, decode, lambda array: array.nbytes)[entry.position]

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

        with self._dropping_damaged(run.stored_name, entry.chunk):
            return self._cache.get(
                (run.stored_name, entry.chunk, entry.segment, name), make, size_of
            )

    @contextlib.contextmanager
    def _dropping_damaged(self, run: str, tag: str) -> Iterator[None]:
        """Drop a record from the index if it cannot be decoded after all."""
        try:
            yield
        except FormatError as error:
            with self._lock:
                if run in self._indices:
                    self._indices[run].discard(tag, error)
            raise DamagedRecordError(str(error)) from error

    def _chunk(self, run: str, tag: str) -> Chunk:
        return self._cache.get((run, tag), lambda: decode_chunk(self._read(run, tag)), _chunk_bytes)

    def _read(self, run: str, tag: str) -> tuple[bytes, ...]:
        return next((strings for _, strings in self.source.read(run, [tag])), ())

    def _refresh(self) -> None:
        listed = self.source.list_tags()
        self._indices = {run: self._indices.get(run) or RunIndex(run) for run in listed}
        for run, tags in listed.items():
            index = self._indices[run]
            index.keep_only(tags)
            for tag, strings in self.source.read(run, index.list_new(tags)):
                content = index.add(tag, strings)
                if isinstance(content, Graph):
                    self._cache.put((run, tag), content, _graph_bytes(content))
                elif isinstance(content, Chunk):
                    self._cache.put((run, tag), content, _chunk_bytes(content))


def _nonfinite(segment: Segment) -> np.ndarray:
    """Tell it of each record of a segment."""
    return np.any([(segment.statistic(n) > 0).any(axis=1) for n in NONFINITE], axis=0)


def _graph_bytes(graph: Graph) -> int:
    return _NODE_BYTES * (1 + len(graph.nodes))


def _chunk_bytes(chunk: Chunk) -> int:
    return sum(segment.message.ByteSize() for segment in chunk.segments) + 1000


def _whole_bytes(records: list[dict[int, np.ndarray]]) -> int:
    return sum(array.nbytes + 200 for record in records for array in record.values())
