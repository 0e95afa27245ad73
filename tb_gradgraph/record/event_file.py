"""Read TensorBoard's event files directly, checksums included."""

from __future__ import annotations

import os
import pathlib
import struct
from collections.abc import Iterator
from typing import BinaryIO

import google_crc32c
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event

from tb_gradgraph.errors import FormatError

#: No event of a sane file is larger; a length beyond it is a damaged one.
MAX_EVENT_BYTES = 1 << 30

_LENGTH = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")


def list_event_files(directory: str | os.PathLike[str]) -> list[pathlib.Path]:
    """List the event files of one run, oldest first, as TensorBoard orders them."""
    return sorted(path for path in pathlib.Path(directory).glob("*tfevents*") if path.is_file())


def read_event_file(path: str | os.PathLike[str]) -> Iterator[Event]:
    """Yield the events of a file in order.

    A file that ends within an event is normal, its writer may still be at
    work: the events before are yielded and reading ends.

    Raises:
        FormatError: If a checksum, a length or an event is not as it should be.
    """
    with open(path, "rb") as stream:
        while True:
            at = stream.tell()
            content = _read_record(stream, f"{path}, byte {at}")
            if content is None:
                return
            try:
                yield Event.FromString(content)
            except DecodeError:
                raise FormatError(
                    f"{path}, byte {at}: expected an event, got other bytes."
                ) from None


def _read_record(stream: BinaryIO, where: str) -> bytes | None:
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    length, checksum = _LENGTH.unpack(header)
    if _mask(google_crc32c.value(header[:8])) != checksum:
        raise FormatError(f"{where}: expected a length with its checksum. Bytes changed.")
    if length > MAX_EVENT_BYTES:
        raise FormatError(f"{where}: expected at most {MAX_EVENT_BYTES} bytes, got {length}.")
    content = stream.read(length)
    footer = stream.read(_CHECKSUM.size)
    if len(content) < length or len(footer) < _CHECKSUM.size:
        return None
    if _mask(google_crc32c.value(content)) != _CHECKSUM.unpack(footer)[0]:
        raise FormatError(f"{where}: expected the event's checksum, got another. Bytes changed.")
    return content


def _mask(checksum: int) -> int:
    # TensorFlow's record format rotates and shifts checksums, so that a checksum of
    # data that itself holds checksums does not become degenerate.
    return (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF
