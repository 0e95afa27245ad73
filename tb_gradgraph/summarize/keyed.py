"""Statistics of tensors that are found by a key later, because their rows are not known yet."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from tb_gradgraph.statistics import STATISTICS, WHOLE_LIMIT, StatisticsTable, ValueMeaning
from tb_gradgraph.summarize.arithmetic.transfer import Transfer
from tb_gradgraph.summarize.arithmetic.units import further_statistics
from tb_gradgraph.summarize.batch import StatisticsBatch
from tb_gradgraph.summarize.native import NativeCounts, is_available
from tb_gradgraph.summarize.native_rows import rows_of_keys
from tb_gradgraph.summarize.pending import PendingStatistics

#: How many tensors are reduced to one piece, and how many pieces are held before the oldest goes: an
#: evaluation may run many forwards that no backward follows.
PIECE = 4096
MOST_PIECES = 32
_NOWHERE = (-1, -1)  # number of the piece, row in it


class _Further:
    """Numbers of statistics that only some values have. Those on devices are copied together."""

    def __init__(self) -> None:
        self._found: list[tuple[int, int, float]] = []  # row, column, number
        self._waiting: dict[torch.device, list[tuple[int, int, torch.Tensor]]] = {}
        self._transfers: list[tuple[Transfer, Sequence[tuple[int, int, Any]]]] = []

    def add(self, row: int, name: str, number: torch.Tensor | float) -> None:
        """Note one number."""
        column = STATISTICS.index(name)
        if isinstance(number, torch.Tensor) and not number.is_cpu:
            self._waiting.setdefault(number.device, []).append((row, column, number))
        else:
            self._found.append((row, column, float(number)))

    def begin_copy(self) -> None:
        """Begin the copies to the host."""
        for device, entries in self._waiting.items():
            stacked = torch.stack([number for *_, number in entries])
            self._transfers.append((Transfer(device, [stacked]), entries))
        self._waiting.clear()

    def write_to(self, table: StatisticsTable) -> None:
        """Fill in the numbers; waits for the copies."""
        for transfer, entries in self._transfers:
            numbers = transfer.wait()[0].tolist()
            self._found += [(row, at, number) for (row, at, _), number in zip(entries, numbers)]
        for row, column, number in self._found:
            table.values[row, column] = number


class _Piece:
    """Tensors that were reduced together. Their numbers are collected when they are first asked for."""

    def __init__(self, pending: PendingStatistics, further: _Further) -> None:
        self._pending: PendingStatistics | None = pending
        self._further = further
        self._lock = threading.Lock()
        self.unread = pending.unread

    def collect(self) -> tuple[StatisticsTable, dict[int, np.ndarray]]:
        """Return the numbers and the tensors kept whole; waits for the copy to the host."""
        with self._lock:
            if self._pending is not None:
                self._found = self._pending.collect()
                self._further.write_to(self._found[0])
                self._pending = None
            return self._found


class ChosenStatistics:
    """The statistics of some keys, by row, on their way to the host."""

    def __init__(self, chosen: Sequence[tuple[_Piece, int, tuple[int, ...]]]) -> None:
        """Prepare. An entry says which row of which piece fills which rows of a table."""
        self._chosen = chosen

    def fill(
        self, table: StatisticsTable, whole: dict[int, np.ndarray], unread: dict[int, str]
    ) -> None:
        """Add statistics, tensors kept whole, and why rows could not be read; waits for the copy.

        Of two keys for one row, the later one counts.
        """
        for piece, places, rows in self._by_piece():
            found, kept = piece.collect()
            table.values[rows] = found.values[places]
            table.histogram[rows] = found.histogram[places]
            table.present[rows] = found.present[places]
            if kept or piece.unread:
                pairs = list(zip(places, rows))
                whole.update({row: kept[place] for place, row in pairs if place in kept})
                unread.update({row: piece.unread[at] for at, row in pairs if at in piece.unread})

    def _by_piece(self) -> Iterable[tuple[_Piece, list[int], list[int]]]:
        found: dict[int, tuple[_Piece, list[int], list[int]]] = {}
        for piece, place, rows in self._chosen:
            _, places, of_rows = found.setdefault(id(piece), (piece, [], []))
            places += [place] * len(rows)
            of_rows += rows
        return found.values()


class KeyedBatch:
    """Reduces tensors at once; no tensor is held. The numbers are found by key.

    Attributes:
        sample: How many elements of a tensor its histogram counts at most, from the next piece on.
    """

    def __init__(self, sample: int) -> None:
        self.sample = sample
        self._counts = NativeCounts() if is_available() else None
        self._places: dict[Hashable, tuple[int, int]] = {}  # number of the piece, row in it
        self._pieces: dict[int, _Piece] = {}
        self._rows = rows_of_keys(self._places, PIECE)
        self._begin(0)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._places

    def add(self, key: Hashable, tensor: torch.Tensor, meaning: ValueMeaning | None = None) -> None:
        """Read a tensor, which may change afterwards; ``meaning`` says which further statistics it has.

        A key that is added again stands for the later tensor.
        """
        if self._rows.row == PIECE:
            self._cut()
        row = self._rows.row
        if not self._batch.take_plain(row, tensor):
            self._batch.add(row, tensor, tensor.numel() <= WHOLE_LIMIT)
        if meaning is not None:
            for name, number in further_statistics(tensor, meaning, self._counts):
                self._further.add(row, name, number)
        self._places[key] = (self._rows.piece, row)
        self._rows.row = row + 1

    def add_plain(
        self, key: Hashable, tensor: torch.Tensor, meaning: ValueMeaning | None = None
    ) -> bool:
        """Do the same without running a function of torch; return whether this was possible."""
        row = self._rows.row
        if meaning is not None and (self._counts is None or not tensor.dim()):
            return False
        if not self._rows.add(key, tensor):
            return False
        if meaning is not None:
            for name, number in further_statistics(tensor, meaning, self._counts):
                self._further.add(row, name, number)
        return True

    def reader(self, kinds: set[type], guard: Any) -> Any:
        """Return compiled code that adds what operations have made; None if there is none.

        Its method ``see(tensor, may_skip)`` does what the one of ``MadeTensors`` does, or returns
        False. ``NativeRows.reader`` says what is needed.
        """
        return self._rows.reader(kinds, guard)

    def add_many_plain(
        self, keys: Sequence[Hashable], tensors: Sequence[torch.Tensor]
    ) -> Sequence[int]:
        """Do the same for many; return the places of the tensors that must be added in another way."""
        first = self._rows.row
        if first + len(keys) > PIECE:
            return range(len(keys))
        left = self._batch.add_plain(range(first, first + len(keys)), tensors)
        self._rows.row = first + len(keys)
        number, lacking = self._rows.piece, set(left)
        pairs = ((at, key) for at, key in enumerate(keys) if at not in lacking)
        self._places.update({key: (number, first + at) for at, key in pairs})
        return left

    def note(self, key: Hashable, error: Exception) -> None:
        """Note that the tensor of ``key`` could not be read."""
        if self._rows.row == PIECE:
            self._cut()
        row = self._rows.row
        self._batch.unread.note(row, error)
        self._places[key] = (self._rows.piece, row)
        self._rows.row = row + 1

    def clear(self) -> None:
        """Forget all tensors."""
        self._places.clear()
        self._pieces.clear()
        self._begin(self._rows.piece)

    def choose(self, wanted: Iterable[tuple[Hashable, tuple[int, ...]]]) -> ChosenStatistics:
        """Return the statistics of keys. Each will fill the rows of a table that are given with it."""
        if self._rows.row:
            self._cut()
        pieces, find = self._pieces, self._places.get
        found = [(find(key, _NOWHERE), rows) for key, rows in wanted]
        return ChosenStatistics([(pieces[n], at, rows) for (n, at), rows in found if n in pieces])

    def _begin(self, piece: int) -> None:
        self._batch = StatisticsBatch(PIECE, PIECE * self.sample, keeps_small=True)
        self._further = _Further()
        self._batch.fill(self._rows, piece)

    def _cut(self) -> None:
        """Begin a new piece."""
        self._further.begin_copy()
        piece = self._rows.piece
        self._pieces[piece] = _Piece(self._batch.reduce(rows=self._rows.row), self._further)
        oldest = piece - MOST_PIECES
        if self._pieces.pop(oldest, None) is not None:
            for key in [key for key, at in self._places.items() if at[0] <= oldest]:
                del self._places[key]
        self._begin(piece + 1)
