"""Names and keys of nodes: unique within a graph, the same at every step and in every run."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tb_gradgraph.graph import NO_SCOPE, Scope


class NodeNames:
    """Gives each node of one graph its name and key, in forward order."""

    def __init__(self, scopes: Sequence[Scope]) -> None:
        self._scopes = scopes
        self._ordinals: dict[str, int] = {}  # by scope and operation
        self._taken: set[str] = set()
        self._repeats: dict[str, int] = {}

    def of_operation(self, scope: int, operation: str) -> tuple[str, str]:
        """Return name and key of the next ``operation`` in ``scope``."""
        path, call = "", 0
        if scope != NO_SCOPE:
            path, call = self._scopes[scope].path, self._scopes[scope].call
        place = f"{path}#{call}/{operation}" if scope != NO_SCOPE else f"/{operation}"
        ordinal = self._ordinals.get(place, 0)
        self._ordinals[place] = ordinal + 1
        shown = f"{path}#{call}" if call else path
        name = f"{shown}/{readable(operation)}" if shown else readable(operation)
        return (f"{name}.{ordinal}" if ordinal else name), f"{place}.{ordinal}"

    def of_tensor(self, name: str) -> str:
        """Return ``name``, or the first free of ``name_2``, ``name_3``, ... if it is taken."""
        candidate = name
        while candidate in self._taken:
            self._repeats[name] = self._repeats.get(name, 1) + 1
            candidate = f"{name}_{self._repeats[name]}"
        self._taken.add(candidate)
        return candidate


@functools.lru_cache(maxsize=1024)
def readable(operation: str) -> str:
    """Return torch's name for autograd's name of an operation: ``addmm`` for ``AddmmBackward0``."""
    stem = operation.rstrip("0123456789").removesuffix("Backward")
    if stem == operation:
        return operation  # a custom Function keeps its class's name
    letters = (f"_{letter.lower()}" if letter.isupper() else letter for letter in stem)
    return "".join(letters).lstrip("_")
