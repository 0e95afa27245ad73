"""Bytes to values: every length, version and reference is checked before it is used."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import (
    NO_GRADIENT_REASONS,
    NO_SCOPE,
    NODE_KINDS,
    Edge,
    Graph,
    Node,
    Scope,
    Slot,
)
from tb_gradgraph.record import gradgraph_pb2 as pb
from tb_gradgraph.record import limits
from tb_gradgraph.record.envelope import unseal
from tb_gradgraph.record.segment import Segment, decode_segment


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """What a session says of itself."""

    session: str
    writer_version: str
    torch_version: str
    start_time: float  # seconds since the epoch


@dataclasses.dataclass(frozen=True, slots=True)
class Chunk:
    """Records that were written together."""

    segments: tuple[Segment, ...]
    stride: int  # every stride-th recorded step was kept


def decode_manifest(strings: Sequence[bytes]) -> Manifest:
    """Read the manifest of a session; FormatError if it is none."""
    message = unseal(strings, pb.Manifest)
    texts = (message.session, message.writer_version, message.torch_version)
    if any(len(text) > limits.MAX_TAG_BYTES for text in texts):
        raise FormatError(f"manifest: expected texts of at most {limits.MAX_TAG_BYTES} bytes.")
    return Manifest(*texts, message.start_time)


def decode_chunk(strings: Sequence[bytes]) -> Chunk:
    """Read the index of a chunk; FormatError if it is none."""
    message = unseal(strings, pb.StatisticsChunk)
    if len(message.segments) > limits.MAX_SEGMENTS:
        most = limits.MAX_SEGMENTS
        raise FormatError(f"chunk: expected at most {most} segments, got {len(message.segments)}.")
    return Chunk(tuple(map(decode_segment, message.segments)), max(1, message.stride))


def decode_graph(strings: Sequence[bytes], graph_hash: str) -> Graph:
    """Read a graph; FormatError if it is none, or another than ``graph_hash``."""
    message = unseal(strings, pb.GraphRecord)
    if message.hash != graph_hash:
        raise FormatError(f"graph: expected hash {graph_hash}, got {message.hash[:40]!r}.")
    _check_lengths(message)
    texts = _Texts(message.strings)
    scopes = tuple(
        Scope(path, call, module, parent)
        for path, call, module, parent in zip(
            texts.read(message.scope_path),
            message.scope_call,
            texts.read(message.scope_module),
            message.scope_parent,
        )
    )
    nodes = _decode_nodes(message, texts)
    edges = tuple(
        itertools.starmap(
            Edge,
            zip(
                message.edge_source,
                message.edge_source_slot,
                message.edge_target,
                message.edge_target_input,
            ),
        )
    )
    _check_references(nodes, edges, scopes)
    return Graph(nodes, edges, scopes)


class _Texts:
    """The string table, checked."""

    def __init__(self, strings: Sequence[str]) -> None:
        if len(strings) > limits.MAX_STRINGS:
            raise FormatError(f"graph: expected at most {limits.MAX_STRINGS} texts.")
        if any(len(text) > limits.MAX_TEXT_BYTES for text in strings):
            raise FormatError(f"graph: expected texts of at most {limits.MAX_TEXT_BYTES} bytes.")
        self._strings = list(strings)

    def read(self, indices: Iterable[int]) -> list[str]:
        """Give the texts at ``indices``."""
        try:
            return [self._strings[index] for index in indices]
        except IndexError:
            raise FormatError("graph: expected texts in the string table, got others.") from None


def _check_lengths(message: pb.GraphRecord) -> None:
    tables = {
        "scope": ("path", "call", "module", "parent"),
        "node": (
            *("key", "name", "kind", "operation", "scope", "is_leaf", "source", "order"),
            *("note", "alias_count", "slot_count"),
        ),
        "slot": ("name", "dtype", "rank", "requires_grad", "retains_grad"),
        "edge": ("source", "source_slot", "target", "target_input"),
    }
    for table, columns in tables.items():
        lengths = {len(getattr(message, f"{table}_{column}")) for column in columns}
        if len(lengths) != 1 or max(lengths) > limits.MAX_ROWS:
            raise FormatError(f"graph: expected {table} columns of one length, got {lengths}.")
    if len(message.node_reason) not in (0, len(message.node_key)):
        raise FormatError("graph: expected a reason a node or none, got others.")
    for what, counts, total in (
        ("aliases", message.node_alias_count, len(message.node_alias)),
        ("slots", message.node_slot_count, len(message.slot_name)),
        ("sizes", message.slot_rank, len(message.slot_size)),
    ):
        if sum(counts) != total:
            raise FormatError(f"graph: expected {sum(counts)} {what}, got {total}.")
    if max(message.slot_rank, default=0) > limits.MAX_RANK:
        raise FormatError(f"graph: expected ranks of at most {limits.MAX_RANK}.")


def _decode_slots(message: pb.GraphRecord, texts: _Texts) -> list[Slot]:
    sizes = iter(message.slot_size)
    shapes = [tuple(itertools.islice(sizes, rank)) for rank in message.slot_rank]
    return list(
        itertools.starmap(
            Slot,
            zip(
                texts.read(message.slot_name),
                shapes,
                texts.read(message.slot_dtype),
                message.slot_requires_grad,
                message.slot_retains_grad,
            ),
        )
    )


def _decode_nodes(message: pb.GraphRecord, texts: _Texts) -> tuple[Node, ...]:
    slots = iter(_decode_slots(message, texts))
    aliases = iter(texts.read(message.node_alias))
    return tuple(
        itertools.starmap(
            Node,
            zip(
                texts.read(message.node_key),
                texts.read(message.node_name),
                texts.read(message.node_kind),
                texts.read(message.node_operation),
                message.node_scope,
                [tuple(itertools.islice(slots, count)) for count in message.node_slot_count],
                message.node_is_leaf,
                texts.read(message.node_source),
                message.node_order,
                [tuple(itertools.islice(aliases, count)) for count in message.node_alias_count],
                texts.read(message.node_note),
                _read_reasons(message, texts),
            ),
        )
    )


def _read_reasons(message: pb.GraphRecord, texts: _Texts) -> list[str]:
    """Give the code of each node, "" for those that a newer writer made up."""
    codes = texts.read(message.node_reason) or [""] * len(message.node_key)
    return [code if code in NO_GRADIENT_REASONS else "" for code in codes]


def _check_references(
    nodes: Sequence[Node], edges: Sequence[Edge], scopes: Sequence[Scope]
) -> None:
    for node in nodes:
        if node.kind not in NODE_KINDS:
            raise FormatError(f"graph: expected a known kind of node, got {node.kind[:40]!r}.")
        if not NO_SCOPE <= node.scope < len(scopes):
            raise FormatError(f"graph: expected a scope below {len(scopes)}, got {node.scope}.")
    for index, scope in enumerate(scopes):
        if not NO_SCOPE <= scope.parent < index:
            raise FormatError(f"graph: expected a parent before scope {index}, got {scope.parent}.")
    for edge in edges:
        if edge.source >= len(nodes) or edge.target >= len(nodes):
            raise FormatError(f"graph: expected edges between {len(nodes)} nodes, got {edge}.")
        if edge.source_slot >= len(nodes[edge.source].slots):
            raise FormatError(f"graph: expected an existing slot, got {edge}.")
