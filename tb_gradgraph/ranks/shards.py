"""Find out which process has which part of each tensor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tb_gradgraph.graph import Graph
from tb_gradgraph.record import Process

#: A log may claim any size of a mesh.
_MOST_PARTS = 2**32


class Shares(NamedTuple):
    """What the processes have of each row of a graph.

    Attributes:
        takes: bool of shape ``[processes, rows]``: whose numbers make up the row. Of equal copies one
            process counts.
        needed: How many parts a row has; 0: it is not made up of parts.
        is_sample: bool of shape ``[rows]``: whether each process has a tensor of its own, because it
            computed with its own part of the batch.
    """

    takes: np.ndarray
    needed: np.ndarray
    is_sample: np.ndarray


def shares_of(graphs: Sequence[Graph], processes: Sequence[Process]) -> Shares:
    """Find out which processes make up each row, from placements and meshes.

    Args:
        graphs: The same graph as each process recorded it, with its placements.
        processes: The processes, in the same order.
    """
    rows = graphs[0].row_count
    takes = np.zeros((len(graphs), rows), bool)
    takes[0] = True
    needed = np.zeros(rows, np.int64)
    is_sample = np.ones(rows, bool)
    slots = [[slot for node in graph.nodes for slot in node.slots] for graph in graphs]
    kinds = [node.kind for node in graphs[0].nodes for _ in node.slots]
    for row, kind in enumerate(kinds):
        placements = [of_graph[row].placement for of_graph in slots]
        is_sample[row] = kind not in ("parameter", "buffer") and not any(placements)
        if any(placements):
            parts = _parts(placements, processes)
            if parts is not None:
                takes[:, row] = [at in parts.firsts for at in range(len(graphs))]
                needed[row] = parts.needed
    return Shares(takes, needed, is_sample)


class _Parts(NamedTuple):
    firsts: frozenset[int]  # of each different part, the first process that has it
    needed: int


def _parts(placements: Sequence[str], processes: Sequence[Process]) -> _Parts | None:
    """Divide the processes by the part that they have; None if it is no part of the elements."""
    firsts: dict[tuple[tuple[str, int], ...], int] = {}
    count = 0
    for at, (placement, process) in enumerate(zip(placements, processes)):
        key = _part_of(placement, {name: (size, place) for name, size, place in process.mesh})
        if key is None:
            return None
        firsts.setdefault(tuple((name, place) for name, place, _ in key), at)
        count = min(max(count, math.prod(size for *_, size in key)), _MOST_PARTS)
    return _Parts(frozenset(firsts.values()), count)


def _part_of(
    placement: str, mesh: Mapping[str, tuple[int, int]]
) -> list[tuple[str, int, int]] | None:
    """Return for each dimension that splits a tensor its name, the process's place, and its length."""
    found = []
    for how in filter(None, placement.split(",")):
        name, _, code = how.rpartition(":")
        if code == "R":
            continue
        if not code.strip("_").startswith("S") or name not in mesh:
            return None
        size, place = mesh[name]
        found.append((name, place, size))
    return found
