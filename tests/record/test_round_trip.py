"""What is encoded comes back the same, bit by bit."""

from __future__ import annotations

import dataclasses
import math
import zlib

import numpy as np
import pytest

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import NO_GRADIENT_REASONS, Graph, Node, Record, Slot
from tb_gradgraph.record.format.decode import decode_chunk, decode_graph
from tb_gradgraph.record.format.encode import encode_chunk, encode_graph
from tb_gradgraph.record.format.envelope import seal
from tb_gradgraph.record.format.segment import Segment
from tb_gradgraph.statistics import OF_PARAMETERS, STATISTICS, StatisticsTable
from tests.record.samples import make_graph, make_record, make_table, with_count

NAN_WITH_PAYLOAD = np.array([0x7FF8DEADBEEF0001], np.uint64).view(np.float64)


def round_trip(*records: Record) -> list[Segment]:
    return list(decode_chunk(seal(encode_chunk(records))).segments)


def assert_tables_equal(got: StatisticsTable, expected: StatisticsTable):
    np.testing.assert_array_equal(got.values, expected.values)
    np.testing.assert_array_equal(got.present, expected.present)
    np.testing.assert_array_equal(got.histogram, expected.histogram)


def test_graph_comes_back():
    graph = make_graph()
    again = decode_graph(seal(encode_graph(graph)), graph.hash)
    assert (again.nodes, again.edges, again.scopes) == (graph.nodes, graph.edges, graph.scopes)
    assert again.hash == graph.hash


def test_empty_graph_comes_back():
    graph = Graph((), (), ())
    assert decode_graph(seal(encode_graph(graph)), graph.hash) == graph


def test_overlong_and_unencodable_texts_are_cut_not_fatal():
    node = Node("k", "\ud800" + "é" * 200_000, "leaf", "", -1, (Slot("", (), "float32"),), True)
    graph = Graph((node,), (), ())
    (again,) = decode_graph(seal(encode_graph(graph)), graph.hash).nodes
    assert again.name.startswith("?é")
    assert len(again.name.encode()) <= 2**16


def test_records_come_back_in_order():
    graph = make_graph()
    records = [make_record(graph, step, objective=f"loss {step % 2}") for step in (3, 4, -1, 2**62)]
    (segment,) = round_trip(*records)
    assert segment.steps == (3, 4, -1, 2**62)
    assert segment.wall_times == tuple(record.wall_time for record in records)
    assert segment.facts["objective"] == ("loss 1", "loss 0", "loss 1", "loss 0")
    assert segment.present_rows == (graph.row_count - 1,) * 4
    for table, record in zip(segment.tables(), records):
        assert_tables_equal(table, record.table)


def test_records_of_other_tags_and_graphs_get_segments_of_their_own():
    graph, other = make_graph(), Graph((), (), ())
    segments = round_trip(
        make_record(graph, 0),
        make_record(graph, 0, tag="b", stage="clipped"),
        make_record(other, 1, table=StatisticsTable.empty(0)),
        make_record(graph, 1, backward_pass=2),
    )
    found = [(part.tag, part.graph_hash, part.steps, part.facts["stage"]) for part in segments]
    assert found == [
        ("net", graph.hash, (0, 1), ("backward", "backward")),
        ("b", graph.hash, (0,), ("clipped",)),
        ("net", other.hash, (1,), ("backward",)),
    ]
    assert segments[0].backward_passes == (0, 2)
    assert segments[2].tables()[0].values.shape == (0, len(STATISTICS))


def test_structure_without_gradients_has_none_present():
    graph = make_graph()
    (segment,) = round_trip(make_record(graph, table=StatisticsTable.empty(graph.row_count)))
    assert segment.present_rows == (0,)
    assert_tables_equal(segment.tables()[0], StatisticsTable.empty(graph.row_count))


@pytest.mark.parametrize("number", [1e300, -1e-300, 1e-40, 3.5e38])
def test_number_beyond_float32_is_kept_in_float64(number: float):
    graph = make_graph()
    table = make_table(graph)
    table.values[0, 0] = number
    (segment,) = round_trip(make_record(graph, table=table))
    assert segment.statistic("l2_norm").dtype == np.float64
    assert segment.statistic("mean").dtype == np.float32
    assert segment.statistic("l2_norm")[0, 0] == number


@pytest.mark.parametrize("count", [0, 1, 2**32 - 1, 2**32, 2**52 + 1])
def test_counts_are_exact(count: int):
    record = with_count(make_record(make_graph()), 0, "numel", count)
    (segment,) = round_trip(record)
    assert segment.statistic("numel")[0, 0] == count
    assert np.isnan(segment.statistic("numel")[0, 1])


def make_step(graph: Graph, step: int, **changes: object) -> Record:
    """Record an optimizer's step: only the one parameter has numbers."""
    table = make_table(graph, step, absent=tuple(range(1, graph.row_count)))
    return make_record(graph, step, stage="applied", table=table, **changes)


def test_what_a_record_says_of_an_optimizer_step_comes_back():
    told = {"loss_scale": 1024.0, "skipped": True, "every_n_steps": 50, "cost": 0.25}
    (segment,) = round_trip(make_step(make_graph(), 0), make_step(make_graph(), 1, **told))
    assert {name: segment.facts[name] for name in told} == {
        "loss_scale": (1.0, 1024.0), "skipped": (False, True),
        "every_n_steps": (0, 50), "cost": (0.0, 0.25),
    }  # fmt: skip


