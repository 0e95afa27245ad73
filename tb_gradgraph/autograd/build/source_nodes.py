"""Add what feeds the graph without gradient: traced operations, and tensors from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tb_gradgraph.autograd.build.draft import GraphDraft
from tb_gradgraph.autograd.build.unreached import FROZEN
from tb_gradgraph.autograd.forward.forward import NOT_KNOWN, Forward
from tb_gradgraph.autograd.forward.origins import Origin, TracedSource
from tb_gradgraph.graph import Slot


class SourceNodes:
    """Adds each traced source that feeds an autograd node, just before the first node that it feeds."""

    def __init__(self, forward: Forward, draft: GraphDraft) -> None:
        self._forward = forward
        self._draft = draft
        self.index_of: dict[int, int] = {}  # node index, by the index of its source

    def add_for_operation(self, number: int) -> None:
        """Add the sources that the autograd node ``number`` needs first."""
        inputs = self._forward.untracked_inputs.get(number)
        if inputs:
            self._add_all([origin for _, origin in inputs])

    def add_for_leaf(self, identity: int) -> None:
        """Add the sources that computed a leaf, given by its ``id``, before it was made to require grad."""
        if identity in self._forward.leaf_origins:
            self._add_all([self._forward.leaf_origins[identity]])

    def given(self) -> dict[int, int]:
        """Return the node index of every tensor from outside that was added, by its ``id``."""
        pairs = ((self._forward.sources[at], index) for at, index in self.index_of.items())
        return {of.outputs[0].identity: index for of, index in pairs if not of.operation}

    def connect(self, slot_of: Mapping[int, int], leaf_of: Mapping[int, int]) -> None:
        """Add the edges into autograd nodes and into sources.

        Args:
            slot_of: Index of each autograd node by its number.
            leaf_of: Index of each leaf by the ``id`` of its tensor.
        """
        places = {"source": self.index_of, "leaf": leaf_of, "slot": slot_of}
        for number, inputs in self._forward.untracked_inputs.items():
            if number in slot_of:
                self._connect(inputs, slot_of[number], places)
        for identity, origin in self._forward.leaf_origins.items():
            if identity in leaf_of:
                self._connect([(0, origin)], leaf_of[identity], places)
        for index, target in self.index_of.items():
            self._connect(self._forward.sources[index].inputs, target, places)

    def _connect(
        self,
        inputs: Iterable[tuple[int, Origin]],
        target: int,
        places: Mapping[str, Mapping[int, int]],
    ) -> None:
        for position, (kind, identity, slot) in inputs:
            found = places[kind].get(identity)
            if found is None or found == target or slot >= len(self._draft.nodes[found].slots):
                continue
            self._draft.add_edge(found, slot, target, position)

    def _add_all(self, pending: list[Origin]) -> None:
        """Add the sources ``pending`` and everything they were computed from, in forward order."""
        found: set[int] = set()
        while pending:
            kind, index, _ = pending.pop()
            if kind == "source" and index not in found and index not in self.index_of:
                found.add(index)
                pending += [origin for _, origin in self._forward.sources[index].inputs]
        for index in sorted(found):
            self.index_of[index] = self._add(self._forward.sources[index], index)

    def _add(self, source: TracedSource, index: int) -> int:
        if source.operation:
            names = self._forward.source_names
            slots = tuple(
                Slot(names.get((index, nr), ""), output.shape, output.dtype, False)
                for nr, output in enumerate(source.outputs)
            )
            node = self._draft.add_operation(
                source.scope, source.operation, slots, source=source.source
            )
        else:
            node = self._add_given(source, index)
        for nr, output in enumerate(source.outputs):
            self._draft.keep_value(node, nr, output.value)
        return node

    def _add_given(self, source: TracedSource, index: int) -> int:
        output = source.outputs[0]
        known = self._forward.known.get(output.identity)
        slot = Slot("", output.shape, output.dtype, False)
        if known is not None:
            why = FROZEN if known.kind == "parameter" else NOT_KNOWN
            return self._draft.add_tensor(known.kind, known.names, slot, known.scope, True, why)
        name = self._forward.source_names.get((index, 0), "constant")
        return self._draft.add_tensor("constant", (name,), slot, source.scope, True)
