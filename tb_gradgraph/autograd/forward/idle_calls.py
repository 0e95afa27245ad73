"""Find module calls whose results were not differentiated."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tb_gradgraph.autograd.forward.forward import Forward
from tb_gradgraph.autograd.forward.known import in_scopes
from tb_gradgraph.autograd.torch_internals.trees import tree_leaves
from tb_gradgraph.autograd.torch_internals.walk import Walk, metadata_of
from tb_gradgraph.graph import NO_SCOPE, Scope

_KEY = "tb_gradgraph call"


class _Mark:
    """An object that lives as long as the autograd node that holds it."""

    __slots__ = ("__weakref__",)


#: Weak references that die with the nodes of an output; None if these are unknown.
Marks = list[weakref.ref[_Mark]] | None


@dataclasses.dataclass(frozen=True, slots=True)
class EndedCall:
    """An outermost module call that has ended.

    Attributes:
        scopes: The scopes of this call and of the calls in it.
        numbers: The sequence numbers of the nodes that were made during the call.
        marks: Weak references that die with the nodes of its output; None if these are unknown.
    """

    scopes: range
    numbers: range
    marks: Marks

    @property
    def is_idle(self) -> bool:
        """Return whether its output was freed, like that of an evaluation."""
        return are_gone(self.marks)


def are_gone(marks: Marks) -> bool:
    """Return whether the nodes that were marked have been freed."""
    return marks is not None and all(mark() is None for mark in marks)


def marks_of(output: Any) -> Marks:
    """Mark the autograd nodes of a call's output; return None if it has none.

    Python cannot tell whether only autograd still holds a node. But objects in a node's metadata
    are freed with it.
    """
    nodes = {
        value.grad_fn
        for value in tree_leaves(output)
        if isinstance(value, torch.Tensor) and value.grad_fn is not None
    }
    marks = []
    for node in nodes:
        mark = metadata_of(node).setdefault(_KEY, _Mark())
        marks.append(weakref.ref(mark))
    return marks or None


def without_idle_calls(forward: Forward, walked: Walk) -> Forward:
    """Leave out the outermost module calls that made no node in ``walked``.

    The other calls are numbered from 0, so that an evaluation in between does not rename the next
    call.
    """
    outermost: list[int] = []
    for index, scope in enumerate(forward.scopes):
        outermost.append(index if scope.parent == NO_SCOPE else outermost[scope.parent])
    numbers = (number for node in walked.nodes if (number := forward.number_of(node)) >= 0)
    kept = {outermost[scope] for scope in map(forward.scope_at, numbers) if scope != NO_SCOPE}
    if kept.issuperset(outermost):
        return dataclasses.replace(forward, known=in_scopes(forward.known, forward.scopes))
    index_of = {NO_SCOPE: NO_SCOPE}
    scopes: list[Scope] = []
    calls: dict[str, int] = {}
    for index, scope in enumerate(forward.scopes):
        index_of[index] = NO_SCOPE
        if outermost[index] in kept:
            index_of[index] = len(scopes)
            call = calls.get(scope.path, 0)
            calls[scope.path] = call + 1
            scopes.append(dataclasses.replace(scope, call=call, parent=index_of[scope.parent]))
    return _with_scopes(forward, scopes, index_of)


def _with_scopes(forward: Forward, scopes: Sequence[Scope], index_of: Mapping[int, int]) -> Forward:
    """Return ``forward`` with its module calls renumbered."""
    scope_at = forward.scope_at
    owned = {
        identity: dataclasses.replace(tensor, scope=index_of[tensor.scope])
        for identity, tensor in forward.known.items()
    }
    return dataclasses.replace(
        forward,
        scopes=scopes,
        scope_at=lambda number: index_of[scope_at(number)],
        known=in_scopes(owned, scopes),
        sources=[
            dataclasses.replace(source, scope=index_of[source.scope]) for source in forward.sources
        ],
    )
