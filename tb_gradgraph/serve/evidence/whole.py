"""Tensors kept whole: the small ones beside the statistics, a large one in an answer of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from tb_gradgraph.serve.request.answer import BINARY, Answer
from tb_gradgraph.serve.request.find import find_entry
from tb_gradgraph.serve.request.frames import encode_frame, flat_numbers
from tb_gradgraph.serve.request.parameters import Parameters, bad_request, not_found
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader

#: Most elements of whole tensors in one header, and of one tensor in an answer of its own.
WHOLE_ELEMENTS = 2**18
TENSOR_ELEMENTS = 2**22

What = Literal["gradient", "value"]
_WHAT: tuple[What, ...] = ("gradient", "value")


@dataclasses.dataclass(frozen=True)
class _Kept:
    """One tensor that is kept whole."""

    record: int  # among those asked for
    row: int
    what: What
    array: np.ndarray


def list_whole(
    reader: Reader, run: RunView, entries: Sequence[Entry], rows: Sequence[int | None] | None = None
) -> tuple[list[dict[str, Any]], list[tuple[int, int, What]]]:
    """List whole tensors of given rows (of all if None), the smallest first while there is room.

    Returns:
        One item a record and row, in that order; and record, row and kind of those left out.
    """
    kept = list(_list_kept(reader, run, entries, rows))
    items: dict[tuple[int, int], dict[str, Any]] = {}
    left_out: list[tuple[int, int, What]] = []
    room = WHOLE_ELEMENTS
    for one in sorted(kept, key=lambda one: one.array.size):
        room -= one.array.size
        if room < 0:
            left_out.append((one.record, one.row, one.what))
            continue
        place = (one.record, one.row)
        item = items.setdefault(place, {"record": one.record, "row": one.row})
        item[one.what] = flat_numbers(one.array)
    return [items[place] for place in sorted(items)], sorted(left_out)


def _list_kept(
    reader: Reader, run: RunView, entries: Sequence[Entry], rows: Sequence[int | None] | None
) -> Iterator[_Kept]:
    for record, entry in enumerate(entries):
        for what, arrays in zip(_WHAT, reader.whole(run, entry)):
            for row, array in arrays.items():
                if rows is None or rows[record] == row:
                    yield _Kept(record, row, what, array)


def answer_tensor(reader: Reader, parameters: Parameters) -> Answer:
    """Give one whole tensor of one row of one record."""
    run, entry = find_entry(reader, parameters)
    row, what = parameters.integer("row"), parameters.choice("what", _WHAT)
    if not 0 <= row < entry.rows:
        raise not_found(f"Expected a row below {entry.rows}, got {row}.")
    array = dict(zip(_WHAT, reader.whole(run, entry)))[what].get(row)
    if array is None:
        raise not_found(
            f"Expected a row whose {what} was kept whole, got row {row}: of others only statistics are kept."
        )
    if array.size > TENSOR_ELEMENTS:
        raise bad_request(
            f"Expected a tensor of at most {TENSOR_ELEMENTS} elements, got one of {array.size}."
        )
    header = {
        "run": run.name,
        "tag": entry.tag,
        "hash": entry.graph_hash,
        "step": entry.step,
        "backward_pass": entry.backward_pass,
        "stage": entry.stage,
        "row": row,
        "what": what,
        "shape": list(array.shape),
        "dtype": array.dtype.name,
    }
    return Answer(encode_frame(header, {"elements": _real(array)}, wide=True), BINARY)


def _real(array: np.ndarray) -> np.ndarray:
    """Give complex numbers a last axis of real and imaginary part, and integers as float64."""
    if array.dtype.kind == "c":
        part = array.real.dtype
        return np.ascontiguousarray(array).reshape(-1).view(part).reshape(*array.shape, 2)
    return array.astype(np.float64) if array.dtype.kind in "iu" else array
