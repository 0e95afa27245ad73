"""Read the values of a forward of ours."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
import torch

from tb_gradgraph.api.grad_graph import GradGraph
from tb_gradgraph.autograd import (
    BuiltGraph,
    elements_of,
    meaning_of_call,
    owned_tensors,
    placement_of,
)
from tb_gradgraph.graph import Graph
from tb_gradgraph.statistics import HISTOGRAM_SAMPLE, StatisticsTable
from tb_gradgraph.summarize import KeyedBatch
from tb_gradgraph.training import OwnCalls, OwnFound, OwnNumbers, OwnRows


class ReadValues:
    """Reads the tensors of a forward that is traced."""

    def __init__(self, reads: bool, calls: OwnCalls) -> None:
        """Prepare; ``reads`` says whether statistics of values are read, besides the user's own."""
        self._reads = reads
        self._calls = calls
        self._own = OwnNumbers(calls)
        self._seen: set[Hashable] = set()
        self._batch = KeyedBatch(HISTOGRAM_SAMPLE)
        self._placements: dict[Hashable, str] = {}

    def see(
        self,
        key: Hashable,
        tensor: torch.Tensor,
        again: bool = False,
        call: tuple[str, Any] | None = None,
    ) -> None:
        """Read a tensor, unless one was read for its key. An error costs only this tensor."""
        if key in self._seen and not again:
            return
        self._seen.add(key)
        try:
            elements = elements_of(tensor)
            if elements is not None:
                if self._reads:
                    with torch.no_grad():
                        meaning = None if call is None else meaning_of_call(*call, elements)
                        self._batch.add(key, elements, meaning)
                for statistic in self._calls.of("value"):
                    self._own.compute(statistic, key, elements)
                if place := placement_of(tensor):
                    self._placements[key] = place
        except Exception as error:
            self._batch.note(key, error)

    def own(self, built: BuiltGraph, rows: OwnRows) -> OwnFound:
        """Return what the user's own statistics gave for values."""
        roots = _roots_of(built.graph)
        keys = ((key, (row, *roots.get(row, ()))) for key, row in built.rows_by_key())
        return self._own.choose(keys, rows).collect(built.graph)

    def fill(
        self,
        result: GradGraph,
        built: BuiltGraph,
        model: torch.nn.Module | None,
        rows: frozenset[int] | None,
    ) -> None:
        """Read leaves, and add the values of ``rows`` (None: all) and of inputs to the result."""
        owned = () if model is None else (tensor for _, _, tensor in owned_tensors(model))
        for leaf in (*(leaf for _, leaf in built.leaves), *owned):
            self.see(("leaf", id(leaf), 0), leaf)
        for row, value in built.values.items():
            self.see(("kept", row), value)
        graph, keys = built.graph, list(built.rows_by_key())
        placed = {row: self._placements[key] for key, row in keys if key in self._placements}
        wanted = None if rows is None else rows | rows_of_kind(graph, ("input", "buffer"))
        roots = _roots_of(graph)
        chosen = (
            (
                key,
                tuple(one for one in (row, *roots.get(row, ())) if wanted is None or one in wanted),
            )
            for key, row in (*((("kept", row), row) for row in built.values), *keys)
        )
        result.value_table = StatisticsTable.empty(graph.row_count)
        result.value_unread = unread = dict[int, str]()
        whole: dict[int, np.ndarray] = {}
        self._batch.choose(chosen).fill(result.value_table, whole, unread)
        result.values = {**whole, **result.values}
        result.graph = graph.placed(placed) if placed else graph


def own_of_weights(
    calls: OwnCalls, built: BuiltGraph, model: torch.nn.Module | None, rows: OwnRows
) -> OwnFound:
    """Return what the user's own statistics give for parameters now."""
    numbers, graph = OwnNumbers(calls), built.graph
    offsets = graph.slot_offsets.tolist()
    owned = () if model is None else (tensor for _, _, tensor in owned_tensors(model))
    tensors = {id(one): one for one in (*(leaf for _, leaf in built.leaves), *owned)}
    drawn = [(offsets[index], of) for of, index in built.drawn.items() if of in tensors]
    for row, of in drawn:
        for statistic in calls.of("weight"):
            elements = elements_of(tensors[of]) if row in rows[statistic] else None
            if elements is not None:
                numbers.compute(statistic, row, elements)
    return numbers.choose(((row, (row,)) for row, _ in drawn), rows).collect(graph)


def _roots_of(graph: Graph) -> dict[int, list[int]]:
    """Return the rows of the roots that each slot ends in, by the slot's row."""
    offsets, found = graph.slot_offsets.tolist(), dict[int, list[int]]()
    for edge in graph.edges:
        if graph.nodes[edge.target].kind == "root":
            row = offsets[edge.source] + edge.source_slot
            found.setdefault(row, []).append(offsets[edge.target])
    return found


def rows_of_kind(graph: Graph, kinds: Collection[str]) -> frozenset[int]:
    """Return the first row of each node of some kinds."""
    offsets = graph.slot_offsets.tolist()
    return frozenset(row for row, node in zip(offsets, graph.nodes) if node.kind in kinds)
