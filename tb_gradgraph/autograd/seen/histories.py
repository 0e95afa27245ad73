"""Note the history of each node: the nodes before it, and the leaves that it uses."""

from __future__ import annotations

from collections.abc import Iterable

from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.torch_internals.engine import accumulated_leaf, sequence_nr


class Histories:
    """Stores only the numbers of nodes; no node is kept alive."""

    def __init__(self, first: int) -> None:
        """Prepare. Nodes with numbers below ``first`` are ignored."""
        self.seen: dict[int, int] = {}  # the first node that used a leaf, by the leaf's ``id``
        self._first = first
        # Tuples of numbers, which the garbage collector stops following.
        self._history: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def note(self, node: AutogradNode) -> None:
        """Note the inputs of ``node``, and of each node before it."""
        pending = [node]
        while pending:
            node = pending.pop()
            number = sequence_nr(node)
            if number in self._history or number < self._first:
                continue
            parents, leaves = [], []
            for source, _ in node.next_functions:
                if source is None:
                    continue
                leaf = None if source.next_functions else accumulated_leaf(source)
                if leaf is None:
                    pending.append(source)
                    parents.append(sequence_nr(source))
                else:
                    leaves.append(id(leaf))
                    self.seen.setdefault(id(leaf), number)
            self._history[number] = (tuple(parents), tuple(leaves))

    def leaves_behind(self, numbers: Iterable[int]) -> set[int]:
        """Return the leaves, by ``id``, that lead to any of the nodes ``numbers``."""
        pending = list(numbers)
        seen: set[int] = set()
        found: set[int] = set()
        while pending:
            number = pending.pop()
            if number not in seen and number in self._history:
                seen.add(number)
                parents, leaves = self._history[number]
                pending += parents
                found.update(leaves)
        return found

    def forget(self, number: int) -> None:
        """Forget a node."""
        self._history.pop(number, None)
