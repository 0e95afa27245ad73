"""List tensors kept whole. The small ones are sent together with the statistics."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from tb_gradgraph.serve.request.frames import flat_numbers
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader

#: How many elements of whole tensors one header holds at most.
WHOLE_ELEMENTS = 2**18

What = Literal["gradient", "value"]
WHAT: tuple[What, ...] = ("gradient", "value")


@dataclasses.dataclass(frozen=True)
class _Kept:
    """One tensor that is kept whole."""

    record: int  # its index among the requested records
    row: int
    what: What
    array: np.ndarray


def list_whole(
    reader: Reader, run: RunView, entries: Sequence[Entry], rows: Sequence[int | None] | None = None
) -> tuple[list[dict[str, Any]], list[tuple[int, int, What]]]:
    """List whole tensors of the given rows (None: all), as many as fit, preferring small ones.

    Returns:
        One item for each record and row, in that order. Also record, row and kind of each tensor
        that is left out.
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
        for what, arrays in zip(WHAT, reader.whole(run, entry)):
            for row, array in arrays.items():
                if rows is None or rows[record] == row:
                    yield _Kept(record, row, what, array)
