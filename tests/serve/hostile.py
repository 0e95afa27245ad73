"""Records that are small on the disk and claim to be huge; each as tag and strings."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable

from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.envelope import Strings
from tb_gradgraph.statistics import STATISTICS

SESSION = "gradgraph/0123456789abcdef0123"
HASH = "0123456789abcdef"


def peak_of(action: Callable[[], object]) -> int:
    """Return the bytes that an action holds at most."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def sealed(message: pb.GraphRecord | pb.StatisticsChunk, kind: int, is_packed: bool) -> Strings:
    """Seal a message without the limits that a writer keeps."""
    content = message.SerializeToString()
    payload = zlib.compress(content, 9) if is_packed else content
    header = pb.Header(
        format_version=1,
        kind=kind,
        payload_bytes=len(payload),
        payload_crc32=zlib.crc32(payload),
        uncompressed_bytes=len(content) if is_packed else 0,
    )
    return header.SerializeToString(), payload


def huge_record(rows: int, records: int = 1, only_present: bool = False) -> tuple[str, Strings]:
    """Make a chunk of records of so many rows, all numbers zero."""
    segment = pb.Segment(
        tag="net",
        graph_hash=HASH,
        rows=rows,
        strings=["loss", "backward"],
        step=range(records),
        wall_time=[0] * records,
        backward_pass=[0] * records,
        objective=[0] * records,
        stage=[1] * records,
        present_rows=[rows] * records,
        present=_zeros(records * rows // 8, b"\xff"),
        only_present=only_present,
    )
    data = _zeros(4 * records * rows)
    segment.columns.extend(pb.Column(name=name, type=pb.FLOAT32, data=data) for name in STATISTICS)
    chunk = pb.StatisticsChunk(segments=[segment])
    return f"{SESSION}/stats/000000", sealed(chunk, pb.KIND_STATISTICS, False)


def huge_graph(nodes: int) -> tuple[str, Strings]:
    """Make a graph of so many nodes in a row, all of one name."""
    zeros = [0] * nodes
    links = range(nodes - 1)
    message = pb.GraphRecord(
        hash=HASH,
        strings=["", "operation"],
        node_key=zeros,
        node_name=zeros,
        node_kind=[1] * nodes,
        node_operation=zeros,
        node_scope=[-1] * nodes,
        node_is_leaf=zeros,
        node_source=zeros,
        node_order=zeros,
        node_note=zeros,
        node_alias_count=zeros,
        node_slot_count=[1] * nodes,
        slot_name=zeros,
        slot_dtype=zeros,
        slot_rank=zeros,
        slot_requires_grad=zeros,
        slot_retains_grad=zeros,
        edge_source=links,
        edge_source_slot=[0] * (nodes - 1),
        edge_target=range(1, nodes),
        edge_target_input=[0] * (nodes - 1),
    )
    return f"{SESSION}/graph/{HASH}", sealed(message, pb.KIND_GRAPH, True)


def _zeros(size: int, byte: bytes = b"\0") -> bytes:
    """Compress so many equal bytes, never holding them all."""
    packer, block = zlib.compressobj(9), byte * 2**20
    parts = [packer.compress(block) for _ in range(size // 2**20)]
    return b"".join([*parts, packer.compress(byte * (size % 2**20)), packer.flush()])
