"""Convert graphs and records to messages; :mod:`tb_gradgraph.record.format.decode` does the reverse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import FACTS, Graph, Node, Record
from tb_gradgraph.quantities import is_name
from tb_gradgraph.record.entries.fact_entries import write_facts
from tb_gradgraph.record.entries.own_entries import write_own
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.columns import (
    compress,
    encode_column,
    narrowest_count,
    narrowest_float,
)
from tb_gradgraph.record.format.whole_tensors import encode_whole
from tb_gradgraph.statistics import COUNTS, FORWARD, HISTOGRAM_BINS, STATISTICS
from tb_gradgraph.training_facts import TrainingFacts

HISTOGRAM = "histogram"

_MAX_UINT32 = 2**32 - 1


class _StringTable:
    """Stores every text once. Columns hold its index."""

    def __init__(self) -> None:
        self._indices: dict[str, int] = {}

    def index(self, text: str) -> int:
        """Return the index of ``text``, which is cut to the limit that readers accept."""
        if not text.isascii() or len(text) > limits.MAX_TEXT_BYTES:
            text = shorten(text, limits.MAX_TEXT_BYTES)
        return self._indices.setdefault(text, len(self._indices))

    def indices(self, texts: Iterable[str]) -> list[int]:
        """Return the indices of several texts."""
        return [self.index(text) for text in texts]

    @property
    def strings(self) -> list[str]:
        """All texts in the order of their indices."""
        return list(self._indices)


def shorten(text: str, size: int) -> str:
    """Cut a text to at most ``size`` bytes of UTF-8, between characters; lone surrogates become ``?``."""
    return text.encode(errors="replace")[:size].decode(errors="ignore")


def encode_graph(graph: Graph) -> pb.GraphRecord:
    """Store the structure of a graph."""
    table = _StringTable()
    message = pb.GraphRecord(
        hash=graph.hash,
        scope_path=table.indices(scope.path for scope in graph.scopes),
        scope_call=[scope.call for scope in graph.scopes],
        scope_module=table.indices(scope.module for scope in graph.scopes),
        scope_parent=[scope.parent for scope in graph.scopes],
        edge_source=[edge.source for edge in graph.edges],
        edge_source_slot=[edge.source_slot for edge in graph.edges],
        edge_target=[edge.target for edge in graph.edges],
        edge_target_input=[edge.target_input for edge in graph.edges],
    )
    _encode_nodes(message, graph.nodes, table)
    _encode_slots(message, graph.nodes, table)
    message.strings.extend(table.strings)
    return message


def _encode_nodes(message: pb.GraphRecord, nodes: Sequence[Node], table: _StringTable) -> None:
    message.node_key.extend(table.indices(node.key for node in nodes))
    message.node_name.extend(table.indices(node.name for node in nodes))
    message.node_kind.extend(table.indices(node.kind for node in nodes))
    message.node_operation.extend(table.indices(node.operation for node in nodes))
    message.node_scope.extend(node.scope for node in nodes)
    message.node_is_leaf.extend(node.is_leaf for node in nodes)
    message.node_source.extend(table.indices(node.source for node in nodes))
    message.node_order.extend(node.order for node in nodes)
    message.node_note.extend(table.indices(node.note for node in nodes))
    message.node_alias_count.extend(len(node.aliases) for node in nodes)
    message.node_alias.extend(table.indices(alias for node in nodes for alias in node.aliases))
    message.node_slot_count.extend(len(node.slots) for node in nodes)
    if any(node.reason for node in nodes):
        message.node_reason.extend(table.indices(node.reason for node in nodes))
    if any(node.inside for node in nodes):
        message.node_inside.extend(table.indices(node.inside for node in nodes))


def _encode_slots(message: pb.GraphRecord, nodes: Sequence[Node], table: _StringTable) -> None:
    slots = [slot for node in nodes for slot in node.slots]
    message.slot_name.extend(table.indices(slot.name for slot in slots))
    message.slot_dtype.extend(table.indices(slot.dtype for slot in slots))
    message.slot_rank.extend(len(slot.shape) for slot in slots)
    message.slot_size.extend(size for slot in slots for size in slot.shape)
    message.slot_requires_grad.extend(slot.requires_grad for slot in slots)
    message.slot_retains_grad.extend(slot.retains_grad for slot in slots)
    if any(slot.placement for slot in slots):
        message.slot_placement.extend(table.indices(slot.placement for slot in slots))


def encode_chunk(records: Sequence[Record], stride: int = 1) -> pb.StatisticsChunk:
    """Store records. Records of one tag and graph share a segment, in the order given."""
    groups: dict[tuple[str, str, int, bool], list[Record]] = {}
    for record in records:
        place = (record.tag, record.graph_hash, len(record.table.present))
        groups.setdefault((*place, record.stage == FORWARD), []).append(record)
    chunk = pb.StatisticsChunk(stride=stride)
    for (*_, is_forward), group in groups.items():
        segments = chunk.forward_segments if is_forward else chunk.segments
        segments.append(encode_segment(group))
    return chunk


def encode_facts(chunk: pb.StatisticsChunk, facts: Sequence[TrainingFacts]) -> None:
    """Store in a chunk what is known of trainings."""
    write_facts(chunk, facts, lambda text: shorten(text, limits.MAX_TAG_BYTES))


def encode_segment(records: Sequence[Record]) -> pb.Segment:
    """Store records of one tag, graph and number of rows."""
    table = _StringTable()
    present = np.stack([record.table.present for record in records])
    segment = pb.Segment(
        tag=shorten(records[0].tag, limits.MAX_TAG_BYTES),
        graph_hash=records[0].graph_hash,
        rows=present.shape[1],
        step=[record.step for record in records],
        wall_time=[record.wall_time for record in records],
        backward_pass=[record.backward_pass for record in records],
        present_rows=present.sum(axis=1).tolist(),
        present=compress(np.packbits(present, bitorder="little").tobytes()),
        columns=_encode_statistics(records),
        only_present=True,
        whole=encode_whole([r.gradients for r in records], [r.values for r in records]),
    )
    _encode_facts(segment, records, table)
    _encode_unread(segment, records, table)
    _encode_quantities(segment, records, table)
    write_own(segment, records, table.index)
    segment.strings.extend(table.strings)
    return segment


def _encode_unread(segment: pb.Segment, records: Sequence[Record], table: _StringTable) -> None:
    for number, record in enumerate(records):
        for row, reason in record.unread.items():
            segment.unread_record.append(number)
            segment.unread_row.append(row)
            segment.unread_reason.append(table.index(reason))


def _encode_quantities(segment: pb.Segment, records: Sequence[Record], table: _StringTable) -> None:
    for number, record in enumerate(records):
        for name, value in record.quantities.items():
            segment.quantity_record.append(number)
            segment.quantity_name.append(table.index(_checked(name)))
            segment.quantity_value.append(value)
        for name, reason in record.quantity_reasons.items():
            segment.missing_record.append(number)
            segment.missing_name.append(table.index(_checked(name)))
            segment.missing_reason.append(table.index(reason))


def _checked(name: str) -> str:
    if not is_name(name) or len(name.encode()) > limits.MAX_QUANTITY_NAME_BYTES:
        raise FormatError(f"expected a printable name of a quantity, got {name[:80]!r}.")
    return name


def _encode_facts(segment: pb.Segment, records: Sequence[Record], table: _StringTable) -> None:
    """Store the facts of records; most of them only if a record has a value other than the default."""
    for fact in FACTS:
        told = [getattr(record, fact.name) for record in records]
        told = [min(value, _MAX_UINT32) if isinstance(value, int) else value for value in told]
        if fact.is_always_stored or any(value != fact.default for value in told):
            getattr(segment, fact.name).extend(table.indices(told) if fact.is_text else told)


def _encode_statistics(records: Sequence[Record]) -> list[pb.Column]:
    """Store the rows with a gradient, record by record. A column without numbers is left out."""
    tables = [record.table for record in records]
    values = np.concatenate([table.values[table.present] for table in tables])
    columns = []
    for name, column in zip(STATISTICS, np.ascontiguousarray(values.T)):
        if not np.isnan(column).all():
            narrow = narrowest_count(column) if name in COUNTS else narrowest_float(column)
            columns.append(encode_column(name, narrow))
    histogram = np.concatenate([table.histogram[table.present] for table in tables])
    if histogram.any():
        columns.append(encode_column(HISTOGRAM, histogram.astype("<u2"), HISTOGRAM_BINS))
    return columns
