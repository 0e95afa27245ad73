"""``TB_GRADGRAPH=0`` in the environment makes every call of ours do nothing."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from tb_gradgraph.api.grad_graph import GradGraph
from tb_gradgraph.graph import Graph
from tb_gradgraph.training import IdleWatch, Watch

#: Set to 0 to switch this package off; read at every call.
SWITCH = "TB_GRADGRAPH"
_WHY = f"switched off by {SWITCH}=0"
P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def is_off() -> bool:
    """Return whether the environment has switched this package off."""
    return os.environ.get(SWITCH) == "0"


def unless_off(
    instead: Callable[..., ResultT],
) -> Callable[[Callable[P, ResultT]], Callable[P, ResultT]]:
    """Call ``instead`` with the same arguments if the package is switched off."""

    def decorate(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
        @functools.wraps(function)
        def switched(*args: P.args, **kwargs: P.kwargs) -> ResultT:
            return instead(*args, **kwargs) if is_off() else function(*args, **kwargs)

        return switched

    return decorate


def no_watch(*given: Any, **named: Any) -> Watch:
    """Return a watch that attaches nothing. Of the arguments only ``tag`` and the model's class are used."""
    model = named.get("model", given[1] if len(given) > 1 else None)
    return IdleWatch(named.get("tag") or type(model).__name__, named.get("every_n_steps", 50), _WHY)


def no_graph(*_given: Any, **named: Any) -> GradGraph:
    """Return an empty graph, which says why it is empty."""
    return _NoGraph(Graph((), (), ()), named.get("tag") or "", {})


class _NoGraph(GradGraph):
    """A graph without nodes, because capturing is switched off."""

    def __str__(self) -> str:
        return f"No graph: {_WHY}."

    def __repr__(self) -> str:
        return f"<GradGraph: empty, {_WHY}>"

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"

    def _unknown(self, name: str) -> str:
        return f"no tensor or node named {name!r}: nothing was captured, {_WHY}."
