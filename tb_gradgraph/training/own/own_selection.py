"""Find the rows on which each statistic of the user's own is run."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Collection

import torch

from tb_gradgraph.autograd import BuiltGraph, matching_rows, warn_quietly
from tb_gradgraph.training.own.own_calls import OwnCalls
from tb_gradgraph.training.own.own_numbers import OwnRows
from tb_gradgraph.training.own.registry import Statistic

#: Statistics that were once found to match something, in any graph, or to match nothing.
_told: weakref.WeakSet[Statistic] = weakref.WeakSet()


def own_rows(
    calls: OwnCalls,
    built: BuiltGraph,
    model: torch.nn.Module | None,
    wanted: Collection[int] | None,
) -> OwnRows:
    """Return the rows of each statistic, among those that are ``wanted`` (None: all).

    If a statistic's ``select`` raises, or matches nothing in the first graph, one warning says so.
    """
    return {one: _rows_of(one, calls, built, model, wanted) for one in calls.statistics}


def _rows_of(
    statistic: Statistic,
    calls: OwnCalls,
    built: BuiltGraph,
    model: torch.nn.Module | None,
    wanted: Collection[int] | None,
) -> frozenset[int]:
    where = f"statistic {statistic.name!r}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            matching = matching_rows(built, model, statistic.select, where)
    except Exception as error:  # of a function that selects
        calls.note(statistic, "its select", error)
        return frozenset()
    rows = matching & _rows_with(built, statistic.measure.of)
    found = frozenset(rows if wanted is None else rows.intersection(wanted))
    if not found and statistic not in _told:
        warn_quietly(
            f"{where}: its select matches nothing that is read of this graph. It chooses among the "
            f"tensors that level and select leave; of='weight' needs parameters."
        )
    _told.add(statistic)
    return found


def _rows_with(built: BuiltGraph, of: str) -> set[int]:
    """Return the rows that can have a gradient, a value or a weight."""
    graph = built.graph
    offsets = graph.slot_offsets.tolist()
    if of == "weight":
        nodes = zip(offsets, graph.nodes)
        return {row for row, node in nodes if node.kind == "parameter" and node.slots}
    slots = enumerate((node, slot) for node in graph.nodes for slot in node.slots)
    if of == "value":
        return {row for row, (node, _) in slots if node.kind != "parameter"}
    return {row for row, (_, slot) in slots if slot.requires_grad}
