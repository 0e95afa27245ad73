"""Join record after record of several processes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.ranks.join import JoinedTables, join_records
from tb_gradgraph.ranks.shards import Shares, shares_of
from tb_gradgraph.record import Process

#: How many missing ranks are named.
_MOST_TOLD = 20

Place = tuple[str, int, str, int]  # tag, step, stage, backward pass


class Placed(Protocol):
    """A record, or its index, with what it belongs to."""

    @property
    def tag(self) -> str: ...  # noqa: D102

    @property
    def step(self) -> int: ...  # noqa: D102

    @property
    def stage(self) -> str: ...  # noqa: D102

    @property
    def backward_pass(self) -> int: ...  # noqa: D102


def place_of(record: Placed) -> Place:
    """Return what records of several processes have in common if they are joined."""
    return record.tag, record.step, record.stage, record.backward_pass


def are_of_one(first: Process, other: Process, rank: int) -> bool:
    """Return whether a process is the one of a rank in the training of rank 0."""
    expected = (first.run_id, first.world_size, rank)
    return (other.run_id, other.world_size, other.rank) == expected


class Joining:
    """Joins the records of several processes of one training.

    Attributes:
        graphs: The first process's graphs by hash, without placements of rows of which the
            processes together have all elements.
        processes: The processes.
    """

    def __init__(self, graphs: Sequence[Mapping[str, Graph]], processes: Sequence[Process]) -> None:
        """Prepare; ``graphs`` are those that each process recorded, by hash, the first one's first."""
        self.processes = tuple(processes)
        self._shares: dict[str, tuple[Shares, Sequence[int]]] = {}
        self._tables = JoinedTables()
        self._told: dict[str, str] = {}  # by tag, once
        self.graphs = {key: self._whole(key, graphs) for key in graphs[0]}

    @property
    def has_parts(self) -> bool:
        """Return whether processes have different parts of a tensor."""
        return any(shares.needed.any() for shares, _ in self._shares.values())

    def join(self, first: Record, others: Sequence[Record | None]) -> Record:
        """Return the record of the whole; ``others`` are those of the further processes, None: none."""
        if first.graph_hash not in self._shares:
            return first
        shares, at = self._shares[first.graph_hash]
        same: list[Record | None] = [first]
        for number in at[1:]:
            other = others[number - 1]
            same.append(other if other and other.graph_hash == first.graph_hash else None)
        differs = [
            self.processes[number].rank
            for number, other in enumerate(others, 1)
            if other is not None and other.graph_hash != first.graph_hash
        ]
        if differs:
            self._told.setdefault(
                first.tag,
                f"tag {first.tag!r}: ranks {', '.join(map(str, differs))} ran another graph than rank 0 "
                f"at step {first.step}, so they are not joined there.",
            )
        return join_records(self.graphs[first.graph_hash], shares, same, self._tables)

    def _whole(self, key: str, graphs: Sequence[Mapping[str, Graph]]) -> Graph:
        """Prepare a graph; return it without the placements of rows that are whole when joined."""
        at = [number for number, some in enumerate(graphs) if key in some]
        own = [graphs[number][key] for number in at]
        shares = shares_of(own, [self.processes[number] for number in at])
        self._shares[key] = (shares, at)
        parts = shares.takes.sum(axis=0)
        whole = np.flatnonzero((shares.needed > 0) & (parts == shares.needed))
        return own[0].placed(dict.fromkeys(whole.tolist(), ""))

    def tell(self) -> Iterator[str]:
        """Say which ranks are missing, if not all parts of a tensor were recorded, and what differs."""
        world = self.processes[0].world_size
        there = {process.rank for process in self.processes}
        if any(graph.part_rows for graph in self.graphs.values()) and len(there) < world:
            missing = (str(rank) for rank in range(world) if rank not in there)
            first = list(itertools.islice(missing, _MOST_TOLD))
            count = world - len(there)
            more = f" and {count - len(first)} more" if count > len(first) else ""
            yield (
                f"{len(there)} of {world} ranks were recorded; missing: {', '.join(first)}{more}. "
                "Tensors of which a part is missing are marked as parts and are in no total."
            )
        yield from self._told.values()


def tell_other(run: str, process: Process) -> str:
    """Say that a run below another one is not of the same training."""
    return (
        f"{run} is of another training (rank {process.rank} of {process.world_size}, run id "
        f"{process.run_id!r}), so it is not joined with this run."
    )
