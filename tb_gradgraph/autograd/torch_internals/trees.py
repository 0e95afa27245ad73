"""Search the user's containers, with torch's own functions if it has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

try:
    from torch.utils._pytree import tree_leaves, tree_map
except ImportError:  # then only plain containers

    def tree_leaves(tree: Any) -> list[Any]:  # type: ignore[misc]  # torch's take more
        """Return the leaves of the containers in ``tree``, in order."""
        return list(_leaves(tree))

    def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:  # type: ignore[misc]  # likewise
        """Return ``tree`` with ``function`` applied to each leaf and to those of ``others``."""
        kind = type(tree)
        if kind is dict:
            return {k: tree_map(function, v, *(o[k] for o in others)) for k, v in tree.items()}
        if kind in (list, tuple):
            return kind(tree_map(function, *parts) for parts in zip(tree, *others))
        return function(tree, *others)

    def _leaves(tree: Any) -> Iterator[Any]:
        if type(tree) is dict:
            tree = list(tree.values())
        if type(tree) in (list, tuple):
            for part in tree:
                yield from _leaves(part)
        else:
            yield tree


__all__ = ["tree_leaves", "tree_map"]
