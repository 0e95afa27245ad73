"""Look up by name what was logged: the tests' reading of event files."""

from __future__ import annotations

import dataclasses
import os

import numpy as np

from tb_gradgraph.graph import Graph, Node, Record, Slot
from tb_gradgraph.record.read.read_logdir import LoggedRun, read_logdir
from tb_gradgraph.statistics import Statistics


@dataclasses.dataclass(frozen=True)
class LoggedTensor:
    """One slot in one record."""

    node: Node
    slot: Slot
    gradient: np.ndarray | None
    value: np.ndarray | None
    statistics: Statistics | None


def read_one_run(logdir: str | os.PathLike[str]) -> LoggedRun:
    """Read a log directory that holds one run, without warnings."""
    (run,) = read_logdir(logdir)
    assert run.warnings == ()
    return run


def read_record(
    run: LoggedRun, tag: str | None = None, step: int | None = None, stage: str = "backward"
) -> Record:
    """Return the one record of a tag (default: of any) at a step (default: at any), of a stage."""
    (record,) = (
        record
        for record in run.records
        if tag in (None, record.tag) and step in (None, record.step) and record.stage == stage
    )
    return record


def read_tensor(run: LoggedRun, record: Record, name: str) -> LoggedTensor:
    """Return the tensor called ``name``: a node's name, else that of a slot."""
    graph = run.graphs[record.graph_hash]
    rows = _named_rows(graph)
    assert name in rows, f"{name!r} is none of {sorted(rows)}"
    node, slot, row = rows[name]
    gradient, value = record.gradients.get(row), record.values.get(row)
    return LoggedTensor(node, slot, gradient, value, record.table.row(row))


def _named_rows(graph: Graph) -> dict[str, tuple[Node, Slot, int]]:
    named: dict[str, tuple[Node, Slot, int]] = {}
    for index, node in enumerate(graph.nodes):
        for nr, slot in enumerate(node.slots):
            found = (node, slot, int(graph.slot_offsets[index]) + nr)
            named.setdefault(slot.name, found)
            if nr == 0:
                named[node.name] = found
    return named


def read_shares(run: LoggedRun, record: Record, name: str) -> dict[str, np.ndarray | None]:
    """Return the gradient that each use of a tensor contributes, by the name of the user."""
    graph = run.graphs[record.graph_hash]
    return {
        graph.nodes[edge.target].slots[0].name: record.gradients.get(int(row))
        for edge, row in zip(graph.edges, graph.edge_rows)
        if graph.nodes[edge.source].name == name
    }
