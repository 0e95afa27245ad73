"""What users get: a graph, and the gradients that its backward passes have shown so far."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tb_gradgraph.api.tensor_view import TensorView
from tb_gradgraph.graph import NO_SCOPE, Edge, Graph, Node, Scope
from tb_gradgraph.own_statistics import OwnMeasure
from tb_gradgraph.statistics import STATISTICS, Statistics, StatisticsTable


@dataclasses.dataclass(frozen=True)
class BackwardPass:
    """Gradients of one backward over the graph, by row (see ``Graph``)."""

    table: StatisticsTable
    gradients: Mapping[int, np.ndarray]
    #: Rows that could not be read, and why.
    unread: Mapping[int, str] = dataclasses.field(default_factory=dict)
    #: Numbers of the user's own statistics of gradients, by name and row, and what is known of them.
    own: Mapping[str, Mapping[int, float]] = dataclasses.field(default_factory=dict)
    own_measures: Mapping[str, OwnMeasure] = dataclasses.field(default_factory=dict)


class GradGraph:
    """A captured graph with its backward passes.

    ``graph["y1"]`` finds a tensor by variable, parameter or node name.
    A graph whose backward is still to come fills in as it runs.
    """

    def __init__(self, graph: Graph, tag: str, values: Mapping[int, np.ndarray]) -> None:
        self.graph = graph
        self.tag = tag
        self.objective = ""
        self.values = values
        #: Statistics of values by row; None if they were not read.
        self.value_table: StatisticsTable | None = None
        #: Rows whose values could not be read, and why.
        self.value_unread: Mapping[int, str] = {}
        #: Numbers of the user's own statistics of weights and values, by name and row.
        self.own: dict[str, dict[int, float]] = {}
        self.own_measures: dict[str, OwnMeasure] = {}
        self.backward_passes: list[BackwardPass] = []
        self._rows: dict[str, int] | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Nodes in forward order."""
        return self.graph.nodes

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Edges, from a slot to the node that uses it."""
        return self.graph.edges

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Module calls in the order they began."""
        return self.graph.scopes

    @property
    def hash(self) -> str:
        """A hash of the structure, as 16 hexadecimal digits."""
        return self.graph.hash

    def __getitem__(self, name: str) -> TensorView:
        """Find a tensor by name, with its gradient in the last backward pass.

        Raises:
            TypeError: ``name`` is not a string.
            KeyError: No tensor or node has that name; the message lists close ones.
        """
        if not isinstance(name, str):
            raise TypeError(
                f"expected the name of a tensor or node, got {type(name).__name__}. Iterate over "
                "the graph for all of its tensors, or use graph.nodes[i]."
            )
        rows = self._rows_by_name()
        if name not in rows:
            raise KeyError(self._unknown(name))
        return self.view(rows[name])

    def __contains__(self, name: object) -> bool:
        return name in self._rows_by_name()

    def __iter__(self) -> Iterator[TensorView]:
        """Return every slot of every node in forward order."""
        return map(self.view, range(self.graph.slot_count))

    def __len__(self) -> int:
        return self.graph.slot_count

    def view(self, row: int, backward_pass: int = -1) -> TensorView:
        """Return one slot with its gradient in one backward pass, by default the last one."""
        index = int(np.searchsorted(self.graph.slot_offsets, row, side="right")) - 1
        node = self.nodes[index]
        slot = node.slots[row - int(self.graph.slot_offsets[index])]
        ran = self.backward_passes[backward_pass] if self.backward_passes else None
        return TensorView(
            node,
            slot,
            None if node.scope == NO_SCOPE else self.scopes[node.scope],
            ran.table.row(row) if ran else None,
            ran.gradients.get(row) if ran else None,
            self.values.get(row),
            ran is not None,
            "" if ran is None else _why_none(self.graph, ran, row),
            None if self.value_table is None else self.value_table.row(row),
            _at_row(row, self.own, {} if ran is None else ran.own),
        )

    def edge_gradient(self, edge: int, backward_pass: int = -1) -> Statistics | None:
        """Return the statistics of the part of a slot's gradient that flowed back along one edge."""
        if not self.backward_passes:
            return None
        return self.backward_passes[backward_pass].table.row(int(self.graph.edge_rows[edge]))

    def findings(self) -> list[Any]:
        """Say what looks wrong in the last backward pass, worst first."""
        from tb_gradgraph.diagnose import findings

        if not self.backward_passes:
            return []
        last = self.backward_passes[-1]
        return list(
            findings(
                *(self.graph, last.table, self.values),
                unread=last.unread,
                value_table=self.value_table,
            )
        )

    def to_dot(self) -> str:
        """Return the graph in Graphviz's language, with the norms of gradients on the edges."""
        from tb_gradgraph.record import to_dot

        norms = np.full(self.graph.row_count, np.nan)
        if self.backward_passes:
            norms = self.backward_passes[-1].table.values[:, STATISTICS.index("l2_norm")]
        return to_dot(self.graph, norms)

    def to_networkx(self) -> Any:
        """Return a ``networkx.MultiDiGraph`` whose nodes are named by their keys.

        Raises:
            ImportError: networkx is not installed.
        """
        import networkx

        result = networkx.MultiDiGraph(tag=self.tag, hash=self.hash)
        for node in self.nodes:
            result.add_node(node.key, name=node.name, kind=node.kind, operation=node.operation)
        for edge in self.edges:
            result.add_edge(
                self.nodes[edge.source].key, self.nodes[edge.target].key, slot=edge.source_slot
            )
        return result

    def __str__(self) -> str:
        from tb_gradgraph.api.tables import text_table

        return text_table(self._headline(), self)

    def __repr__(self) -> str:
        return (
            f"<GradGraph {self.tag!r}: {len(self.nodes)} nodes, {len(self.edges)} edges, "
            f"{len(self.backward_passes)} backward passes, hash {self.hash}>"
        )

    def _repr_html_(self) -> str:
        from tb_gradgraph.api.tables import html_table

        return html_table(self._headline(), self)

    def _headline(self) -> str:
        passes = len(self.backward_passes)
        ran = (
            f"{passes} backward pass{'' if passes == 1 else 'es'}" if passes else "no backward yet"
        )
        complex_ones = any(
            slot.dtype.startswith("complex") for node in self.nodes for slot in node.slots
        )
        of_magnitudes = "; the mean of complex gradients is that of |g|" if complex_ones else ""
        return f"{self.tag}: {len(self.nodes)} nodes, {len(self.edges)} edges, {ran}{of_magnitudes}"

    def _rows_by_name(self) -> dict[str, int]:
        """Map each name to its row. Variables take precedence over parameters, and parameters over nodes."""
        if self._rows is None:
            rows: dict[str, int] = {}
            starts = self.graph.slot_offsets.tolist()
            for node, start in zip(self.nodes, starts):
                if node.kind != "root":
                    for nr, slot in enumerate(node.slots):
                        if slot.name:
                            rows.setdefault(slot.name, start + nr)
            for node, start in zip(self.nodes, starts):
                for name in (node.name, *node.aliases):
                    if node.slots:
                        rows.setdefault(name, start)
            self._rows = rows
        return self._rows

    def _unknown(self, name: str) -> str:
        import difflib

        close = difflib.get_close_matches(name, self._rows_by_name(), n=3)
        hint = f" Close names: {', '.join(close)}." if close else ""
        return f"no tensor or node named {name!r} in graph {self.tag!r}.{hint}"


def _at_row(row: int, *found: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    return {name: of[row] for own in found for name, of in own.items() if row in of}


def _why_none(graph: Graph, ran: BackwardPass, row: int) -> str:
    """Say why a row has no gradient in one pass, if that is known."""
    from tb_gradgraph.diagnose import who_gave_none

    if ran.table.present[row]:
        return ""
    return ran.unread.get(row) or who_gave_none(graph, ran.table, row)
