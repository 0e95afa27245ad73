"""Graphs and records made by hand, and summaries caught instead of written."""

from __future__ import annotations

import dataclasses

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from tb_gradgraph.graph import Edge, Graph, Node, Record, Scope, Slot
from tb_gradgraph.statistics import HISTOGRAM_BINS, STATISTICS, StatisticsTable

COUNTS = ("nan", "posinf", "neginf", "numel")


def make_slots(*shape: int, requires_grad: bool = True) -> tuple[Slot, ...]:
    return (Slot("", shape, "float32", requires_grad),)


def make_graph() -> Graph:
    """``loss = sum(first, rest = chunk(lin(x)))``: two slots, a shared slot, scopes, an alias, a note."""
    two = (Slot("first", (4, 1), "float32"), Slot("rest", (4, 2), "bfloat16", True, True))
    nodes = (
        Node(
            "parameter:lin.w",
            "lin.w",
            "parameter",
            "",
            1,
            make_slots(3, 2),
            True,
            aliases=("tied.w",),
        ),
        Node("input:x", "x", "input", "", -1, make_slots(4, 2, requires_grad=False), True),
        Node(
            "lin#0/MmBackward0.0",
            "lin/mm",
            "operation",
            "MmBackward0",
            1,
            make_slots(4, 3),
            False,
            "net.py:7",
        ),
        Node("/SplitBackward0.0", "split", "operation", "SplitBackward0", 0, two, False, order=2),
        Node(
            "/MulBackward0.0",
            "mul",
            "operation",
            "MulBackward0",
            0,
            make_slots(4, 3),
            False,
            note="größer",
        ),
        Node("root:loss", "loss", "root", "", -1, make_slots(), False),
    )
    edges = (
        *(Edge(0, 0, 2, 1), Edge(1, 0, 2, 0), Edge(2, 0, 3, 0)),
        *(Edge(3, 0, 4, 0), Edge(3, 1, 4, 1), Edge(2, 0, 4, 2), Edge(4, 0, 5, 0)),
    )
    scopes = (Scope("", 0, "Net", -1), Scope("lin", 0, "Linear", 0))
    return Graph(nodes, edges, scopes)


def make_table(graph: Graph, seed: int = 0, absent: tuple[int, ...] = (1,)) -> StatisticsTable:
    """Return mixed numbers that float32 can hold; rows in ``absent`` have no gradient."""
    index = np.arange(graph.row_count * HISTOGRAM_BINS).reshape(graph.row_count, HISTOGRAM_BINS)
    mixed = (7919 * index + 104_729 * seed) % 4096
    values = (mixed[:, : len(STATISTICS)] - 2048) / 64
    histogram = mixed.astype(np.uint16)
    for name in COUNTS:
        values[:, STATISTICS.index(name)] = 12 if name == "numel" else 0
    present = np.ones(graph.row_count, bool)
    for row in set(absent).intersection(range(graph.row_count)):
        present[row], values[row], histogram[row] = False, np.nan, 0
    return StatisticsTable(values, present, histogram)


def make_record(graph: Graph, step: int = 0, **changes: object) -> Record:
    table = make_table(graph, seed=abs(step) % 1000)
    record = Record("net", graph.hash, step, 1.7e9 + step, 0, table, objective="loss")
    return dataclasses.replace(record, **changes)


def with_count(record: Record, row: int, name: str, count: int) -> Record:
    """Return the record with a count changed in one row, as of NaN."""
    values = record.table.values.copy()
    values[row, STATISTICS.index(name)] = count
    return dataclasses.replace(record, table=dataclasses.replace(record.table, values=values))


class Caught:
    """Takes summaries as a writer does; gives their tags, strings and steps."""

    def __init__(self) -> None:
        self.summaries: list[tuple[Summary, int | None]] = []

    def add_summary(self, summary: Summary, step: int | None) -> None:
        self.summaries.append((summary, step))

    @property
    def tags(self) -> list[str]:
        """Tags without the session, in order; those of the standard dashboard too."""
        tags = [summary.value[0].tag for summary, _ in self.summaries]
        return [tag.split("/", 2)[2] if tag.count("/") > 1 else tag for tag in tags]

    def strings(self, tag: str) -> tuple[bytes, ...]:
        summary, _ = self.summaries[self.tags.index(tag)]
        return tuple(summary.value[0].tensor.string_val)
