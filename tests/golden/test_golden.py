"""Records of every version that was ever released are still read, and are still written so."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.decode import decode_chunk, decode_graph, decode_manifest
from tb_gradgraph.record.format.envelope import seal, unseal
from tb_gradgraph.record.format.process import Process
from tests.golden.write_golden import (
    NEWEST,
    make_facts,
    make_first_records,
    make_golden_graph,
    make_golden_messages,
    make_golden_records,
    make_graph_of_calls,
    make_measured_records,
    make_own_records,
    make_placed_graph,
    make_records_of_values,
    read_golden,
)
from tests.record.samples import make_graph


@pytest.mark.parametrize(
    ("version", "process"),
    [
        ("v1", Process()),
        ("v1_3", Process(3, 4, "a training", (("fsdp", 2, 1), ("tp", 2, 1)))),
    ],
)
def test_manifest_is_read(version: str, process: Process):
    manifest = decode_manifest(read_golden(f"manifest_{version}.bin"))
    assert manifest.process == process
    assert manifest.session == "00000000000000abcdef"
    assert (manifest.writer_version, manifest.torch_version) == ("0.1.0", "2.13.0")
    assert manifest.start_time == 1.7e9


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("v1", make_graph()),
        ("v1_2", make_golden_graph()),
        ("v1_3", make_placed_graph()),
        ("v1_5", make_graph_of_calls()),
    ],
)
def test_graph_is_read(version: str, expected: Graph):
    graph = decode_graph(read_golden(f"graph_{version}.bin"), "8d588976fec3098f")
    assert (graph.nodes, graph.edges, graph.scopes) == (
        expected.nodes,
        expected.edges,
        expected.scopes,
    )


@pytest.mark.parametrize(
    ("version", "records"),
    [
        ("v1", make_first_records()),
        ("v1_2", make_golden_records()),
        ("v1_4", make_measured_records()),
        ("v1_5", make_records_of_values()),
        ("v1_6", make_own_records()),
        ("v1_7", make_own_records()),
        ("v1_8", make_own_records()),
    ],
)
def test_statistics_are_read(version: str, records: list[Record]):
    chunk = decode_chunk(read_golden(f"statistics_{version}.bin"))
    assert chunk.stride == 2
    earlier = dataclasses.replace(make_facts(), why_nothing="")
    assert chunk.facts == {"v1_7": (earlier,), "v1_8": (make_facts(),)}.get(version, ())
    got = [
        (
            (
                segment.tag,
                segment.steps[at],
                segment.backward_passes[at],
                segment.facts["stage"][at],
            ),
            (segment.facts["loss_scale"][at], segment.facts["skipped"][at]),
            (segment.facts["every_n_steps"][at], segment.facts["cost"][at]),
            table,
            (segment.quantities[at], segment.quantity_reasons[at]),
            segment.own.of_record(at),
            *whole,
        )
        for segment in chunk.segments
        for at, (table, *whole) in enumerate(zip(segment.tables(), *segment.whole()))
    ]
    assert len(got) == len(records)
    for (place, scaler, cadence, table, named, own, gradients, values), record in zip(got, records):
        assert place == (record.tag, record.step, record.backward_pass, record.stage)
        assert scaler == (record.loss_scale, record.skipped)
        np.testing.assert_equal(named, (dict(record.quantities), dict(record.quantity_reasons)))
        np.testing.assert_equal(own, {name: of for name, of in record.own.items() if of})
        assert cadence == (record.every_n_steps, record.cost)
        np.testing.assert_array_equal(table.values, record.table.values)
        np.testing.assert_array_equal(table.present, record.table.present)
        np.testing.assert_array_equal(table.histogram, record.table.histogram)
        assert {row: array.tobytes() for row, array in gradients.items()} == {
            row: array.tobytes() for row, array in record.gradients.items()
        }
        assert values.keys() == record.values.keys()


@pytest.mark.parametrize("kind", ["manifest", "graph", "statistics"])
def test_writer_still_writes_the_same(kind: str):
    """Compare decompressed: builds of zlib compress to different bytes."""
    message = make_golden_messages()[kind]
    golden = unseal(read_golden(f"{kind}_{NEWEST[kind]}.bin"), type(message))
    again = unseal(seal(message), type(message))
    assert strip_compressed(again) == strip_compressed(golden)


def strip_compressed(message: pb.Manifest | pb.GraphRecord | pb.StatisticsChunk):
    """Leave out what zlib made; the other tests compare what is in it."""
    if isinstance(message, pb.StatisticsChunk):
        for segment in (*message.segments, *message.forward_segments):
            segment.present = segment.whole.data = b""
            for column in segment.columns:
                column.data = b""
    return message
