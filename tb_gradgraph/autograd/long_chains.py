"""Let a very long graph be freed without overflowing the stack."""

from __future__ import annotations

import threading

from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.walk import Walk

#: A path this long is cut into parts when it is freed. A level takes about 130 bytes of stack.
PART = 500
_KEY = "tb_gradgraph"


def free_in_parts(walked: Walk) -> None:
    """See to it that the graph is freed part by part, whoever holds it last.

    torch (2.13) frees a chain of nodes one inside the other once Python has
    looked at them: a chain of 100,000 then crashes the process, and Python has
    looked at it, for we did. So in every path some nodes get a hold on the
    nodes before them that outlasts them: those are freed after, not inside.
    """
    depths = dict.fromkeys(walked.nodes, 0)
    incoming: dict[AutogradNode, list[AutogradNode]] = {}
    for edge in walked.edges:
        incoming.setdefault(edge.target, []).append(edge.source)
    for node in walked.nodes:
        sources = incoming.get(node, ())
        depths[node] = depth = 1 + max((depths[source] for source in sources), default=0)
        if any(depths[source] // PART != depth // PART for source in sources):
            node.metadata[_KEY] = _Hold(sources)


class _Pending(threading.local):
    """Nodes waiting to be freed, and whether this thread is freeing them."""

    def __init__(self) -> None:
        self.nodes: list[list[AutogradNode]] = []
        self.freeing = False


_pending = _Pending()


class _Hold:
    """Holds nodes, and when its own node goes, hands them to the outermost that is going."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: list[AutogradNode]) -> None:
        self._nodes = nodes

    def __del__(self) -> None:
        _pending.nodes.append(self._nodes)
        del self._nodes
        if _pending.freeing:
            return
        _pending.freeing = True
        while _pending.nodes:
            _pending.nodes.pop()
        _pending.freeing = False
