"""Report our own fault without harming the user's forward or backward."""

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
    """Warn once; if the user made warnings errors, write to standard error instead."""
    text = (
        f"tb_gradgraph {what} after its own fault ({type(error).__name__}: {error}). {consequence}"
    )
    warn_quietly(text, RuntimeWarning)


def warn_quietly(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn where nothing may be raised: on standard error if the user made warnings errors."""
    try:
        warnings.warn(text, category, stacklevel=4)
    except Warning:
        print(f"{category.__name__}: {text}", file=sys.stderr)


class NodeFaults:
    """What could not be read about nodes, by their names."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def note(self, name: str, error: Exception) -> None:
        """Note that something about a node could not be read."""
        self.reasons.setdefault(name, reason_of(error))

    def instead(
        self, default: DefaultT, read: Callable[..., ReadT], *given: Any, name: str = ""
    ) -> DefaultT | ReadT:
        """Return what ``read`` gives, or ``default`` if it raises, which is noted."""
        try:
            return read(*given)
        except Exception as error:
            self.note(name, error)
            return default

    def take(self, name: str, faults: NodeFaults) -> str:
        """Take over what happened at one node; return the reason, "" if there is none."""
        for reason in faults.reasons.values():
            return self.reasons.setdefault(name, reason)
        return ""

    def tell(self) -> None:
        """Warn of all noted nodes."""
        if self.reasons:
            _warn_of(self.reasons)


def warn_of_unread(graph: Graph, unread: Mapping[int, str], told: set[str] | None = None) -> None:
    """Warn of rows that could not be read, by the names of their nodes.

    Args:
        graph: The graph of the rows.
        unread: The rows, and why.
        told: Names that earlier warnings gave, which are left out; this warning's are added.
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
    """Name what a row belongs to: a node, or the share of a gradient along an edge."""
    if row < graph.slot_count:
        return graph.nodes[int(np.searchsorted(graph.slot_offsets, row, side="right")) - 1].name
    edge = graph.edges[graph.edge_rows.tolist().index(row)]
    return f"{graph.nodes[edge.source].name} -> {graph.nodes[edge.target].name}"
