"""Containers of the user's, looked through by torch's own means where it has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

try:
    from torch.utils._pytree import tree_leaves, tree_map
except ImportError:  # plain containers alone, then

    def tree_leaves(tree: Any) -> list[Any]:
        """Give what the containers in ``tree`` hold, in order."""
        return list(_leaves(tree))

    def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
        """Give ``tree`` with each leaf as ``function`` makes it of that and of those of ``others``."""
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
