"""Convert numbers to bytes and back: little-endian, with shuffled bytes, compressed by zlib."""

from __future__ import annotations

import math
import zlib
from typing import cast

import numpy as np

from tb_gradgraph.errors import FormatError
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits

DTYPES: dict[int, np.dtype] = {
    pb.FLOAT32: np.dtype("<f4"),
    pb.FLOAT64: np.dtype("<f8"),
    pb.UINT16: np.dtype("<u2"),
    pb.UINT32: np.dtype("<u4"),
    pb.UINT64: np.dtype("<u8"),
    pb.COMPLEX64: np.dtype("<c8"),
    pb.COMPLEX128: np.dtype("<c16"),
    pb.INT64: np.dtype("<i8"),
    pb.BOOL: np.dtype("?"),
}
_TYPES = {dtype: number for number, dtype in DTYPES.items()}

_FLOAT32 = np.finfo(np.float32)


def element_type(dtype: np.dtype) -> pb.ElementType:
    """Return the stored number of a little-endian dtype."""
    return cast("pb.ElementType", _TYPES[dtype])


def dtype_of(number: int, where: str) -> np.dtype:
    """Return the dtype stored under ``number``.

    Raises:
        FormatError: If there is none.
    """
    if number not in DTYPES:
        raise FormatError(f"{where}: expected a known element type, got {number}.")
    return DTYPES[number]


def compress(content: bytes) -> bytes:
    """Compress at level 1, whose result is a tenth larger; it is four times as fast."""
    return zlib.compress(content, 1)


def decompress(content: bytes, size: int, where: str) -> bytes:
    """Decompress to exactly ``size`` bytes, never allocating more.

    Raises:
        FormatError: If the stream is broken, has another length, or exceeds the limit.
    """
    if size > limits.MAX_CHUNK_BYTES:
        limit = limits.MAX_CHUNK_BYTES
        raise FormatError(f"{where}: expected at most {limit} bytes uncompressed, got {size}.")
    stream = zlib.decompressobj()
    try:
        result = stream.decompress(content, size) if size else b""
        # The stream may end after the last byte of content.
        excess = stream.decompress(stream.unconsumed_tail if size else content, 1)
    except zlib.error as error:
        raise FormatError(f"{where}: expected a zlib stream, got a broken one: {error}.") from None
    if len(result) != size or excess or not stream.eof or stream.unused_data:
        raise FormatError(f"{where}: expected a zlib stream of {size} bytes, got another length.")
    return result


def shuffle(array: np.ndarray) -> bytes:
    """Return all first bytes, then all second bytes, so that exponents are next to each other."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).reshape(-1, flat.itemsize).T.tobytes()


def unshuffle(content: bytes, dtype: np.dtype) -> np.ndarray:
    """Undo :func:`shuffle`. Byte by byte: numpy transposes so narrow a matrix five times slower."""
    if content == bytes(len(content)):  # as counts of NaN are, mostly
        return np.zeros(len(content) // dtype.itemsize, dtype)
    planes = np.frombuffer(content, np.uint8).reshape(dtype.itemsize, -1)
    found = np.empty(planes.shape[1], dtype)
    elements = found.view(np.uint8).reshape(-1, dtype.itemsize)
    for at, plane in enumerate(planes):
        elements[:, at] = plane
    return found


def encode_column(name: str, array: np.ndarray, width: int = 1) -> pb.Column:
    """Store an array of a dtype in ``DTYPES``. If ``width`` is above 1, it is the length of the last axis."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    content = compress(shuffle(little))
    return pb.Column(name=name, type=element_type(little.dtype), width=width, data=content)


def decode_column(column: pb.Column, shape: tuple[int, ...], width: int = 1) -> np.ndarray:
    """Read an array of ``shape``. If ``width`` is above 1, it is the length of the last axis.

    Raises:
        FormatError: If type, width or length do not fit the shape.
    """
    where = f"column {column.name[:40]!r}"
    dtype = dtype_of(column.type, where)
    if (column.width or 1) != width:
        raise FormatError(f"{where}: expected a width of {width}, got {column.width}.")
    content = decompress(column.data, math.prod(shape) * dtype.itemsize, where)
    return unshuffle(content, dtype).reshape(shape)


def narrowest_float(values: np.ndarray) -> np.ndarray:
    """Return float32 if no finite value becomes infinite or zero in it, else float64."""
    with np.errstate(over="ignore", under="ignore"):
        narrow = values.astype("<f4")
    magnitude = np.abs(narrow)
    lost = (magnitude < _FLOAT32.tiny) & (values != 0)
    lost |= np.isinf(magnitude) & np.isfinite(values)
    return values.astype("<f8") if lost.any() else narrow


def narrowest_count(counts: np.ndarray) -> np.ndarray:
    """Return counts as uint32 or uint64; return floats if they are no whole numbers."""
    if not counts.any():
        return np.zeros(counts.shape, "<u4")
    if not np.all((counts >= 0) & (counts == np.floor(counts)) & (counts < 2.0**63)):
        return narrowest_float(counts)
    return counts.astype("<u4" if counts.size == 0 or counts.max() < 2.0**32 else "<u8")
