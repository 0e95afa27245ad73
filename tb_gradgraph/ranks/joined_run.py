"""Join the runs that the processes of one training wrote below each other."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.ranks.join import JoinedTables, join_records
from tb_gradgraph.ranks.shards import Shares, shares_of
from tb_gradgraph.record import LoggedRun, Process

#: Where processes above rank 0 write, below the directory of rank 0.
DIRECTORY = "ranks"
_OF_RANK = re.compile(rf"(?:(?P<run>.*)/)?{DIRECTORY}/(?P<rank>[1-9][0-9]{{0,8}})", re.DOTALL)
#: At most this many sentences about ranks are told of a run.
_MOST_TOLD = 20

Place = tuple[str, int, str, int]  # tag, step, stage, backward pass


def rank_directory(directory: str, rank: int) -> str:
    """Return where a process above rank 0 writes, if rank 0 writes into ``directory``.

    Example:
        >>> rank_directory("runs/mine", 3)
        'runs/mine/ranks/3'
    """
    return f"{directory.rstrip('/')}/{DIRECTORY}/{rank}"


def rank_of(run: str) -> tuple[str, int] | None:
    """Return the run and the rank of a run that a process above rank 0 wrote; None for other runs.

    Example:
        >>> rank_of("mine/ranks/3"), rank_of("ranks/1"), rank_of("mine")
        (('mine', 3), ('.', 1), None)
    """
    found = _OF_RANK.fullmatch(run)
    return None if found is None else (found["run"] or ".", int(found["rank"]))


def join_ranks(runs: Iterable[LoggedRun]) -> tuple[LoggedRun, ...]:
    """Join each run with those of the further processes of its training.

    A run of a process stays by itself if rank 0 of its training left no run.
    """
    found = {run.name: run for run in runs}
    others: dict[str, dict[int, LoggedRun]] = {}
    for name, run in found.items():
        of = rank_of(name)
        if of is not None and of[0] in found:
            others.setdefault(of[0], {})[of[1]] = run
    joined = {name: _join(found[name], by_rank) for name, by_rank in others.items()}
    gone = {run.name for by_rank in others.values() for run in by_rank.values()}
    return tuple(joined.get(name, run) for name, run in found.items() if name not in gone)


def _join(first: LoggedRun, others: Mapping[int, LoggedRun]) -> LoggedRun:
    process = _process_of(first)
    told = [f"rank {rank}: {text}" for rank, run in others.items() for text in run.warnings]
    ranks = {}
    for rank, run in sorted(others.items()):
        own = _process_of(run)
        if (own.run_id, own.world_size, own.rank) == (process.run_id, process.world_size, rank):
            ranks[rank] = run
        else:
            told.append(
                f"{run.name} is of another training (rank {own.rank} of {own.world_size}, "
                f"run id {own.run_id!r}), so it is not joined with this run."
            )
    if len(ranks) + 1 < process.world_size:
        missing = [str(rank) for rank in range(1, process.world_size) if rank not in ranks]
        told.append(
            f"{len(ranks) + 1} of {process.world_size} ranks were recorded; missing: "
            f"{', '.join(missing[:20])}. What only they have is not part of the numbers."
        )
    joining = _Joining((first, *ranks.values()), (process, *map(_process_of, ranks.values())))
    records = tuple(joining.join(first.records, [run.records for run in ranks.values()]))
    forwards = tuple(joining.join(first.forwards, [run.forwards for run in ranks.values()]))
    warnings = (*first.warnings, *dict.fromkeys([*told, *joining.told][:_MOST_TOLD]))
    return dataclasses.replace(
        first, graphs=joining.graphs, records=records, forwards=forwards, warnings=warnings
    )


def _process_of(run: LoggedRun) -> Process:
    return run.sessions[-1].process if run.sessions else Process()


class _Joining:
    """Joins the records of several processes.

    Attributes:
        graphs: The graphs, without placements of rows that all processes together have whole.
        told: What could not be joined.
    """

    def __init__(self, runs: Sequence[LoggedRun], processes: Sequence[Process]) -> None:
        self._runs = runs
        self._processes = processes
        self._shares: dict[str, tuple[Shares, Sequence[int]]] = {}
        self._tables = JoinedTables()
        self.told: list[str] = []
        self.graphs = {key: self._whole(key, graph) for key, graph in runs[0].graphs.items()}

    def join(self, first: Sequence[Record], others: Sequence[Sequence[Record]]) -> Iterator[Record]:
        """Yield a joined record for each of the first process."""
        by_place = [{_place_of(record): record for record in some} for some in others]
        for record in first:
            if record.graph_hash not in self._shares:
                yield record
                continue
            found = [some.get(_place_of(record)) for some in by_place]
            shares, at = self._shares[record.graph_hash]
            same: list[Record | None] = [record]
            for rank in at[1:]:
                other = found[rank - 1]
                fits = other is not None and other.graph_hash == record.graph_hash
                if other is not None and not fits:
                    self.told.append(
                        f"tag {record.tag!r}, step {record.step}: rank {self._processes[rank].rank} "
                        "ran another graph, so it is not joined."
                    )
                same.append(other if fits else None)
            graph = self.graphs[record.graph_hash]
            yield join_records(graph, shares, same, self._tables)

    def _whole(self, key: str, graph: Graph) -> Graph:
        """Prepare a graph; return it without the placements of rows that are whole when joined."""
        at = [number for number, run in enumerate(self._runs) if key in run.graphs]
        graphs = [self._runs[number].graphs[key] for number in at]
        shares = shares_of(graphs, [self._processes[number] for number in at])
        self._shares[key] = (shares, at)
        parts = shares.takes.sum(axis=0)
        whole = np.flatnonzero((shares.needed > 0) & (parts == shares.needed))
        return graph.placed(dict.fromkeys(whole.tolist(), ""))


def _place_of(record: Record) -> Place:
    return record.tag, record.step, record.stage, record.backward_pass
