"""Records as they would be stored if one process had written what several have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.decode import decode_chunk
from tb_gradgraph.record.format.encode import encode_chunk, encode_graph
from tb_gradgraph.record.format.envelope import (
    Strings,
    graph_tag,
    manifest_tag,
    parse_tag,
    seal,
    statistics_tag,
    unseal,
)
from tb_gradgraph.record.read.read_logdir import read_records
from tb_gradgraph.record.read.stored_table import LastColumns

#: How many digits a version has, and what it is below.
_DIGITS = 6
_MOST = 10**_DIGITS


def rewrite_graph(graph: Graph) -> Strings:
    """Return the strings of a graph."""
    return seal(encode_graph(graph))


def rewrite_chunk(
    strings: Sequence[bytes], change: Callable[[Iterable[Record]], Iterable[Record]]
) -> Strings:
    """Return the strings of a chunk with other records instead of its own; the rest stays the same.

    Raises:
        FormatError: If it is no chunk.
    """
    columns = LastColumns()
    records = [
        record
        for segment in decode_chunk(strings).segments
        for record in change(read_records(segment, columns))
    ]
    message = unseal(strings, pb.StatisticsChunk)
    changed = encode_chunk(records)
    for name in ("segments", "forward_segments"):
        message.ClearField(name)
        getattr(message, name).extend(getattr(changed, name))
    return seal(message)


def versioned(tag: str, version: int) -> str:
    """Return another tag for a record whose content depends on more than its own; it sorts the same.

    Raises:
        ValueError: If the tag is not one of ours, or a number is too large.
    """
    parsed = parse_tag(tag)
    if parsed is None or not 0 <= version < _MOST:
        raise ValueError(
            f"expected a tag of ours and a version below {_MOST}, got {tag!r}, {version}."
        )
    if parsed.kind == "stats":
        if int(parsed.name) >= _MOST:
            raise ValueError(f"expected a chunk below {_MOST}, got {parsed.name}.")
        return f"{statistics_tag(parsed.session, int(parsed.name))}{version:0{_DIGITS}d}"
    session = f"{parsed.session[:-_DIGITS]}{version:0{_DIGITS}x}"
    return manifest_tag(session) if parsed.kind == "manifest" else graph_tag(session, parsed.name)
