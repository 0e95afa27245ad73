"""Find the rows of a known graph among new autograd nodes, without building the graph again."""

from __future__ import annotations

import collections
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd.graph import Node as AutogradNode
from torch.autograd.graph import get_gradient_edge

from tb_gradgraph.autograd.build.build import BuiltGraph
from tb_gradgraph.autograd.gradients.rows import NodeToRead, SlotRows, rows_of_nodes
from tb_gradgraph.autograd.gradients.sharing import (
    groups_of_equal_values,
    only_reshapes,
    shared_rows,
    sharing_additions,
    sharing_broadcasts,
)
from tb_gradgraph.autograd.gradients.slot_hooks import HookSlots, SlotHooks, is_alone
from tb_gradgraph.autograd.torch_internals.engine import (
    HAS_NUMBERS,
    accumulated_leaf,
    prehook_of,
    sequence_nr,
)
from tb_gradgraph.graph import Graph

#: Gradients with more elements are reduced in the hook, while they are in cache; smaller ones are
#: held and reduced together.
LARGE = 131_072
LARGE_ON_DEVICE = 4096  # accelerators have less memory, and run many kernels at once
#: How many elements are held before they are reduced: 16 MiB of float32.
HELD = 4_194_304

#: Two graphs are the same if these are: the kinds of nodes in the order of ``reach``, the place of
#: each input of each node in that order, and the leaves among the inputs.
Fingerprint = tuple[tuple[type, ...], tuple[int, ...], tuple["int | None", ...]]


def reach(
    roots: Iterable[Any],
) -> tuple[list[AutogradNode], list[torch.Tensor], list[int]]:
    """Return every node that a backward from ``roots`` could reach, breadth first.

    The order depends only on the structure. Takes about 1 us per node.

    Returns:
        The nodes, the leaves among them, and for each input of each node the place of the node that
        made it (-1 if it takes no gradient).
    """
    order = list(dict.fromkeys(_root_node(root) for root in roots))
    places = {node: place for place, node in enumerate(order)}
    leaves: list[torch.Tensor] = []
    wiring: list[int] = []
    for node in order:  # grows as it is read
        sources = node.next_functions
        if not sources and (leaf := accumulated_leaf(node)) is not None:
            leaves.append(leaf)
        for source, slot in sources:
            place = -1
            if source is not None:
                place = places.setdefault(source, len(order))
                if place == len(order):
                    order.append(source)
            wiring.append(place << 8 | slot if slot else place)
    return order, leaves, wiring


def _root_node(root: Any) -> AutogradNode:
    if isinstance(root, torch.Tensor):
        return root.grad_fn if root.grad_fn is not None else get_gradient_edge(root).node
    return root.node


def fingerprint(
    order: Sequence[AutogradNode], wiring: Sequence[int], leaves: Sequence[int | None]
) -> Fingerprint:
    """Return a value that identifies a structure, from the result of ``reach``. Shapes do not count."""
    return tuple(map(type, order)), tuple(wiring), tuple(leaves)


class Shared(NamedTuple):
    """Rows, and in the same order the rows whose statistics they use."""

    rows: np.ndarray
    sources: np.ndarray


