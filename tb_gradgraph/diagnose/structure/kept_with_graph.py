"""Keep what follows from a graph alone together with the graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from tb_gradgraph.graph import Graph

T = TypeVar("T")


def kept_with_graph(function: Callable[[Graph], T]) -> Callable[[Graph], T]:
    """Return a function that calls ``function`` once for each graph, and keeps the result with it.

    The result must not be changed.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @functools.wraps(function)
    def once(graph: Graph) -> T:
        kept = vars(graph)
        if name not in kept:
            kept[name] = function(graph)
        return kept[name]

    return once
