"""A log directory with one run for each way in which runs differ, and the questions to ask of it."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import torch
from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils.tensorboard import SummaryWriter

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.encode import encode_chunk, encode_graph
from tb_gradgraph.record.format.envelope import Strings, record_summary, seal
from tb_gradgraph.record.read.event_file import list_event_files
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.session import Session
from tests.record.samples import make_graph, make_record, with_count

LONG_STEPS = 3000
SESSION = "gradgraph/0123456789abcdef0123"
GRAPH = make_graph()


def write_session(
    directory: pathlib.Path, records: list[Record], chunk: int, **options: int
) -> None:
    """Write records as a training does, a chunk every ``chunk`` records."""
    with SummaryWriter(str(directory), **options) as writer:
        sink = WriterSink(writer)
        session = Session(sink.add_summary, flush_writer=sink.flush, torch_version="2.13")
        session.write_graph("net", GRAPH)
        for number, record in enumerate(records, 1):
            session.write_record(record)
            if number % chunk == 0:
                session.flush()
        session.close()


def write_raw(directory: pathlib.Path, records: dict[str, Strings]) -> None:
    """Write records as they are, sound or not, by the end of their tags."""
    with SummaryWriter(str(directory)) as writer:
        for tag, strings in records.items():
            add_raw(writer, record_summary(f"{SESSION}/{tag}", strings))


def add_raw(writer: SummaryWriter, summary: Summary) -> None:
    writer.file_writer.add_summary(summary, 0)


def write_logs(root: pathlib.Path) -> None:
    """Write all runs below ``root``."""
    write_session(root / "long", [make_record(GRAPH, step) for step in range(LONG_STEPS)], 25)
    first = [make_record(GRAPH, step, objective="first") for step in range(10)]
    second = [make_record(GRAPH, step, objective="second") for step in range(6, 9)]
    write_session(root / "restarted", first, 4)
    write_session(root / "restarted", second, 4, purge_step=6)
    write_mixed(root / "mixed")
    write_session(root / "cut", [make_record(GRAPH, step) for step in range(4)], 1)
    (path,) = list_event_files(root / "cut")
    path.write_bytes(path.read_bytes()[:-20])
    write_session(root / "flipped", [make_record(GRAPH, step) for step in range(4)], 1)
    flip_byte_of_third_chunk(root / "flipped")
    write_damaged(root / "damaged")
    write_retained(root / "retained")
    write_standard(root / "standard")


def flip_byte_of_third_chunk(directory: pathlib.Path) -> None:
    """Change one byte of a payload, so that neither checksum fits."""
    (path,) = list_event_files(directory)
    content = bytearray(path.read_bytes())
    content[content.index(b"/stats/000002") + 400] ^= 0x10
    path.write_bytes(content)


def write_mixed(directory: pathlib.Path) -> None:
    """Write two graphs under one tag, passes, stages, NaN, whole tensors, and numbers beyond float32."""
    smaller = Graph(GRAPH.nodes[:3], GRAPH.edges[:2], GRAPH.scopes)
    whole = np.array([[1.5, np.nan, np.inf], [-np.inf, 0, 1]], np.float32)
    extreme = make_record(GRAPH, 1, gradients={0: whole}, values={2: np.array(1 + 2j)})
    extreme.table.values[[0, 2], 0] = 1e300, -1e-300
    extreme = dataclasses.replace(extreme, quantities={"loss": np.nan, "lr/group =1": 0.1})
    first = {"loss": 1 / 3, "grad_norm": 1e300}
    records = [
        make_record(GRAPH, 0, quantities=first, quantity_reasons={"noise_scale": "one pass"}),
        extreme,
        make_record(GRAPH, 1, backward_pass=1, stage="backward"),
        make_record(GRAPH, 1, backward_pass=1, stage="clipped", quantities={"grad_norm": 2.0}),
        make_record(smaller, 2, objective="smaller"),
        with_count(make_record(GRAPH, 3), 2, "nan", 5),
    ]
    with SummaryWriter(str(directory)) as writer:
        session = Session(WriterSink(writer).add_summary)
        session.write_graph("net", GRAPH)
        session.write_graph("net", smaller)
        for record in records:
            session.write_record(record)
        session.write_record(make_record(GRAPH, -5, tag="other tag/ü&=?"))
        session.close()


def make_retained() -> Record:
    """Make a record of whole tensors of every type, of which not all fit into one answer."""
    ramp = np.arange(500 * 500, dtype=np.float32).reshape(500, 500)
    ramp[0, :3] = np.nan, np.inf, -np.inf
    gradients = {
        0: np.array([0.1, 1e-300]),
        2: np.arange(300.0 * 300).reshape(300, 300) / 3,
        3: np.array([[1 + 2j, 3 - 4j]], np.complex64),
        4: ramp,
        5: np.zeros(2**22 + 1, bool),
    }
    values = {0: np.array([7, -8]), 3: np.array([True, False]), 4: ramp + 1}
    return make_record(GRAPH, 7, backward_pass=1, gradients=gradients, values=values)


def write_retained(directory: pathlib.Path) -> None:
    write_session(directory, [make_record(GRAPH, 6), make_retained()], 1)


def write_damaged(directory: pathlib.Path) -> None:
    """Write one sound chunk among others that are newer, flipped, without graph, or nonsense."""
    chunks = {step: seal(encode_chunk([make_record(GRAPH, step)])) for step in range(4)}
    newer = pb.Header.FromString(chunks[1][0])
    newer.format_version = 2
    flipped = bytes([chunks[2][1][0] ^ 1]) + chunks[2][1][1:]
    broken = encode_chunk([make_record(GRAPH, 5)])
    broken.segments[0].columns[0].data = b"no zlib"
    lost = encode_chunk([make_record(GRAPH, 6, tag="lost", graph_hash="f" * 16)])
    misfit = encode_chunk([make_record(Graph((), (), ()), 7, graph_hash=GRAPH.hash)])
    write_raw(
        directory,
        {
            f"graph/{GRAPH.hash}": seal(encode_graph(GRAPH)),
            "stats/000000": chunks[0],
            "stats/000001": (newer.SerializeToString(), chunks[1][1]),
            "stats/000002": (chunks[2][0], flipped),
            "stats/000003": (newer.SerializeToString(), b""),
            "stats/000004": (b"", b""),
            "stats/000005": seal(broken),
            "stats/000006": seal(lost),
            "stats/000007": seal(misfit),
            "nonsense": chunks[3],
            "graph/0000000000000000": (b"\xff", b"\xff"),
        },
    )


def write_standard(directory: pathlib.Path) -> None:
    """Write a user's own graph and scalars beside ours."""
    with SummaryWriter(str(directory)) as writer:
        writer.add_graph(torch.nn.Linear(2, 1), torch.ones(1, 2))
        writer.add_scalar("loss", 0.5, 0)
        session = Session(WriterSink(writer).add_summary)
        session.write_graph("net", GRAPH)
        session.write_record(dataclasses.replace(make_record(GRAPH, 3)))
        session.close()
