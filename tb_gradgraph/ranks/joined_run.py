"""Join the runs that the processes of one training wrote below each other."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tb_gradgraph.graph import Record
from tb_gradgraph.ranks.joining import Joining, are_of_one, place_of, tell_other
from tb_gradgraph.record import LoggedRun, Process

#: Where processes above rank 0 write, below the directory of rank 0.
DIRECTORY = "ranks"
_OF_RANK = re.compile(rf"(?:(?P<run>.*)/)?{DIRECTORY}/(?P<rank>[1-9][0-9]{{0,8}})", re.DOTALL)
#: At most this many sentences about ranks are told of a run.
_MOST_TOLD = 20


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
        if are_of_one(process, own, rank):
            ranks[rank] = run
        else:
            told.append(tell_other(run.name, own))
    runs = (first, *ranks.values())
    joining = Joining([run.graphs for run in runs], list(map(_process_of, runs)))
    records = tuple(_joined(joining, [run.records for run in runs]))
    forwards = tuple(_joined(joining, [run.forwards for run in runs]))
    told += joining.tell()
    warnings = (*first.warnings, *list(dict.fromkeys(told))[:_MOST_TOLD])
    return dataclasses.replace(
        first, graphs=joining.graphs, records=records, forwards=forwards, warnings=warnings
    )


def _joined(joining: Joining, records: Sequence[Sequence[Record]]) -> Iterator[Record]:
    """Yield a joined record for each of the first process."""
    by_place = [{place_of(record): record for record in some} for some in records]
    for place, record in by_place[0].items():
        others = [some.get(place) for some in by_place[1:]]
        yield joining.join(record, others)


def _process_of(run: LoggedRun) -> Process:
    return run.sessions[-1].process if run.sessions else Process()
