"""Find the rows of a graph that the user selected."""

from __future__ import annotations

import difflib
import fnmatch
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

import torch

from tb_gradgraph.autograd.build.build import BuiltGraph
from tb_gradgraph.autograd.torch_internals.tensor_classes import walk_modules
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.graph import Edge, Graph, Node

#: Glob patterns on node and tensor names, a predicate, or tensors and modules themselves.
Part = str | torch.Tensor | torch.nn.Module
Selector = Part | Callable[[Node], bool] | Sequence[Part]
LEVELS = ("param", "module", "op")
_NAMED = 6  # how many names of nodes a warning gives


def selected_rows(
    built: BuiltGraph,
    model: torch.nn.Module | None,
    select: Selector,
    exclude: Selector,
    level: str,
    where: str,
) -> frozenset[int] | None:
    """Return the rows to read, ``None`` for all.

    Raises:
        CaptureError: The kind of ``level``, or of a selector, is unknown.
    """
    if level not in LEVELS:
        raise CaptureError(f"{where}: expected level to be one of {LEVELS}, got {level!r}.")
    excludes = _parts(exclude, where) != []
    if isinstance(select, str) and select == "*" and not excludes and level == "op":
        return None
    rows = matching_rows(built, model, select, where)
    if excludes:
        rows -= matching_rows(built, model, exclude, where)
    return frozenset(_at_level(built.graph, rows, level))


def check_selector(selector: Selector, where: str) -> None:
    """Raise CaptureError if a selector, or a part of one, is of an unknown kind."""
    for part in _parts(selector, where) or []:
        if not isinstance(part, (str, torch.Tensor, torch.nn.Module)):
            raise _unknown(part, where)


def warn_of_nothing(built: BuiltGraph, rows: frozenset[int] | None, level: str, where: str) -> None:
    """Warn if no gradient at all will be read, with names that could be selected."""
    if rows is None or rows:
        return
    readable = _at_level(built.graph, set(range(built.graph.slot_count)), level)
    offsets = built.graph.slot_offsets.tolist()
    names = [
        node.name
        for node, row in zip(built.graph.nodes, offsets)
        if row in readable and node.requires_grad and node.kind != "root"
    ]
    more = ", .." if len(names) > _NAMED else ""
    _warn(
        f"{where}: select, exclude and level={level!r} leave nothing of this graph, so no gradient is "
        f"read. Names at this level: {', '.join(names[:_NAMED])}{more}."
    )


def matching_rows(
    built: BuiltGraph, model: torch.nn.Module | None, selector: Selector, where: str
) -> set[int]:
    """Return the rows of nodes, and of the edges from their slots, that ``selector`` matches."""
    if _parts(selector, where) == []:
        return set()
    graph = built.graph
    offsets = graph.slot_offsets.tolist()
    matches = _predicate(built, model, selector, where)
    nodes = {index for index, node in enumerate(graph.nodes) if matches(index, node)}
    rows = {row for index in nodes for row in range(offsets[index], offsets[index + 1])}
    pairs = zip(graph.edges, graph.edge_rows.tolist())
    return rows | {row for edge, row in pairs if edge.source in nodes and row >= graph.slot_count}


def _parts(selector: Selector, where: str) -> list[object] | None:
    """Return the parts of a selector; ``None`` if it is a function of a node."""
    if isinstance(selector, (str, torch.Tensor, torch.nn.Module)):
        return [selector]
    if callable(selector):
        return None
    if not isinstance(selector, Iterable):
        raise _unknown(selector, where)
    return list(selector)


def _unknown(part: object, where: str) -> CaptureError:
    return CaptureError(
        f"{where}: expected a selector to be a glob pattern, a function of a node, or a list "
        f"of patterns, tensors and modules, got {type(part).__name__}."
    )


def _predicate(
    built: BuiltGraph, model: torch.nn.Module | None, selector: Selector, where: str
) -> Callable[[int, Node], bool]:
    parts = _parts(selector, where)
    if parts is None:
        chosen = cast("Callable[[Node], bool]", selector)
        return lambda _index, node: bool(chosen(node))
    patterns = [part for part in parts if isinstance(part, str)]
    if "*" in patterns:
        return lambda _index, _node: True
    _warn_of_unmatched(built.graph, patterns, where)
    indices: set[int] = set()
    for part in parts:
        found = set(_indices(built, model, part, where))
        if not found and not isinstance(part, str):
            _warn(f"{where}: the selected {_kind(part)} has no gradient in this graph.")
        indices |= found
    return lambda index, node: index in indices or _matches(node, patterns)


def _matches(node: Node, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in _names(node))


def _names(node: Node) -> list[str]:
    return [node.name, *node.aliases, *(slot.name for slot in node.slots if slot.name)]


def _warn_of_unmatched(graph: Graph, patterns: Sequence[str], where: str) -> None:
    for pattern in patterns:
        if not any(_matches(node, [pattern]) for node in graph.nodes):
            names = {name for node in graph.nodes for name in _names(node)}
            close = difflib.get_close_matches(pattern.strip("*"), sorted(names), n=3, cutoff=0.4)
            hint = f" Close names: {', '.join(close)}." if close else ""
            _warn(
                f"{where}: the pattern {pattern!r} matches no node or tensor of this graph.{hint}"
            )


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=3)


def _kind(part: object) -> str:
    if isinstance(part, torch.nn.Module):
        return f"module {type(part).__name__}"
    return f"tensor of shape {list(part.shape)}" if isinstance(part, torch.Tensor) else "part"


def _indices(
    built: BuiltGraph, model: torch.nn.Module | None, part: object, where: str
) -> Iterator[int]:
    """Yield the indices of the nodes that belong to a selected tensor or module."""
    if isinstance(part, torch.nn.Module):
        yield from _inside(built.graph, model, part)
        owned = set(map(id, part.parameters()))  # even if no call of it was seen
        yield from (index for index, leaf in built.leaves if id(leaf) in owned)
    elif isinstance(part, torch.Tensor):
        made_by = part.grad_fn
        if made_by is not None and made_by in built.node_of:
            yield built.node_of[made_by]
        yield from (index for index, leaf in built.leaves if leaf is part)
    elif not isinstance(part, str):
        raise _unknown(part, where)


def _inside(graph: Graph, model: torch.nn.Module | None, part: torch.nn.Module) -> Iterator[int]:
    named = walk_modules(model) if model is not None else ()
    paths = list(dict.fromkeys(name for name, module in named if module is part))
    for index, node in enumerate(graph.nodes):
        path = graph.scopes[node.scope].path if node.scope >= 0 else None
        if path is not None and any(path == p or path.startswith(f"{p}.") or not p for p in paths):
            yield index


def _at_level(graph: Graph, rows: set[int], level: str) -> set[int]:
    """Keep the rows of leaves and roots, and at ``"module"`` also those of module outputs."""
    if level == "op":
        return rows
    offsets = graph.slot_offsets.tolist()
    kept = {
        offsets[index]
        for index, node in enumerate(graph.nodes)
        if node.kind in ("parameter", "leaf", "root")
    }
    if level == "module":
        kept |= {
            offsets[edge.source] + edge.source_slot
            for edge in graph.edges
            if _leaves_scope(graph, edge)
        }
    return rows & kept


def _leaves_scope(graph: Graph, edge: Edge) -> bool:
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    return source.kind == "operation" and source.scope != target.scope
