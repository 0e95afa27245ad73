"""Report an error of our own without harming the user's forward or backward."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from tb_gradgraph.errors import COMPILED, NOT_READ, reason_of
from tb_gradgraph.graph import Graph

_NAMED = 5  # nodes in one warning
DefaultT = TypeVar("DefaultT")
ReadT = TypeVar("ReadT")


def warn_of_fault(what: str, error: Exception, consequence: str) -> None:
    """Warn. If the user's filters turn warnings into errors, write to standard error instead."""
    text = (
        f"tb_gradgraph {what} after its own fault ({type(error).__name__}: {error}). {consequence}"
    )
    warn_quietly(text, RuntimeWarning)


def warn_quietly(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn without raising: if the user's filters turn warnings into errors, write to standard error."""
    try:
        warnings.warn(text, category, stacklevel=4)
    except Warning:
        print(f"{category.__name__}: {text}", file=sys.stderr)


class NodeFaults:
    """Collects errors at nodes, by the names of the nodes."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def note(self, name: str, error: Exception) -> None:
        """Note an error at a node."""
        self.reasons.setdefault(name, reason_of(error))

    def instead(
        self, default: DefaultT, read: Callable[..., ReadT], *given: Any, name: str = ""
    ) -> DefaultT | ReadT:
        """Return the result of ``read``; if it raises, note the error and return ``default``."""
        try:
            return read(*given)
        except Exception as error:
            self.note(name, error)
            return default

    def take(self, name: str, faults: NodeFaults) -> str:
        """Add the errors that another collected at one node; return the reason, "" if there is none."""
        for reason in faults.reasons.values():
            return self.reasons.setdefault(name, reason)
        return ""

    def tell(self) -> None:
        """Warn of all noted nodes."""
        if self.reasons:
            _warn_of(self.reasons)


def warn_of_unread(graph: Graph, unread: Mapping[int, str], told: set[str] | None = None) -> None:
    """Warn of rows that could not be read, with the names of their nodes.

    Args:
        graph: The graph of the rows.
        unread: The rows, and why.
        told: Names that earlier warnings gave. They are left out, and those of this warning are
            added.
    """
    told = set() if told is None else told
    names = {name_of_row(graph, row): why for row, why in unread.items() if row >= 0}
    new = {n: why for n, why in names.items() if n not in told and why != COMPILED}
    if not new:
        return
    told.update(new)
    _warn_of(new)


def _warn_of(reasons: Mapping[str, str]) -> None:
    shown = ", ".join(list(reasons)[:_NAMED])
    more = f" and {len(reasons) - _NAMED} more" if len(reasons) > _NAMED else ""
    why = next(iter(reasons.values())).removeprefix(NOT_READ)
    warn_quietly(
        f"tb_gradgraph could not read {shown}{more} after its own fault ({why}). "
        "Everything else is recorded, and the training is not affected.",
        RuntimeWarning,
    )


def name_of_row(graph: Graph, row: int) -> str:
    """Return the name of what a row belongs to: a node, or an edge."""
    if row < graph.slot_count:
        return graph.nodes[int(np.searchsorted(graph.slot_offsets, row, side="right")) - 1].name
    edge = graph.edges[graph.edge_rows.tolist().index(row)]
    return f"{graph.nodes[edge.source].name} -> {graph.nodes[edge.target].name}"
