"""Store tensors that are kept whole: many small arrays of different shapes as one block of bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tb_gradgraph.errors import FormatError
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.columns import DTYPES, compress, decompress, dtype_of, element_type

WholeArrays = Sequence[Mapping[int, np.ndarray]]  # one mapping for each record: row -> array


def storable(array: np.ndarray) -> np.ndarray:
    """Return a row-major, little-endian array of a stored dtype, with every value unchanged.

    Narrow floats and integers are widened; nothing is ever narrowed.

    Raises:
        FormatError: If no stored dtype is wide enough.
    """
    array = np.asarray(array)
    kind, size = array.dtype.kind, array.dtype.itemsize
    wide = {"f": "<f4" if size <= 4 else "<f8", "c": "<c8" if size <= 8 else "<c16"}
    wide |= {"i": "<i8", "u": "<u8", "b": "?"}
    if kind not in wide or size > 8 * (1 + (kind == "c")):
        raise FormatError(f"whole tensor: expected a number of at most 64 bits, got {array.dtype}.")
    return np.asarray(array, wide[kind], order="C")


def encode_whole(gradients: WholeArrays, values: WholeArrays) -> pb.Whole:
    """Store all whole tensors of a segment, record by record, gradients first."""
    whole = pb.Whole()
    parts: list[bytes] = []
    for record, pair in enumerate(zip(gradients, values)):
        for is_value, arrays in enumerate(pair):
            for row, array in arrays.items():
                array = storable(array)
                whole.record.append(record)
                whole.row.append(row)
                whole.is_value.append(bool(is_value))
                whole.type.append(element_type(array.dtype))
                whole.rank.append(array.ndim)
                whole.size.extend(array.shape)
                parts.append(array.tobytes())
    content = b"".join(parts)
    whole.uncompressed_bytes = len(content)
    whole.data = compress(content)
    return whole


def decode_whole(
    whole: pb.Whole, records: int, rows: int
) -> tuple[list[dict[int, np.ndarray]], list[dict[int, np.ndarray]]]:
    """Return gradients and values, each as one mapping from row to array for every record.

    Raises:
        FormatError: If an entry has indices outside the segment, or the number of bytes is wrong.
    """
    gradients: list[dict[int, np.ndarray]] = [{} for _ in range(records)]
    values: list[dict[int, np.ndarray]] = [{} for _ in range(records)]
    entries = list(_entries(whole, records, rows))
    content = decompress(whole.data, whole.uncompressed_bytes, "whole tensors") if entries else b""
    offset = 0
    for (record, row, is_value), dtype, shape in entries:
        count = math.prod(shape)
        size = count * dtype.itemsize
        if offset + size > len(content):
            raise FormatError("whole tensors: expected the bytes of all shapes, got fewer.")
        array = np.frombuffer(content, dtype, count, offset).reshape(shape)
        (values if is_value else gradients)[record][row] = array
        offset += size
    if offset != len(content):
        raise FormatError("whole tensors: expected the bytes of all shapes, got more.")
    return gradients, values


def _entries(
    whole: pb.Whole, records: int, rows: int
) -> Iterator[tuple[tuple[int, int, bool], np.dtype, tuple[int, ...]]]:
    count = len(whole.record)
    columns = (whole.row, whole.is_value, whole.type, whole.rank)
    if any(len(column) != count for column in columns) or sum(whole.rank) != len(whole.size):
        raise FormatError("whole tensors: expected columns of one length, got several.")
    sizes = iter(whole.size)
    for record, row, is_value, number, rank in zip(whole.record, *columns):
        if record >= records or row >= rows or rank > limits.MAX_RANK:
            raise FormatError(
                f"whole tensors: expected a record below {records}, a row below {rows} and a rank "
                f"of at most {limits.MAX_RANK}, got {record}, {row} and {rank}."
            )
        shape = tuple(next(sizes) for _ in range(rank))
        if math.prod(shape) * DTYPES[pb.COMPLEX128].itemsize > 16 * limits.MAX_CHUNK_BYTES:
            raise FormatError(f"whole tensors: expected a tensor that fits, got shape {shape}.")
        yield (record, row, is_value), dtype_of(number, "whole tensors"), shape
