"""Whatever bytes a log holds, the reader answers, or refuses them with a sentence of its own."""

from __future__ import annotations

import contextlib
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import Graph
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.decode import (
    count_rows,
    decode_chunk,
    decode_graph,
    decode_manifest,
)
from tb_gradgraph.record.format.encode import encode_chunk, encode_graph
from tb_gradgraph.record.format.envelope import Strings, seal
from tb_gradgraph.serve.plugin import _ROUTES
from tb_gradgraph.serve.request.answer import Answer
from tb_gradgraph.serve.request.parameters import Parameters, RequestError
from tb_gradgraph.serve.runs.reader import DamagedRecordError, Reader
from tests.fuzz.records import FUZZ, chunks, graphs, read_corpus, sealed
from tests.record.samples import make_graph, make_record
from tests.serve.fakes import FakeProvider

HASH = "0123456789abcdef"
GRAPH = make_graph()
CORPUS = read_corpus()


def _read_chunk(strings: Strings) -> None:
    for segment in decode_chunk(strings).segments:
        for table in segment.tables():
            assert table.values.shape[0] == segment.rows
        segment.whole()


def _read_all(strings: Strings) -> None:
    for read in (_read_chunk, decode_manifest, lambda s: decode_graph(s, HASH)):
        with contextlib.suppress(FormatError):
            read(strings)


@pytest.mark.parametrize("name", CORPUS)
def test_what_was_found_once(name: str) -> None:
    _read_all(CORPUS[name])
    _ask_all(CORPUS[name], {"run": "run", "tag": "net", "step": "0", "hash": HASH})


@FUZZ
@given(chunks, st.booleans())
def test_chunks_of_anything(message: pb.StatisticsChunk, is_packed: bool) -> None:
    with contextlib.suppress(FormatError):
        _read_chunk(sealed(message, pb.KIND_STATISTICS, is_packed))


@FUZZ
@given(graphs(), st.booleans())
def test_graphs_of_anything(message: pb.GraphRecord, is_packed: bool) -> None:
    strings = sealed(message, pb.KIND_GRAPH, is_packed)
    try:
        rows = count_rows(strings, HASH)
    except FormatError:
        with pytest.raises(FormatError):
            decode_graph(strings, HASH)
    else:
        graph = decode_graph(strings, HASH)
        assert graph.row_count == rows == len(graph.row_keys)
        again = encode_graph(graph)
        assert decode_graph(seal(again), again.hash) == graph


@FUZZ
@given(st.binary(max_size=60), st.binary(max_size=60))
def test_strings_of_anything(header: bytes, payload: bytes) -> None:
    _read_all((header, payload))


@FUZZ
@given(st.data())
def test_bytes_changed_with_a_right_checksum(data: st.DataObject) -> None:
    message = data.draw(
        st.sampled_from([encode_chunk([make_record(GRAPH, 1)]), encode_graph(GRAPH)])
    )
    content = bytearray(message.SerializeToString())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = bytes(content)[: data.draw(st.integers(0, len(content)))]
    is_chunk = isinstance(message, pb.StatisticsChunk)
    payload = content if is_chunk else zlib.compress(content)
    header = pb.Header(
        format_version=1,
        kind=pb.KIND_STATISTICS if is_chunk else pb.KIND_GRAPH,
        payload_bytes=len(payload),
        payload_crc32=zlib.crc32(payload),
        uncompressed_bytes=0 if is_chunk else len(content),
    )
    _read_all((header.SerializeToString(), payload))


QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "run": st.sampled_from(["run", "", "x"]),
        "tag": st.one_of(st.sampled_from(["net", ""]), st.text(max_size=3)),
        "hash": st.sampled_from([HASH, GRAPH.hash, "", "x"]),
        "step": st.one_of(st.sampled_from(["0", "1", "-1"]), st.text(max_size=4)),
        "backward_pass": st.sampled_from(["0", "1", "x"]),
        "stage": st.sampled_from(["backward", "applied", "x"]),
        "statistic": st.sampled_from(["mean", "nan", "x"]),
        "row": st.one_of(st.sampled_from(["0", "8", "9", "-1"]), st.text(max_size=3)),
        "what": st.sampled_from(["gradient", "value"]),
        "key": st.text(max_size=4),
        "names": st.one_of(st.just("a,b"), st.text(max_size=3)),
        "format": st.sampled_from(["json", "csv", "dot", "x"]),
        "from": st.sampled_from(["0", "1", "99"]),
        "count": st.sampled_from(["0", "1", "99"]),
        "every": st.sampled_from(["0", "1", "2"]),
    },
)


def _ask_all(strings: Strings, query: dict[str, str]) -> None:
    fake = FakeProvider()
    fake.put("run", f"graph/{GRAPH.hash}", seal(encode_graph(GRAPH)))
    fake.put("run", f"graph/{HASH}", strings)
    fake.put("run", "stats/000000", strings)
    fake.put("run", "stats/000001", seal(encode_chunk([make_record(GRAPH, 1)])))
    fake.list_scalars = fake.read_scalars = lambda *args, **options: {}
    reader = Reader(fake)
    for route in _ROUTES.values():
        with contextlib.suppress(RequestError, DamagedRecordError):
            answer: Answer = route(reader, Parameters(query))
            content = answer.content
            assert content if isinstance(content, bytes) else b"".join(content)


@FUZZ
@given(chunks, QUERIES)
def test_routes_over_anything(message: pb.StatisticsChunk, query: dict[str, str]) -> None:
    _ask_all(sealed(message, pb.KIND_STATISTICS, False), query)


@FUZZ
@given(graphs(), QUERIES)
def test_routes_over_any_graph(message: pb.GraphRecord, query: dict[str, str]) -> None:
    _ask_all(sealed(message, pb.KIND_GRAPH, True), query)


@FUZZ
@given(st.integers(0, 4), st.integers(0, 9), st.randoms(use_true_random=False))
def test_what_is_written_is_read(records: int, rows: int, random) -> None:
    graph = Graph(GRAPH.nodes[1:2] * rows, (), ())
    made = [make_record(graph, random.randint(-(2**63), 2**63 - 1)) for _ in range(records)]
    for record in made:
        record.table.present[:] = [random.random() < 0.5 for _ in range(rows)]
        record.table.values[~record.table.present] = np.nan
        record.table.histogram[~record.table.present] = 0
    segments = decode_chunk(seal(encode_chunk(made))).segments
    for segment in segments:
        for record, table in zip(made, segment.tables()):
            assert np.array_equal(table.values, record.table.values, equal_nan=True)
            assert np.array_equal(table.present, record.table.present)
            assert np.array_equal(table.histogram, record.table.histogram)
