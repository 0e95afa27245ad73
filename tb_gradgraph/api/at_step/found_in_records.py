"""Find NaN and infinity in the records of a step, before they are written."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tb_gradgraph.diagnose import KINDS, Finding, findings
from tb_gradgraph.graph import NO_SCOPE, Graph, Node, Record
from tb_gradgraph.statistics import FORWARD, NONFINITE

_MOST_GRAPHS = 16


class RecordSearch:
    """Searches the records of backward passes. Used on the session's thread, but for ``know``."""

    def __init__(self) -> None:
        self._graphs: collections.OrderedDict[str, Graph] = collections.OrderedDict()
        self._harmless: dict[str, frozenset[int]] = {}  # rows of values, by graph

    def know(self, graph: Graph) -> None:
        """Keep a graph for the records to come."""
        self._graphs[graph.hash] = graph
        if len(self._graphs) > _MOST_GRAPHS:
            self._harmless.pop(self._graphs.popitem(last=False)[0], None)

    def search(
        self, records: Iterable[Record]
    ) -> Iterator[tuple[Record, Finding, Node | None, str]]:
        """Yield the worst error about NaN or infinity of each pass, with its node and module."""
        forward: Record | None = None
        for record in records:
            if record.stage == FORWARD:
                forward = record
            elif record.stage == "backward":
                graph = self._graphs.get(record.graph_hash)
                if graph is not None and (is_nonfinite(record) or self._is_new(forward)):
                    found = list(_first_error(graph, record, forward))
                    if not found:
                        self._know_harmless(forward)
                    yield from found
                forward = None

    def _is_new(self, forward: Record | None) -> bool:
        """Return whether other values are not finite than those that did no harm before, as masks do."""
        rows = _nonfinite_rows(forward)
        return forward is not None and not rows <= self._harmless.get(
            forward.graph_hash, frozenset()
        )

    def _know_harmless(self, forward: Record | None) -> None:
        if forward is not None and not _holds(forward, ("nan",)):
            known = self._harmless.get(forward.graph_hash, frozenset())
            self._harmless[forward.graph_hash] = known | _nonfinite_rows(forward)


def is_nonfinite(record: Record | None) -> bool:
    """Return whether a record holds NaN or infinity."""
    return _holds(record, NONFINITE)


def _nonfinite_rows(record: Record | None) -> frozenset[int]:
    if record is None:
        return frozenset()
    counts = sum(np.nan_to_num(record.table.column(name)) for name in NONFINITE)
    return frozenset(np.flatnonzero(record.table.present & (counts > 0)).tolist())


def _holds(record: Record | None, names: Sequence[str]) -> bool:
    if record is None:
        return False
    present = record.table.present
    return any((present & (record.table.column(name) > 0)).any() for name in names)


def _first_error(
    graph: Graph, record: Record, forward: Record | None
) -> Iterator[tuple[Record, Finding, Node | None, str]]:
    values = {**record.values, **({} if forward is None else forward.values)}
    found = findings(
        *(graph, record.table, values),
        unread=record.unread,
        value_table=None if forward is None else forward.table,
        loss_scale=record.loss_scale,
    )
    first = next((one for one in found if _is_error(one, record, forward)), None)
    if first is not None:
        node = None if first.row is None else _node_of(graph, first.row)
        scope = NO_SCOPE if node is None else node.scope
        yield record, first, node, "" if scope == NO_SCOPE else graph.scopes[scope].path


def _is_error(finding: Finding, record: Record, forward: Record | None) -> bool:
    """Return whether a finding is an error about NaN or infinity.

    A scaler skips steps that its factor made infinite. Then only bad weights count, and NaN that
    the forward made.
    """
    if finding.severity != "error" or not KINDS[finding.kind].is_of_nonfinite:
        return False
    if record.loss_scale == 1 or finding.kind == "nonfinite_weight":
        return True
    return finding.kind == "nonfinite_value" and _holds(forward, ("nan",))


def _node_of(graph: Graph, row: int) -> Node | None:
    if row >= graph.slot_count:
        return None
    return graph.nodes[int(np.searchsorted(graph.slot_offsets, row, side="right")) - 1]
