"""Put compiled hooks on the slots of many nodes at once.

``Node.register_prehook`` takes 2 us of each node, five times as long as this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.gradients.rows import NodeToRead, SlotRows
from tb_gradgraph.autograd.torch_internals.engine import (
    custom_function,
    functions_not_overridden,
)
from tb_gradgraph.autograd.torch_internals.tensor_hooks import CARRIERS

#: Gets nodes, the place, the number and the row of each slot (int64, as bytes), the tensors that
#: carry tables to the slots, and what takes a gradient that compiled code cannot read. Returns the
#: tables, and the number of each slot that refused its hook; None if there is no compiled code.
HookSlots = Callable[
    [Sequence[AutogradNode], bytes, Sequence[Any], Callable[[SlotRows, Any], None]],
    "tuple[list[dict[int, Any]], list[int]] | None",
]


class _Divided(NamedTuple):
    """Nodes with a hook for each slot, and others with one hook."""

    slots: bytes
    of_slots: Sequence[NodeToRead]  # the node of each slot
    others: Sequence[NodeToRead]


class _Tables:
    """Tables of hooks. Torch's nodes hold them too."""

    def __init__(self, tables: Sequence[dict[int, Any]]) -> None:
        self._tables = tables

    def remove(self) -> None:
        """Remove the hooks."""
        for table in self._tables:
            table.clear()


class SlotHooks:
    """Puts hooks on the slots of nodes on which nobody else has a prehook.

    These hooks run before the prehooks of a node, so they would not see what a prehook changes. The
    node of a custom Function may have prehooks of torch, which calls the module hooks of a user
    there. Hooks of tensors have run before.
    """

    def __init__(self, order: Sequence[AutogradNode], alone: Set[int]) -> None:
        """Prepare; ``alone`` are the places of nodes without a prehook."""
        self._places = {place for place in alone if custom_function(order[place]) is None}
        self._divided: dict[int, tuple[Sequence[NodeToRead], _Divided]] = {}  # by ``id``

    def attach(
        self,
        order: Sequence[AutogradNode],
        nodes: Sequence[NodeToRead],
        hook_slots: HookSlots,
        otherwise: Callable[[SlotRows, Any], None],
        handles: list[Any],
    ) -> Sequence[NodeToRead]:
        """Add hooks, and to ``handles`` what removes them; return the nodes that must be hooked otherwise."""
        divided = self._divide(nodes)
        with functions_not_overridden():
            found = hook_slots(order, divided.slots, CARRIERS, otherwise)
        if found is None:
            return nodes
        tables, refused = found
        handles.append(_Tables(tables))
        again = {divided.of_slots[at].place: divided.of_slots[at] for at in refused}
        return [*divided.others, *again.values()]

    def _divide(self, nodes: Sequence[NodeToRead]) -> _Divided:
        known, divided = self._divided.get(id(nodes), (None, None))
        if divided is None or known is not nodes:
            divided = self._newly_divided(nodes)
            self._divided[id(nodes)] = nodes, divided
        return divided

    def _newly_divided(self, nodes: Sequence[NodeToRead]) -> _Divided:
        of_slots: list[NodeToRead] = []
        others: list[NodeToRead] = []
        table: list[tuple[int, int, int]] = []
        for node in nodes:
            found = [(node.place, nr, rows[0]) for nr, rows in enumerate(node.rows) if rows]
            if node.place in self._places and found[-1][1] < len(CARRIERS):
                table += found
                of_slots += [node] * len(found)
            else:
                others.append(node)
        return _Divided(np.array(table, np.int64).tobytes(), of_slots, others)


def is_alone(handle: Any) -> bool:
    """Return whether a hook is the only one of its kind on a node."""
    hooks = handle.hooks_dict_ref()
    return hooks is not None and len(hooks) == 1