class Replay:
    """A graph, and the places (in the order of ``reach``) of the nodes that fill its rows.

    Attributes:
        graph: The graph.
        leaf_rows: The row of each of ``reach``'s leaves, None if it is not read.
        rows_at: The rows of each slot of each node that is read, by the node's place.
        slots_to_read: The same as place, number of the slot, and rows.
        same: Rows that need not be read, with the rows whose statistics they use.
        shared: The same as arrays.
    """

    def __init__(
        self,
        built: BuiltGraph,
        order: Sequence[AutogradNode],
        leaves: Sequence[torch.Tensor],
        wanted: frozenset[int] | None,
    ) -> None:
        self.graph: Graph = built.graph  # with placements, once gradients have been seen
        slots = frozenset(range(built.graph.slot_count))
        self._rows = rows = slots if wanted is None else slots & wanted
        places = {node: place for place, node in enumerate(order)}
        offsets = built.graph.slot_offsets
        row_of = {identity: int(offsets[index]) for identity, index in built.drawn.items()}
        self.leaf_rows = tuple(
            row if (row := row_of.get(id(leaf))) in rows else None for leaf in leaves
        )
        self._all = [
            NodeToRead(places[node], built.node_of[node], slot_rows, _number(node, places[node]))
            for node, (slot_rows, _) in rows_of_nodes(built, rows).items()
            if node in places and any(slot_rows)
        ]
        self._all.sort(key=lambda node: -node.number)
        self.rows_at: Mapping[int, SlotRows] = {node.place: node.rows for node in self._all}
        self.slots_to_read = [
            (node.place, nr, rows)
            for node in self._all
            for nr, rows in enumerate(node.rows)
            if rows
        ]
        self.is_checked = False  # whether the rows in ``same`` were once read and compared
        self.same: dict[int, int] = shared_rows(built.graph, rows)
        index_of = {index: node for node, index in built.node_of.items()}
        additions = [index_of[index] for index in sharing_additions(built.graph, self.same)]
        self._broadcasts = [
            (places[index_of[edge.target]], places[index_of[edge.source]], edge.source_slot)
            for edge in sharing_broadcasts(built.graph)
            if index_of.get(edge.target) in places and index_of.get(edge.source) in places
        ]
        self._additions = [places[node] for node in additions if node in places]
        for node in self._all:  # a root's row, besides that of the slot that it ends
            for first, *others in filter(None, node.rows):
                self.same.update(dict.fromkeys(others, self.same.get(first, first)))
        self._slots: SlotHooks | None = None  # once hooks were put on the nodes one by one
        self._set_shared()
        self._groups: Shared | None = None

    @property
    def equal_values(self) -> Shared:
        """Rows to read whose tensors have the same elements, with a row that stands for their group."""
        if self._groups is None:
            groups = groups_of_equal_values(self.graph)
            pairs = [(row, group[0]) for group in groups for row in group if row in self._rows]
            rows, sources = np.array(pairs, np.int64).reshape(-1, 2).T
            self._groups = Shared(rows, sources)
        return self._groups

    def place(self, placements: Mapping[int, str]) -> None:
        """Note the placement of gradients of which this process has only a part, by row."""
        if placements:
            self.graph = self.graph.placed(placements)

    def forget_sharing(self, row: int) -> None:
        """Read ``row`` separately from now on: its numbers differed from those that it should share."""
        self.same.pop(row, None)
        self._set_shared()

    def _set_shared(self) -> None:
        self._own = _without(self._all, self.same)
        count = len(self.same)
        self.shared = Shared(
            np.fromiter(self.same.keys(), np.int64, count),
            np.fromiter(self.same.values(), np.int64, count),
        )

    def _hands_on(self, order: Sequence[AutogradNode]) -> bool:
        """Return whether additions and expansions pass on their gradient unchanged in this graph too."""
        return all(
            getattr(order[place], "_saved_alpha", None) == 1 for place in self._additions
        ) and all(
            order[made]._input_metadata[0].shape == order[given]._input_metadata[slot].shape
            for made, given, slot in self._broadcasts
        )

    def attach(
        self,
        order: Sequence[AutogradNode],
        take: Callable[[int, Any], None],
        take_and_reduce: Callable[[int, Any], None],
        take_at_once: Callable[[SlotRows, Any], None],
        make_hook: Callable[[SlotRows, Callable[[SlotRows, Any], None]], Any | None],
        share: bool,
        refused: Callable[[SlotRows, Exception], None],
        needed: Set[int] = frozenset(),
        hook_slots: HookSlots | None = None,
    ) -> list[Any]:
        """Put hooks on the nodes of ``order``; return the handles.

        Args:
            order: What ``reach`` returned for a graph of the same fingerprint.
            take: Gets the place of a node and the gradients of its slots, on the autograd
                thread that computed them. Must return None.
            take_and_reduce: Gets the same, once so much is held that it has to be reduced.
            take_at_once: Gets the rows of the slots instead of the place, if the gradient has to be
                read in the hook.
            make_hook: Makes a hook that reads every gradient at once; None if there is none. It
                gets the rows, and ``take_at_once`` for gradients that it cannot read.
            share: Whether to leave out rows in ``same``.
            refused: Called with each node that refuses a hook.
            needed: Rows to read even if they share statistics.
            hook_slots: As for ``SlotHooks``, if every gradient that is read may be read there.
        """
        share = share and self._hands_on(order)
        nodes = self._nodes_with(needed) if share else self._all
        handles: list[Any] = []
        if hook_slots is not None and self._slots is not None:
            nodes = self._slots.attach(order, nodes, hook_slots, take_at_once, handles)
        held = 0
        alone = set()
        for node in nodes:
            hook = make_hook(node.rows, take_at_once)
            if hook is not None:
                pass
            elif self._is_read_at_once(node, order[node.place]):
                hook = partial(take_at_once, node.rows)
            else:
                held += sum(self._sizes(node))
                hook = partial(take_and_reduce if held >= HELD else take, node.place)
                held = 0 if held >= HELD else held
            try:
                handle = prehook_of(order[node.place])(hook)
                handles.append(handle)
                if is_alone(handle):
                    alone.add(node.place)
            except Exception as error:
                refused(node.rows, error)
        if self._slots is None and not share:
            self._slots = SlotHooks(order, alone)
        return handles

    def _nodes_with(self, needed: Set[int]) -> Sequence[NodeToRead]:
        """Return the nodes with a row of their own to read, and those with a row that is needed."""
        if needed.isdisjoint(self.same):
            return self._own
        left_out = {row: to for row, to in self.same.items() if row not in needed}
        return _without(self._all, left_out)

    def _is_read_at_once(self, node: NodeToRead, itself: AutogradNode) -> bool:
        """Return whether to read a node in the hook, because its gradient is large or may change."""
        try:
            is_large = max(self._sizes(node)) > _most_held(itself)
        except Exception:  # a node that does not give its name
            is_large = True
        return is_large or node.index in self._adopted

    def _sizes(self, node: NodeToRead) -> list[int]:
        """Return how many elements each slot has."""
        return [math.prod(slot.shape) for slot in self.graph.nodes[node.index].slots]

    @functools.cached_property
    def _adopted(self) -> frozenset[int]:
        """The nodes whose gradient may become a ``.grad``, to which a user's hook may write.

        A leaf with only one user adopts the tensor that this user sends, also through a transpose.
        """
        nodes, edges = self.graph.nodes, self.graph.edges
        uses = collections.Counter(edge.source for edge in edges)
        return frozenset(
            edge.target
            for edge in edges
            if uses[edge.source] == 1
            and nodes[edge.source].kind != "operation"
            and nodes[edge.source].requires_grad
            and only_reshapes(nodes[edge.target].operation)
        )


def _without(nodes: Sequence[NodeToRead], same: Mapping[int, int]) -> list[NodeToRead]:
    """Leave out the nodes whose rows all use the statistics of other rows."""
    return [node for node in nodes if not all(row in same for rows in node.rows for row in rows)]


def _number(node: AutogradNode, place: int) -> int:
    try:
        return sequence_nr(node) if HAS_NUMBERS else -place
    except Exception:  # a node that does not give its name
        return -place


def _most_held(node: AutogradNode) -> int:
    on_host = all(entry.device.type == "cpu" for entry in node._input_metadata)
    return LARGE if on_host else LARGE_ON_DEVICE
