"""Show the runs of the processes of one training as one run, and each by itself too."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Sequence

from tensorboard.data.provider import DataProvider

from tb_gradgraph.ranks import rank_directory, rank_of
from tb_gradgraph.serve.runs.index import RunView
from tb_gradgraph.serve.runs.provider import RecordSource
from tb_gradgraph.serve.runs.rank_logs import RankLogs


class JoinedSource(RecordSource):
    """Lists a run joined with those of the further processes, which are listed by themselves, too.

    The run of rank 0 becomes the joined one; by itself it is listed as ``ranks/0`` below it.
    Thread-safe.
    """

    def __init__(self, provider: DataProvider) -> None:
        super().__init__(provider)
        self._lock = threading.Lock()
        self._joined: dict[str, RankLogs] = {}
        self._owners: dict[str, str] = {}  # runs of rank 0 by itself: TensorBoard's name

    def list_tags(self) -> dict[str, list[str]]:
        """List the tags of every run that has records of ours."""
        listed = super().list_tags()
        others: dict[str, dict[int, str]] = {}
        for name in listed:
            of = rank_of(name)
            if of is not None and of[0] in listed:
                others.setdefault(of[0], {})[of[1]] = name
        owners, read = {_name_alone(run): run for run in others}, super().read
        with self._lock:
            known, self._owners = self._joined, owners
            self._joined = {run: known.get(run) or RankLogs(read, run) for run in others}
            joined = dict(self._joined)
        tags = dict(listed)
        for run, by_rank in others.items():
            own = {rank: (name, listed[name]) for rank, name in by_rank.items()}
            tags[run] = joined[run].list_joined({0: (run, listed[run]), **own})
            tags[_name_alone(run)] = listed[run]
        return tags

    def read(self, run: str, tags: Sequence[str]) -> Iterator[tuple[str, tuple[bytes, ...]]]:
        """Yield tag and strings of each record that exists; no strings if it is not a list of bytes."""
        with self._lock:
            joined, owner = self._joined.get(run), self._owners.get(run, run)
        if joined is None:
            yield from super().read(owner, tags)
        else:
            yield from joined.read(tags)

    def with_told(self, view: RunView) -> RunView:
        """Add to the warnings of a joined run what is not joined, and why."""
        with self._lock:
            joined = self._joined.get(view.name)
        told = () if joined is None else joined.tell()
        return dataclasses.replace(view, warnings=(*view.warnings, *told)) if told else view

    def list_scalar_tags(self, run: str) -> list[str]:
        """List the tags of a run's scalars, sorted."""
        return super().list_scalar_tags(self._owner(run))

    def read_scalar(self, run: str, tag: str, most: int) -> list[tuple[int, float]]:
        """Read steps and values of a scalar, at most ``most`` of them; none if there are none."""
        return super().read_scalar(self._owner(run), tag, most)

    def _owner(self, run: str) -> str:
        with self._lock:
            return self._owners.get(run, run)


def _name_alone(run: str) -> str:
    return "ranks/0" if run == "." else rank_directory(run, 0)
