"""One record as a summary: its tag, header and payload. They are checked before they are parsed."""

from __future__ import annotations

import dataclasses
import os
import re
import zlib
from collections.abc import Sequence
from typing import Literal, TypeVar

from google.protobuf.message import DecodeError, Message
from tensorboard.compat.proto.summary_pb2 import (
    DATA_CLASS_BLOB_SEQUENCE,
    DATA_CLASS_TENSOR,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING

from tb_gradgraph.errors import FormatError, NewerFormatError
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.columns import compress, decompress

Strings = tuple[bytes, bytes]

MessageT = TypeVar("MessageT", bound=Message)

_KINDS: dict[type[Message], pb.Kind] = {
    pb.Manifest: pb.KIND_MANIFEST,
    pb.GraphRecord: pb.KIND_GRAPH,
    pb.StatisticsChunk: pb.KIND_STATISTICS,
}


def seal(message: Message) -> Strings:
    """Return the two strings of a record. A graph is compressed; the columns of a chunk already are.

    Raises:
        FormatError: If the message is too large for readers.
    """
    content = message.SerializeToString(deterministic=True)
    payload = compress(content) if isinstance(message, pb.GraphRecord) else content
    limit = limits.MAX_PAYLOAD_BYTES if payload is content else limits.MAX_MESSAGE_BYTES
    if len(content) > limit:
        raise FormatError(
            f"record: expected at most {limit} bytes, got {len(content)}. "
            "Retain fewer whole tensors."
        )
    header = pb.Header(
        format_version=limits.FORMAT_VERSION,
        kind=_KINDS[type(message)],
        payload_bytes=len(payload),
        payload_crc32=zlib.crc32(payload),
        uncompressed_bytes=len(content) if payload is not content else 0,
    )
    return header.SerializeToString(deterministic=True), payload


def unseal(strings: Sequence[bytes], message_type: type[MessageT]) -> MessageT:
    """Check the header against the payload, then parse the payload.

    Raises:
        NewerFormatError: If a newer version wrote it.
        FormatError: If anything does not follow FORMAT.md.
    """
    if len(strings) != 2 or not all(isinstance(string, bytes) for string in strings):
        raise FormatError("record: expected two byte strings, header and payload.")
    header_content, payload = strings
    header = _parse_header(header_content)
    if header.kind != _KINDS[message_type]:
        raise FormatError(f"record: expected a {message_type.__name__}, got kind {header.kind}.")
    _check_payload(header, payload)
    if header.uncompressed_bytes > limits.MAX_MESSAGE_BYTES:
        limit, got = limits.MAX_MESSAGE_BYTES, header.uncompressed_bytes
        raise FormatError(f"record: expected at most {limit} bytes uncompressed, got {got}.")
    if header.uncompressed_bytes:
        payload = decompress(payload, header.uncompressed_bytes, "record")
    return _parse(payload, message_type)


def _parse_header(content: bytes) -> pb.Header:
    if len(content) > limits.MAX_HEADER_BYTES:
        limit = limits.MAX_HEADER_BYTES
        raise FormatError(f"header: expected at most {limit} bytes, got {len(content)}.")
    header = _parse(content, pb.Header)
    if header.format_version > limits.FORMAT_VERSION:
        raise NewerFormatError(
            f"header: expected format version {limits.FORMAT_VERSION}, got "
            f"{header.format_version}. Upgrade tb_gradgraph to read it."
        )
    if header.format_version < 1:
        raise FormatError("header: expected a format version of at least 1, got 0.")
    return header


def _check_payload(header: pb.Header, payload: bytes) -> None:
    if len(payload) > limits.MAX_PAYLOAD_BYTES:
        limit = limits.MAX_PAYLOAD_BYTES
        raise FormatError(f"payload: expected at most {limit} bytes, got {len(payload)}.")
    if len(payload) != header.payload_bytes:
        raise FormatError(
            f"payload: expected {header.payload_bytes} bytes, got {len(payload)}. It was cut off."
        )
    if zlib.crc32(payload) != header.payload_crc32:
        raise FormatError("payload: expected the header's checksum, got another. Bytes changed.")


def _parse(content: bytes, message_type: type[MessageT]) -> MessageT:
    try:
        return message_type.FromString(content)
    except DecodeError:
        raise FormatError(
            f"{message_type.__name__}: expected a protobuf, got other bytes."
        ) from None


#: It is short, because every listing repeats it. Readers use the version in the header, not this one.
PLUGIN_CONTENT = b"1"

#: The standard Graphs dashboard shows records with this plugin name as further tags of a run.
_GRAPHS_PLUGIN = "graph_run_metadata_graph"


def record_summary(tag: str, strings: Strings) -> Summary:
    """Wrap header and payload of one record."""
    return _summary(tag, strings, PLUGIN_NAME, DATA_CLASS_TENSOR)


def dashboard_summary(tag: str, run_metadata: bytes) -> Summary:
    """Wrap a serialized RunMetadata for the standard Graphs dashboard."""
    return _summary(tag, (run_metadata,), _GRAPHS_PLUGIN, DATA_CLASS_BLOB_SEQUENCE)


def _summary(tag: str, strings: tuple[bytes, ...], plugin: str, data_class: int) -> Summary:
    content = SummaryMetadata.PluginData(plugin_name=plugin, content=PLUGIN_CONTENT)
    tensor = TensorProto(
        dtype=DT_STRING,
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=len(strings))]),
        string_val=strings,
    )
    metadata = SummaryMetadata(plugin_data=content, data_class=data_class)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=tensor)])


PLUGIN_NAME = "gradgraph"

_PATTERN = re.compile(
    r"gradgraph/(?P<session>[0-9a-f]{20})/"
    r"(?:(?P<manifest>manifest)|graph/(?P<graph>[0-9a-f]{16})|stats/(?P<stats>[0-9]{6,12}))"
)


@dataclasses.dataclass(frozen=True, slots=True)
class RecordTag:
    """The parts of a record's tag: its session, its kind, and its name."""

    session: str
    kind: Literal["manifest", "graph", "stats"]
    name: str  # a graph's hash, a chunk's number in digits, "" for the manifest


def create_session(start_time: float) -> str:
    """Make the name of a session. Names sort by start time; equal times sort randomly.

    Args:
        start_time: Seconds since the epoch.
    """
    return f"{max(0, int(start_time * 1e6)):014x}{os.urandom(3).hex()}"


def manifest_tag(session: str) -> str:
    """Return the tag of the record that describes a session."""
    return f"gradgraph/{session}/manifest"


def graph_tag(session: str, graph_hash: str) -> str:
    """Return the tag of the record that holds a graph."""
    return f"gradgraph/{session}/graph/{graph_hash}"


def statistics_tag(session: str, number: int) -> str:
    """Return the tag of the ``number``-th chunk of statistics, counted from 0."""
    return f"gradgraph/{session}/stats/{number:06d}"


def parse_tag(tag: str) -> RecordTag | None:
    """Read a tag; ``None`` if it is not one of ours."""
    match = _PATTERN.fullmatch(tag)
    if not match:
        return None
    session = match["session"]
    if match["manifest"]:
        return RecordTag(session, "manifest", "")
    if match["graph"]:
        return RecordTag(session, "graph", match["graph"])
    return RecordTag(session, "stats", match["stats"])
