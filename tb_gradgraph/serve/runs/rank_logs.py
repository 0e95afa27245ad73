"""Join the records of the processes of one training, as they come."""

from __future__ import annotations

import collections
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.ranks import Joining, Place, are_of_one, place_of, tell_other
from tb_gradgraph.record import (
    LastColumns,
    Process,
    decode_chunk,
    decode_graph,
    decode_manifest,
    parse_tag,
    read_records,
    rewrite_chunk,
    rewrite_graph,
    versioned,
)

#: How many chunks of other processes are kept decoded, and how many graphs.
_MOST_CHUNKS, _MOST_GRAPHS = 8, 256
_MOST_VERSION = 10**6 - 1
#: How many sentences are told of each kind.
_MOST_TOLD = 20

Strings = tuple[bytes, ...]
Read = Callable[[str, Sequence[str]], Iterator[tuple[str, Strings]]]


class RankLogs:
    """The runs of several processes.

    A record is joined with what the other processes had written when it was listed. When they have
    written more, it is listed by another tag, so that it is read again. Thread-safe.
    """

    def __init__(self, read: Read, run: str) -> None:
        """Prepare; ``read`` reads records of TensorBoard's runs, and ``run`` is the one of rank 0."""
        self._read = read
        self._lock = threading.RLock()
        self._logs: dict[int, _RankLog] = {0: _RankLog(read, run)}
        self._stored: dict[str, str] = {}  # TensorBoard's tags by ours
        self._version = -1
        self._joining = Joining([{}], [Process()])
        self._ranks: Sequence[int] = ()
        self._runs: Mapping[int, str] = {}

    def list_joined(self, runs: Mapping[int, tuple[str, Sequence[str]]]) -> list[str]:
        """List the tags of the joined records.

        Args:
            runs: Name and tags of the run of each rank.
        """
        with self._lock:
            for rank, (name, tags) in runs.items():
                self._logs.setdefault(rank, _RankLog(self._read, name)).follow(tags)
            first, self._runs = self._logs[0], {rank: name for rank, (name, _) in runs.items()}
            self._ranks = [
                rank
                for rank in sorted(runs)
                if are_of_one(first.process, self._logs[rank].process, rank)
            ]
            others = [self._logs[rank] for rank in self._ranks if rank]
            version = sum(len(self._logs[rank].graphs) for rank in self._ranks)
            if version != self._version:
                self._version, logs = version, [self._logs[rank] for rank in self._ranks]
                self._joining = Joining(
                    [log.read_graphs() for log in logs], [log.process for log in logs]
                )
            self._stored = {}
            for tag in runs[0][1]:
                places = first.places_of.get(tag)
                there = version if places is None else _count_there(places, others)
                self._stored[_versioned(tag, there)] = tag
            return list(self._stored)

    def tell(self) -> list[str]:
        """Say what is not joined, and why."""
        with self._lock:
            others = [rank for rank in self._runs if rank not in self._ranks]
            told = [tell_other(self._runs[rank], self._logs[rank].process) for rank in others]
            return [*told[:_MOST_TOLD], *itertools.islice(self._joining.tell(), _MOST_TOLD)]

    def read(self, tags: Iterable[str]) -> Iterator[tuple[str, Strings]]:
        """Yield tag and strings of each joined record that exists."""
        for tag in tags:
            with self._lock:
                stored = self._stored.get(tag)
                found = None if stored is None else self._make(stored)
            if found is not None:
                yield tag, found

    def _make(self, stored: str) -> Strings | None:
        own = self._logs[0]
        strings = own.read_strings(stored)
        name = parse_tag(stored)
        if strings is None or name is None or not self._ranks:
            return strings
        try:
            if name.kind == "graph":
                graph = self._joining.graphs.get(name.name)
                return strings if graph is None else rewrite_graph(graph)
            return rewrite_chunk(strings, self._join) if name.kind == "stats" else strings
        except FormatError:
            return strings  # who reads them says what is wrong

    def _join(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            others = [self._logs[rank].find(place_of(record)) for rank in self._ranks if rank]
            yield self._joining.join(record, others)


def _count_there(places: Iterable[Place], others: Sequence[_RankLog]) -> int:
    return sum(place in log.chunk_of for place in places for log in others)


def _versioned(tag: str, version: int) -> str:
    try:
        return versioned(tag, min(version, _MOST_VERSION))
    except ValueError:
        return tag


class _RankLog:
    """The run of one process: where its records are.

    Attributes:
        process: The process, as its latest session says.
        graphs: The tag of each graph, by hash.
        places_of: What is in each chunk, by tag.
        chunk_of: The chunk of each record.
    """

    def __init__(self, read: Read, run: str) -> None:
        self._read = read
        self._run = run
        self._seen: set[str] = set()
        self._chunks: collections.OrderedDict[str, dict[Place, Record]] = collections.OrderedDict()
        self._decoded: dict[str, Graph] = {}
        self._processes: dict[str, Process] = {}
        self.graphs: dict[str, str] = {}
        self.places_of: dict[str, list[Place]] = {}
        self.chunk_of: dict[Place, str] = {}

    @property
    def process(self) -> Process:  # noqa: D102
        return self._processes[max(self._processes)] if self._processes else Process()

    def follow(self, tags: Sequence[str]) -> None:
        """Look at the records that are new, and forget those that are gone."""
        for tag in self._seen.difference(tags):
            for place in self.places_of.pop(tag, ()):
                if self.chunk_of.get(place) == tag:
                    del self.chunk_of[place]
            self._chunks.pop(tag, None)
        self._seen &= set(tags)
        new = sorted(tag for tag in tags if tag not in self._seen)
        for tag, strings in self._read(self._run, new):
            self._seen.add(tag)
            name = parse_tag(tag)
            if name is None:
                continue
            try:
                if name.kind == "manifest":
                    self._processes[name.session] = decode_manifest(strings).process
                elif name.kind == "graph":
                    self.graphs[name.name] = tag
                else:
                    self._add_chunk(tag, strings)
            except FormatError:
                continue  # the run by itself says what is wrong with it

    def _add_chunk(self, tag: str, strings: Strings) -> None:
        places = [
            (segment.tag, step, stage, number)
            for segment in decode_chunk(strings).segments
            for step, stage, number in zip(
                segment.steps, segment.facts["stage"], segment.backward_passes
            )
        ]
        self.places_of[tag] = places
        self.chunk_of.update(dict.fromkeys(places, tag))

    def read_graphs(self) -> dict[str, Graph]:
        """Read the graphs, by hash."""
        found = {}
        for key, tag in list(self.graphs.items())[-_MOST_GRAPHS:]:
            strings = self.read_strings(tag) or ()
            try:
                self._decoded[key] = self._decoded.get(key) or decode_graph(strings, key)
            except FormatError:
                continue
            found[key] = self._decoded[key]
        return found

    def read_strings(self, tag: str) -> Strings | None:
        """Read one record as it is stored; None if it is gone."""
        return next((strings for _, strings in self._read(self._run, [tag])), None)

    def find(self, place: Place) -> Record | None:
        """Read a record; None if there is none."""
        tag = self.chunk_of.get(place)
        if tag is None:
            return None
        if tag not in self._chunks:
            self._chunks[tag] = self._read_chunk(tag)
            while len(self._chunks) > _MOST_CHUNKS:
                self._chunks.popitem(last=False)
        return self._chunks[tag].get(place)

    def _read_chunk(self, tag: str) -> dict[Place, Record]:
        strings = self.read_strings(tag)
        if strings is None:
            return {}
        try:
            columns = LastColumns()
            segments = decode_chunk(strings).segments
            records = (one for segment in segments for one in read_records(segment, columns))
            return {place_of(record): record for record in records}
        except FormatError:
            return {}
