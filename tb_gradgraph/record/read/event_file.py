"""Read TensorBoard's event files directly, checksums included."""

from __future__ import annotations

import os
import pathlib
import stat
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

import google_crc32c
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event

from tb_gradgraph.errors import FormatError

#: Valid events are not larger, so a greater length means damage.
MAX_EVENT_BYTES = 1 << 30

_LENGTH = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")


Told = Callable[[str], None]


def list_run_directories(root: pathlib.Path, told: Told) -> list[pathlib.Path]:
    """List the directories below ``root`` that hold event files, sorted; links are not followed.

    Args:
        root: A log directory.
        told: Called with a message for each directory that cannot be read.
    """
    found = []
    for directory, _, names in os.walk(root, onerror=lambda error: told(_why(error))):
        if any("tfevents" in name for name in names):
            found.append(pathlib.Path(directory))
    return sorted(found)


def run_name(directory: pathlib.Path, root: pathlib.Path) -> str:
    """Return the name that TensorBoard gives to a run; bytes that are not text become question marks."""
    name = directory.relative_to(root).as_posix()
    return name.encode(errors="replace").decode()


def read_events(directory: str | os.PathLike[str], told: Told) -> Iterator[Event]:
    """Yield the events of all files of one run in order, as far as they can be read.

    Args:
        directory: The run's directory. It, or its files, may have been deleted.
        told: Called with a message for each file that cannot be read, or not to its end.
    """
    try:
        paths = list_event_files(directory)
    except OSError as error:
        told(_why(error))
        return
    for path in paths:
        try:
            yield from read_event_file(path)
        except FormatError as error:
            told(str(error))
        except OSError as error:
            told(_why(error))


def _why(error: OSError) -> str:
    return f"{error.filename}: cannot be read: {error.strerror or type(error).__name__}"


def list_event_files(directory: str | os.PathLike[str]) -> list[pathlib.Path]:
    """List the event files of one run, oldest first, as TensorBoard orders them."""
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries if "tfevents" in entry.name]
    paths = (pathlib.Path(directory, name) for name in names)
    return sorted(path for path in paths if _may_be_file(path))


def _may_be_file(path: pathlib.Path) -> bool:
    """Return whether a path is a file, or may be one as far as we can tell without opening it."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True


def read_event_file(path: str | os.PathLike[str]) -> Iterator[Event]:
    """Yield the events of a file in order.

    A file may end within an event, because its writer may still be running. The events before are
    yielded, and reading ends.

    Raises:
        FormatError: If a checksum, a length or an event is invalid.
    """
    with open(path, "rb") as stream:
        while True:
            at = stream.tell()
            content = _read_record(stream, os.fstat(stream.fileno()).st_size, f"{path}, byte {at}")
            if content is None:
                return
            try:
                yield Event.FromString(content)
            except DecodeError:
                raise FormatError(
                    f"{path}, byte {at}: expected an event, got other bytes."
                ) from None


def _read_record(stream: BinaryIO, size: int, where: str) -> bytes | None:
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    length, checksum = _LENGTH.unpack(header)
    if _mask(google_crc32c.value(header[:8])) != checksum:
        raise FormatError(f"{where}: expected a length with its checksum. Bytes changed.")
    if length > MAX_EVENT_BYTES:
        raise FormatError(f"{where}: expected at most {MAX_EVENT_BYTES} bytes, got {length}.")
    if length > size:
        return None  # nothing is allocated for missing bytes
    content = stream.read(length)
    footer = stream.read(_CHECKSUM.size)
    if len(content) < length or len(footer) < _CHECKSUM.size:
        return None
    if _mask(google_crc32c.value(content)) != _CHECKSUM.unpack(footer)[0]:
        raise FormatError(f"{where}: expected the event's checksum, got another. Bytes changed.")
    return content


def _mask(checksum: int) -> int:
    # TensorFlow's record format rotates and shifts checksums, so that the checksum of data
    # that itself holds checksums does not degenerate.
    return (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF
