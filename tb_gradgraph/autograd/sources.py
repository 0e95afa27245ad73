"""What feeds the graph without gradient: operations that the trace saw, and tensors from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tb_gradgraph.autograd.draft import GraphDraft
from tb_gradgraph.autograd.forward import Forward
from tb_gradgraph.autograd.trace import Origin, TracedSource
from tb_gradgraph.graph import Slot


class SourceNodes:
    """Adds each traced source that reaches an autograd node just before the first that it reaches."""

    def __init__(self, forward: Forward, draft: GraphDraft, numbers: Iterable[int]) -> None:
        """Find what is needed; ``numbers`` are those of the autograd nodes, in forward order."""
        self._forward = forward
        self._draft = draft
        self._index_of: dict[int, int] = {}  # node by index of its source
        self._needed = _needed_sources(forward, numbers)

    def add_before(self, number: int) -> None:
        """Add what the autograd node ``number`` is the first to need."""
        for index in self._needed.get(number, ()):
            self._index_of[index] = self._add(self._forward.sources[index], index)

    def connect(self, slot_of: Mapping[int, int], leaf_of: Mapping[int, int]) -> None:
        """Add the edges into autograd nodes and into sources.

        Args:
            slot_of: Index of each autograd node by its number.
            leaf_of: Index of each leaf by the ``id`` of its tensor.
        """
        places = {"source": self._index_of, "leaf": leaf_of, "slot": slot_of}
        for number, inputs in self._forward.untracked_inputs.items():
            if number in slot_of:
                self._connect(inputs, slot_of[number], places)
        for index, target in self._index_of.items():
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

    def _add(self, source: TracedSource, index: int) -> int:
        if source.operation:
            names = self._forward.source_names
            slots = [
                Slot(names.get((index, nr), ""), output.shape, output.dtype, False)
                for nr, output in enumerate(source.outputs)
            ]
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
            return self._draft.add_tensor(known.kind, known.names, slot, known.scope, True)
        name = self._forward.source_names.get((index, 0), "constant")
        return self._draft.add_tensor("constant", (name,), slot, source.scope, True)


def _needed_sources(forward: Forward, numbers: Iterable[int]) -> dict[int, list[int]]:
    """Give the sources that reach a node, under the number of the first node they reach.

    Sources are in forward order, so those that a source stands on come before it.
    """
    first_use: dict[int, int] = {}
    for number in numbers:
        pending = [origin for _, origin in forward.untracked_inputs.get(number, ())]
        while pending:
            kind, index, _ = pending.pop()
            if kind == "source" and index not in first_use:
                first_use[index] = number
                pending.extend(origin for _, origin in forward.sources[index].inputs)
    needed: dict[int, list[int]] = {}
    for index in sorted(first_use):
        needed.setdefault(first_use[index], []).append(index)
    return needed