def test_what_could_not_be_read_comes_back():
    unread = [{2: "not read: ValueError", 0: "not read: the backward was compiled"}, {}]
    records = [make_record(make_graph(), step, unread=one) for step, one in enumerate(unread)]
    (segment,) = round_trip(*records)
    assert list(segment.unread) == unread


def test_quantities_come_back_bit_by_bit():
    told = [{"grad_norm": 1 / 3, "lr/0": 1e-320, "note/x": math.inf, "größe": -0.0}, {}]
    why = [{}, {"noise_scale": "one backward pass", "loss/a": ""}]
    records = [
        make_record(make_graph(), step, quantities=numbers, quantity_reasons=reasons)
        for step, (numbers, reasons) in enumerate(zip(told, why))
    ]
    (segment,) = round_trip(*records)
    assert list(segment.quantities) == told
    assert math.copysign(1, segment.quantities[0]["größe"]) == -1
    assert list(segment.quantity_reasons) == why
    nan = make_record(make_graph(), quantities={"loss": math.nan})
    assert math.isnan(round_trip(nan)[0].quantities[0]["loss"])


@pytest.mark.parametrize("name", ["", "a,b", "line\nend", "x" * 1025])
def test_a_quantity_of_another_name_is_not_written(name: str):
    with pytest.raises(FormatError, match="printable name of a quantity"):
        encode_chunk([make_record(make_graph(), quantities={name: 1.0})])


def test_rows_without_gradient_are_not_stored():
    graph = make_graph()
    one, every = make_step(graph, 0), make_record(graph, 0, table=make_table(graph, absent=()))
    (segment,) = encode_chunk([one]).segments
    (full,) = encode_chunk([every]).segments
    sizes = zip(segment.columns, full.columns)
    lengths = {len(zlib.decompress(b.data)) / len(zlib.decompress(a.data)) for a, b in sizes}
    assert lengths == {graph.row_count}
    for table, record in zip(round_trip(one, every)[0].tables(), (one, every)):
        assert_tables_equal(table, record.table)


def test_statistic_without_a_number_takes_no_room():
    record = make_record(make_graph())
    record.table.values[:, [STATISTICS.index(name) for name in OF_PARAMETERS]] = np.nan
    record.table.histogram[:] = 0
    chunk = encode_chunk([record])
    assert {column.name for column in chunk.segments[0].columns} == {*STATISTICS} - {*OF_PARAMETERS}
    (segment,) = decode_chunk(seal(chunk)).segments
    assert_tables_equal(segment.tables()[0], record.table)


@pytest.mark.parametrize("reason", NO_GRADIENT_REASONS)
def test_reason_comes_back(reason: str):
    node = dataclasses.replace(make_graph().nodes[0], reason=reason, scope=-1)
    graph = Graph((node,), (), ())
    assert decode_graph(seal(encode_graph(graph)), graph.hash).nodes == (node,)


def test_reason_of_a_newer_writer_is_left_out():
    message = encode_graph(make_graph())
    message.node_reason.extend([message.node_key[0]] * 6)
    again = decode_graph(seal(message), make_graph().hash)
    assert again.nodes == make_graph().nodes


def test_statistic_that_the_writer_did_not_know_is_nan():
    chunk = encode_chunk([make_record(make_graph())])
    del chunk.segments[0].columns[:]
    (segment,) = decode_chunk(seal(chunk)).segments
    assert np.isnan(segment.statistic("mean")).all()
    assert not segment.histogram().any()


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.5, np.nan], [np.inf, -np.inf]], np.float32),
        np.array([1 / 3, 1e-320, -0.0, 1e308]),
        NAN_WITH_PAYLOAD,
        np.array(2.5, np.float32),
        np.zeros((0, 3)),
        np.array([1 + 2j, complex(np.nan, -np.inf)], np.complex64),
        np.array([[1 / 3 + 1j]], np.complex128),
        np.array([2**63 - 1, -5]),
        np.array([2**64 - 1], np.uint64),
        np.array([True, False]),
        np.arange(6.0).reshape(2, 3).T,
        np.array([1.0, 2.0], ">f8"),
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
def test_whole_tensor_comes_back_bit_by_bit(array: np.ndarray):
    record = make_record(make_graph(), gradients={0: array}, values={0: np.float32(1), 2: array})
    (segment,) = round_trip(record, make_record(make_graph(), 1))
    gradients, values = segment.whole()
    for again in (gradients[0][0], values[0][2]):
        assert (again.dtype, again.shape) == (array.dtype.newbyteorder("<"), array.shape)
        assert again.tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()
    assert (gradients[1], values[1]) == ({}, {})


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [(np.float16, np.float32), (np.int8, np.int64), (np.uint8, np.uint64), (np.int32, np.int64)],
)
def test_narrow_numbers_are_widened(narrow: type, wide: type):
    (segment,) = round_trip(make_record(make_graph(), gradients={0: np.array([3, 7], narrow)}))
    again = segment.whole()[0][0][0]
    assert again.dtype == wide
    assert again.tolist() == [3, 7]


def test_whole_tensor_of_another_kind_is_refused():
    with pytest.raises(FormatError, match="expected a number of at most 64 bits, got object"):
        encode_chunk([make_record(make_graph(), gradients={0: np.array([None])})])
