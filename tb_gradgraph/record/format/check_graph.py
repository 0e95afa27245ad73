"""Check lengths and references of a stored graph, column by column, before a graph is made from it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import NO_SCOPE, NODE_KINDS
from tb_gradgraph.record.entries.used_texts import count_letters
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits

_TABLES = {
    "scope": ("path", "call", "module", "parent"),
    "node": (
        *("key", "name", "kind", "operation", "scope", "is_leaf", "source", "order"),
        *("note", "alias_count", "slot_count"),
    ),
    "slot": ("name", "dtype", "rank", "requires_grad", "retains_grad"),
    "edge": ("source", "source_slot", "target", "target_input"),
}
_TEXTS = (
    *("scope_path", "scope_module", "node_key", "node_name", "node_kind", "node_operation"),
    *(
        "node_source",
        "node_note",
        "node_reason",
        "node_inside",
        "node_alias",
        "slot_name",
        "slot_dtype",
    ),
    "slot_placement",
)


def check_graph(message: pb.GraphRecord) -> int:
    """Check a graph; return the number of its rows.

    Raises:
        FormatError: If anything does not follow FORMAT.md.
    """
    _check_sizes(message)
    _check_lengths(message)
    _check_texts(message)
    _check_nodes(message)
    return _check_edges(message)


def check_graph_size(message: pb.GraphRecord) -> None:
    """Check only the size of a graph; raise FormatError if it is larger than readers accept."""
    _check_sizes(message)


def _check_sizes(message: pb.GraphRecord) -> None:
    lengths = [
        *(len(getattr(message, f"{table}_{columns[0]}")) for table, columns in _TABLES.items()),
        *(len(message.slot_size), len(message.node_alias), len(message.strings)),
    ]
    texts = (getattr(message, name) for name in _TEXTS)
    for what, got, most in (
        ("entries", sum(lengths), limits.MAX_GRAPH_ENTRIES),
        ("nodes", len(message.node_key), limits.MAX_ROWS),
        ("letters of texts", count_letters(message.strings, texts), limits.MAX_LETTERS),
        ("slots and edges", len(message.slot_name) + len(message.edge_source), limits.MAX_ROWS),
    ):
        if got > most:
            raise FormatError(f"graph: expected at most {most} {what}, got {got}.")


def _check_lengths(message: pb.GraphRecord) -> None:
    for table, columns in _TABLES.items():
        lengths = {len(getattr(message, f"{table}_{column}")) for column in columns}
        if len(lengths) != 1:
            raise FormatError(f"graph: expected {table} columns of one length, got {lengths}.")
    if len(message.slot_placement) not in (0, len(message.slot_name)):
        raise FormatError(
            "graph: expected one placement for each slot or none, got another number."
        )
    for name in ("reason", "inside"):
        if len(getattr(message, f"node_{name}")) not in (0, len(message.node_key)):
            raise FormatError(f"graph: expected {name} of each node or none, got another number.")
    for what, counts, total in (
        ("aliases", message.node_alias_count, len(message.node_alias)),
        ("slots", message.node_slot_count, len(message.slot_name)),
        ("sizes", message.slot_rank, len(message.slot_size)),
    ):
        if sum(counts) != total:
            raise FormatError(f"graph: expected {sum(counts)} {what}, got {total}.")
    if max(message.slot_rank, default=0) > limits.MAX_RANK:
        raise FormatError(f"graph: expected ranks of at most {limits.MAX_RANK}.")


def _check_texts(message: pb.GraphRecord) -> None:
    count = len(message.strings)
    if any(len(text) > limits.MAX_TEXT_BYTES for text in message.strings):
        raise FormatError(f"graph: expected texts of at most {limits.MAX_TEXT_BYTES} bytes.")
    for column in _TEXTS:
        if max(getattr(message, column), default=-1) >= count:
            raise FormatError("graph: expected texts in the string table, got others.")


def _check_nodes(message: pb.GraphRecord) -> None:
    for kind in {message.strings[index] for index in set(message.node_kind)}:
        if kind not in NODE_KINDS:
            raise FormatError(f"graph: expected a known kind of node, got {kind[:40]!r}.")
    scopes = len(message.scope_path)
    least, most = min(message.node_scope, default=0), max(message.node_scope, default=NO_SCOPE)
    if least < NO_SCOPE or most >= scopes:
        got = least if least < NO_SCOPE else most
        raise FormatError(f"graph: expected a scope below {scopes}, got {got}.")
    parents = _numbers(message.scope_parent)
    wrong = np.flatnonzero((parents < NO_SCOPE) | (parents >= np.arange(scopes)))
    if len(wrong):
        at = int(wrong[0])
        raise FormatError(f"graph: expected a parent before scope {at}, got {parents[at]}.")


def _check_edges(message: pb.GraphRecord) -> int:
    nodes = len(message.node_key)
    slots = _numbers(message.node_slot_count)
    source, target = _numbers(message.edge_source), _numbers(message.edge_target)
    source_slot = _numbers(message.edge_source_slot)
    outside = np.flatnonzero((source >= nodes) | (target >= nodes))
    if len(outside):
        pair = int(source[outside[0]]), int(target[outside[0]])
        raise FormatError(f"graph: expected edges between {nodes} nodes, got {pair}.")
    missing = np.flatnonzero(source_slot >= slots[source]) if len(source) else source
    if len(missing):
        pair = int(source[missing[0]]), int(source_slot[missing[0]])
        raise FormatError(f"graph: expected an existing slot, got {pair}.")
    return _count_rows(slots, source, source_slot)


def _count_rows(slots: np.ndarray, source: np.ndarray, source_slot: np.ndarray) -> int:
    """Count the slots, and the edges that have their own row, as ``Graph.row_count`` does."""
    slot_count = int(slots.sum())
    if not len(source):
        return slot_count
    slot_of = (np.cumsum(slots) - slots)[source] + source_slot
    consumers = np.bincount(slot_of, minlength=slot_count)
    return slot_count + int((consumers[slot_of] > 1).sum())


def _numbers(column: Iterable[int]) -> np.ndarray:
    return np.fromiter(column, np.int64)
