"""One test for each way in which a record can be malformed: always a FormatError with a sentence."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import pytest
from google.protobuf.message import Message

from tb_gradgraph.errors import FormatError, NewerFormatError
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.decode import decode_chunk, decode_graph, decode_manifest
from tb_gradgraph.record.format.encode import encode_chunk, encode_graph
from tb_gradgraph.record.format.envelope import seal
from tests.record.samples import make_graph, make_record

Change = Callable[[Message], object]


def made_chunk(change: Change = lambda chunk: None) -> tuple[bytes, bytes]:
    gradients = {0: np.ones((3, 2))}
    records = [make_record(make_graph(), step, gradients=gradients) for step in range(2)]
    chunk = encode_chunk(records)
    change(chunk.segments[0])
    return seal(chunk)


def read_chunk(strings: tuple[bytes, bytes]) -> None:
    for segment in decode_chunk(strings).segments:
        segment.tables()
        segment.whole()


def with_header(**fields: object) -> tuple[bytes, bytes]:
    header, payload = made_chunk()
    message = pb.Header.FromString(header)
    for name, value in fields.items():
        setattr(message, name, value)
    return message.SerializeToString(), payload


def test_newer_version_is_told_apart():
    with pytest.raises(NewerFormatError, match="expected format version 1, got 7. Upgrade"):
        read_chunk(with_header(format_version=7, kind=99, payload_bytes=3))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"format_version": 0}, "at least 1, got 0"),
        ({"kind": 0}, "expected a StatisticsChunk, got kind 0"),
        ({"kind": pb.KIND_GRAPH}, "expected a StatisticsChunk, got kind 2"),
        ({"payload_bytes": 5}, "expected 5 bytes, got .* cut off"),
        ({"payload_crc32": 5}, "expected the header's checksum"),
        ({"uncompressed_bytes": 9}, "expected a zlib stream"),
        ({"uncompressed_bytes": 2**40}, "at most 67108864 bytes uncompressed, got 1099511627776"),
    ],
)
def test_header_is_checked(fields: dict[str, object], sentence: str):
    with pytest.raises(FormatError, match=sentence):
        read_chunk(with_header(**fields))


def test_every_flipped_bit_is_noticed():
    header, payload = made_chunk()
    for at in range(0, len(payload), 7):
        flipped = bytearray(payload)
        flipped[at] ^= 1 << at % 8
        with pytest.raises(FormatError, match="Bytes changed"):
            read_chunk((header, bytes(flipped)))


@pytest.mark.parametrize("size", [0, 1, 100])
def test_cut_off_payload_is_noticed(size: int):
    header, payload = made_chunk()
    with pytest.raises(FormatError, match="cut off"):
        read_chunk((header, payload[:size]))


@pytest.mark.parametrize(
    "strings",
    [
        (),
        (b"",),
        (b"", b"", b""),
        (b"\xff\xff", b""),
        (b"a" * 300, b""),
        ("text", b""),
        (b"", b"x"),
    ],
)
def test_other_strings_are_refused(strings: tuple):
    with pytest.raises(FormatError, match="expected"):
        read_chunk(strings)


def test_payload_that_is_no_protobuf_is_refused():
    payload = b"\xff\xff\xff"
    header = pb.Header(format_version=1, kind=3, payload_bytes=3, payload_crc32=zlib.crc32(payload))
    with pytest.raises(FormatError, match="StatisticsChunk: expected a protobuf"):
        read_chunk((header.SerializeToString(), payload))


def bomb(segment: pb.Segment) -> None:
    segment.columns[0].data = zlib.compress(bytes(10**7))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: s.wall_time.append(0), "2 entries in every column"),
        (lambda s: s.backward_pass.pop(), "2 entries in every column"),
        (lambda s: s.present_rows.pop(), "2 entries in every column"),
        (lambda s: s.step.append(1), "3 entries in every column"),
        (lambda s: s.objective.__setitem__(0, 99), "texts in the string table"),
        (lambda s: s.stage.__setitem__(0, 99), "texts in the string table"),
        (lambda s: s.strings.append("a" * 70_000), "at most 65536 characters of text"),
        (lambda s: setattr(s, "tag", "a" * 2000), "at most 1024 bytes of tag, got 2000"),
        (lambda s: setattr(s, "graph_hash", "a" * 17), "at most 16 bytes of graph hash"),
        (lambda s: setattr(s, "rows", 2**25), "at most 1000000 rows"),
        (lambda s: setattr(s, "rows", 10**6), "zlib stream"),
        (lambda s: setattr(s, "rows", 7), "another length"),
        (lambda s: setattr(s, "present", b""), "another length"),
        (lambda s: setattr(s, "present", b"no zlib"), "got a broken one"),
        (lambda s: setattr(s, "present", s.present + b"more"), "another length"),
        (lambda s: setattr(s, "present", s.present[:-2]), "another length"),
        (lambda s: setattr(s, "only_present", False), "another length"),
        (lambda s: s.loss_scale.append(2.0), "2 entries or none"),
        (lambda s: s.cost.extend([0.5] * 3), "2 entries or none"),
        (lambda s: s.unread_record.append(0), "records, rows and reasons of it"),
        (lambda s: _add_unread(s, 2, 0, 0), "records, rows and reasons of it"),
        (lambda s: _add_unread(s, 0, s.rows, 0), "records, rows and reasons of it"),
        (lambda s: _add_unread(s, 0, 0, 10**6), "records, rows and reasons of it"),
        (lambda s: s.quantity_record.append(0), "records and names of quantities"),
        (lambda s: s.quantity_value.append(0.5), "records and names of quantities"),
        (lambda s: _add_quantity(s, 2, 0), "records and names of quantities"),
        (lambda s: _add_quantity(s, 0, 10**6), "records and names of quantities"),
        (lambda s: _add_named(s, ""), "printable name of a quantity, .* got ''"),
        (lambda s: _add_named(s, "a,b"), "printable name of a quantity, .* got 'a,b'"),
        (lambda s: _add_named(s, "a\x00b"), "printable name of a quantity"),
        (lambda s: _add_named(s, "a" * 1025), "of at most 1024 bytes, got 'aaa"),
        (lambda s: s.missing_reason.append(0), "names and reasons of missing quantities"),
        (lambda s: _add_missing(s, 2, 0, 0), "names and reasons of missing quantities"),
        (lambda s: _add_missing(s, 0, 10**6, 0), "names and reasons of missing quantities"),
        (lambda s: _add_missing(s, 0, 0, 10**6), "names and reasons of missing quantities"),
        (bomb, "column 'l2_norm': expected a zlib stream of 64 bytes, got another length"),
        (lambda s: setattr(s.columns[0], "type", 0), "known element type, got 0"),
        (lambda s: setattr(s.columns[0], "type", 77), "known element type, got 77"),
        (lambda s: setattr(s.columns[0], "type", pb.COMPLEX64), "another length"),
        (lambda s: setattr(s.columns[0], "type", pb.FLOAT64), "another length"),
        (lambda s: setattr(s.columns[0], "width", 3), "expected a width of 1, got 3"),
        (lambda s: setattr(s.columns[-1], "width", 3), "expected a width of 32, got 3"),
        (lambda s: setattr(s.columns[-1], "type", pb.INT64), "another length"),
        (lambda s: s.whole.record.__setitem__(0, 2), "expected a record below 2"),
        (lambda s: s.whole.row.__setitem__(0, 99), "a row below 9"),
        (lambda s: s.whole.row.pop(), "columns of one length"),
        (lambda s: s.whole.rank.__setitem__(0, 1), "columns of one length"),
        (lambda s: s.whole.size.__setitem__(0, 2**62), "expected a tensor that fits"),
        (lambda s: s.whole.size.__setitem__(0, 4), "bytes of all shapes, got fewer"),
        (lambda s: s.whole.size.__setitem__(0, 2), "bytes of all shapes, got more"),
        (lambda s: s.whole.type.__setitem__(0, 42), "known element type, got 42"),
        (lambda s: setattr(s.whole, "uncompressed_bytes", 2**50), "at most 536870912"),
        (lambda s: setattr(s.whole, "uncompressed_bytes", 1), "another length"),
        (lambda s: setattr(s.whole, "data", b"x"), "expected a zlib stream"),
    ],
)
def test_segment_is_checked(change: Change, sentence: str):
    with pytest.raises(FormatError, match=sentence):
        read_chunk(made_chunk(change))


def _add_unread(segment: pb.Segment, record: int, row: int, reason: int) -> None:
    segment.unread_record.append(record)
    segment.unread_row.append(row)
    segment.unread_reason.append(reason)


def _add_quantity(segment: pb.Segment, record: int, name: int) -> None:
    segment.quantity_record.append(record)
    segment.quantity_name.append(name)
    segment.quantity_value.append(0.5)


def _add_named(segment: pb.Segment, name: str) -> None:
    segment.strings.append(name)
    _add_quantity(segment, 0, len(segment.strings) - 1)


def _add_missing(segment: pb.Segment, record: int, name: int, reason: int) -> None:
    segment.missing_record.append(record)
    segment.missing_name.append(name)
    segment.missing_reason.append(reason)


def test_too_many_quantities_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "MAX_QUANTITIES", 3)

    def add(segment: pb.Segment) -> None:
        for _ in range(4):
            _add_quantity(segment, 0, 0)

    with pytest.raises(FormatError, match="chunk: expected at most 3 quantities, got 4"):
        read_chunk(made_chunk(add))


def test_column_of_complex_numbers_is_refused():
    def change(segment: pb.Segment) -> None:
        segment.columns[0].type = pb.COMPLEX64
        segment.columns[0].data = zlib.compress(bytes(8 * 16))

    with pytest.raises(FormatError, match="expected real numbers, got complex64"):
        read_chunk(made_chunk(change))


def test_too_many_segments_are_refused():
    chunk = pb.StatisticsChunk(segments=[pb.Segment()] * 5000)
    with pytest.raises(FormatError, match="at most 4096 segments, got 5000"):
        read_chunk(seal(chunk))


def made_graph(change: Change) -> tuple[bytes, bytes]:
    message = encode_graph(make_graph())
    change(message)
    return seal(message)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda g: setattr(g, "hash", "x"), "expected hash [0-9a-f]{16}, got 'x'"),
        (lambda g: g.scope_call.pop(), "expected scope columns of one length"),
        (lambda g: g.node_order.pop(), "expected node columns of one length"),
        (lambda g: g.node_reason.append(0), "expected reason of each node or none"),
        (lambda g: g.node_kind.append(0), "expected node columns of one length"),
        (lambda g: g.slot_rank.pop(), "expected slot columns of one length"),
        (lambda g: g.edge_target.pop(), "expected edge columns of one length"),
        (lambda g: g.node_alias.append(0), "expected 1 aliases, got 2"),
        (lambda g: g.node_slot_count.__setitem__(0, 9), "slots, got 7"),
        (lambda g: g.slot_size.pop(), "sizes, got"),
        (lambda g: g.slot_rank.__setitem__(0, 2**31), "sizes, got"),
        (lambda g: g.node_name.__setitem__(0, 9999), "texts in the string table"),
        (lambda g: g.node_alias.__setitem__(0, 9999), "texts in the string table"),
        (lambda g: g.strings.append("a" * 70_000), "texts of at most 65536 bytes"),
        (lambda g: g.node_kind.__setitem__(0, g.node_key[0]), "a known kind of node"),
        (lambda g: g.node_scope.__setitem__(0, 2), "a scope below 2, got 2"),
        (lambda g: g.node_scope.__setitem__(0, -2), "a scope below 2, got -2"),
        (lambda g: g.scope_parent.__setitem__(0, 0), "a parent before scope 0, got 0"),
        (lambda g: g.edge_source.__setitem__(0, 6), "edges between 6 nodes"),
        (lambda g: g.edge_target.__setitem__(0, 2**31), "edges between 6 nodes"),
        (lambda g: g.edge_source_slot.__setitem__(0, 1), "an existing slot"),
    ],
)
def test_graph_is_checked(change: Change, sentence: str):
    with pytest.raises(FormatError, match=sentence):
        decode_graph(made_graph(change), make_graph().hash)


def test_rank_above_the_limit_is_refused():
    def change(graph: pb.GraphRecord) -> None:
        graph.slot_size.extend([1] * (100 - graph.slot_rank[0]))
        graph.slot_rank[0] = 100

    with pytest.raises(FormatError, match="ranks of at most 64"):
        decode_graph(made_graph(change), make_graph().hash)


def test_manifest_is_checked():
    with pytest.raises(FormatError, match="texts of at most 1024 bytes"):
        decode_manifest(seal(pb.Manifest(torch_version="a" * 2000)))
