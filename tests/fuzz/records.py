"""Records made up by hypothesis: shaped as ours, with anything in them; and the corpus of kept ones."""

from __future__ import annotations

import os
import pathlib
import zlib

from google.protobuf.message import Message
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.envelope import Strings
from tb_gradgraph.statistics import STATISTICS

CORPUS = pathlib.Path(__file__).parent / "corpus"

#: Examples of each property; ``make fuzz`` asks for more, and for other ones each time.
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "25"))
FUZZ = settings(
    max_examples=EXAMPLES,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

SMALL = st.integers(0, 5)
WILD = st.one_of(SMALL, st.sampled_from([2**16, 2**20, 2**24, 2**31 - 1, 2**32 - 1]))
TEXTS = st.lists(st.text(max_size=4), max_size=4)
PACKED = st.one_of(
    st.binary(max_size=40),
    st.binary(max_size=40).map(zlib.compress),
    SMALL.map(lambda count: zlib.compress(bytes(4 * count))),
    st.just(zlib.compress(bytes(10**6))),
)


def _list(values: st.SearchStrategy, size: int) -> st.SearchStrategy:
    """Mostly as many as there should be."""
    return st.one_of(st.lists(values, min_size=size, max_size=size), st.lists(values, max_size=4))


@st.composite
def columns(draw: st.DrawFn) -> pb.Column:
    name = draw(st.one_of(st.sampled_from([*STATISTICS, "histogram"]), st.text(max_size=3)))
    width = draw(st.one_of(st.sampled_from([0, 1, 32]), WILD))
    return pb.Column(name=name, type=draw(st.integers(0, 11)), width=width, data=draw(PACKED))


@st.composite
def segments(draw: st.DrawFn) -> pb.Segment:
    records, rows = draw(SMALL), draw(st.one_of(SMALL, WILD))
    many, of = draw(SMALL), draw(SMALL)
    return pb.Segment(
        tag=draw(st.text(max_size=4)),
        graph_hash=draw(st.text(max_size=17)),
        rows=rows,
        strings=draw(TEXTS),
        step=draw(_list(st.integers(-(2**63), 2**63 - 1), records)),
        wall_time=draw(_list(st.floats(), records)),
        backward_pass=draw(_list(WILD, records)),
        objective=draw(_list(SMALL, records)),
        stage=draw(_list(SMALL, records)),
        present_rows=draw(_list(WILD, records)),
        loss_scale=draw(_list(st.floats(), records)),
        present=draw(PACKED),
        columns=draw(st.lists(columns(), max_size=4)),
        only_present=draw(st.booleans()),
        unread_record=draw(_list(SMALL, many)),
        unread_row=draw(_list(WILD, many)),
        unread_reason=draw(_list(SMALL, many)),
        quantity_record=draw(_list(SMALL, many)),
        quantity_name=draw(_list(SMALL, many)),
        quantity_value=draw(_list(st.floats(), many)),
        missing_record=draw(_list(SMALL, many)),
        missing_name=draw(_list(SMALL, many)),
        missing_reason=draw(_list(SMALL, many)),
        **{
            f"own_{name}": draw(_list(SMALL, of)) for name in ("name", "of", "unit", "worse", "why")
        },
        **{f"own_{name}": draw(_list(SMALL, many)) for name in ("record", "row", "statistic")},
        own_value=draw(_list(st.floats(), many)),
        whole=pb.Whole(
            record=draw(_list(SMALL, many)),
            row=draw(_list(SMALL, many)),
            is_value=draw(_list(st.booleans(), many)),
            type=draw(_list(st.integers(0, 11), many)),
            rank=draw(_list(SMALL, many)),
            size=draw(st.lists(WILD, max_size=6)),
            uncompressed_bytes=draw(st.one_of(SMALL, st.integers(0, 2**64 - 1))),
            data=draw(PACKED),
        ),
    )


chunks = st.builds(pb.StatisticsChunk, segments=st.lists(segments(), max_size=3), stride=WILD)


@st.composite
def graphs(draw: st.DrawFn) -> pb.GraphRecord:
    """Fill every column, mostly with as many entries as its table has, small and so often valid."""
    sizes = {name: draw(SMALL) for name in ("scope", "node", "slot", "edge")}
    message = pb.GraphRecord(hash="0123456789abcdef", strings=["", "operation", "root", "x"])
    for field in message.DESCRIPTOR.fields:
        size = sizes.get(field.name.partition("_")[0])
        if size is None:
            continue
        values = st.integers(-1, 3) if field.name in ("scope_parent", "node_scope") else SMALL
        if field.name in ("node_kind",):
            values = st.sampled_from([1, 2, 3])
        if field.name in ("node_alias_count", "slot_rank"):
            values = st.just(0)
        values = st.booleans() if field.cpp_type == field.CPPTYPE_BOOL else values
        getattr(message, field.name).extend(draw(_list(values, size)))
    return message


def sealed(message: Message, kind: int, is_packed: bool) -> Strings:
    """Seal a message as a stranger would, without the limits of a writer."""
    content = message.SerializeToString()
    payload = zlib.compress(content) if is_packed else content
    header = pb.Header(
        format_version=1,
        kind=kind,
        payload_bytes=len(payload),
        payload_crc32=zlib.crc32(payload),
        uncompressed_bytes=len(content) if is_packed else 0,
    )
    return header.SerializeToString(), payload


def read_corpus() -> dict[str, Strings]:
    """Return the kept records: a length of four bytes, the header, the payload."""
    found = {}
    for path in sorted(CORPUS.glob("*.bin")):
        content = path.read_bytes()
        length = int.from_bytes(content[:4], "little")
        found[path.stem] = (content[4 : 4 + length], content[4 + length :])
    return found


def keep(name: str, strings: Strings) -> None:
    """Add a record to the corpus."""
    header, payload = strings
    (CORPUS / f"{name}.bin").write_bytes(len(header).to_bytes(4, "little") + header + payload)
