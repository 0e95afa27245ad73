"""Give tensors the next rows of a table as they come, by compiled code if it was built."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

import torch

from tb_gradgraph.summarize.native import compiled, is_available


class Rows(Protocol):
    """The present piece of a table, and its next row."""

    row: int

    @property
    def piece(self) -> int:
        """The number of the present piece."""

    def begin(self, reducer: Any, piece: int) -> None:
        """Begin a piece, whose tensors a compiled ``Reducer`` takes."""

    def add(self, key: Hashable, tensor: torch.Tensor) -> bool:
        """Take a tensor and note its piece and row under ``key``; return whether this was possible."""

    def reader(self, kinds: set[type], guard: Any) -> Any:
        """Return what adds results of operations; None if there is no compiled code."""


class _PlainRows:
    """Rows that only Python fills."""

    def __init__(self) -> None:
        self.piece = 0
        self.row = 0

    def begin(self, reducer: Any, piece: int) -> None:
        """Begin a piece."""
        self.piece, self.row = piece, 0

    def add(self, key: Hashable, tensor: torch.Tensor) -> bool:
        """Take no tensor."""
        return False

    def reader(self, kinds: set[type], guard: Any) -> Any:
        """Return None."""
        return None


class NativeReader:
    """Adds results of operations to rows, in compiled code."""

    def __init__(self, made: Any) -> None:
        self._made = made
        #: ``see(tensor, may_skip)`` returns whether Python need not look at a tensor.
        self.see = made.see

    def call_reader(self, *asked: Any) -> Any:
        """Make what stands for the method of a function mode; the arguments are those of calls.c."""
        return compiled.call_reader(self._made, *asked)


class NativeRows:
    """Rows that compiled code fills."""

    def __init__(self, places: dict[Any, tuple[int, int]], most: int) -> None:
        self._keyed = compiled.Keyed(places, most)
        self.begin = self._keyed.begin
        self.add = self._keyed.add

    @property
    def piece(self) -> int:
        """The number of the present piece."""
        return self._keyed.piece

    @property
    def row(self) -> int:
        """The next row."""
        return self._keyed.row

    @row.setter
    def row(self, row: int) -> None:
        self._keyed.row = row

    def reader(self, kinds: set[type], guard: Any) -> Any:
        """Return what adds results of operations.

        Args:
            kinds: Kinds of autograd nodes of C++ whose results have no further statistics. Results
                of others are left to Python.
            guard: Makes a block in which no mode notices functions of torch.
        """
        return NativeReader(compiled.Made(self._keyed, kinds, guard))


def rows_of_keys(places: dict[Any, tuple[int, int]], most: int) -> Rows:
    """Return what fills rows, and notes them in ``places``; a piece has ``most`` rows."""
    if is_available() and hasattr(compiled, "Keyed"):  # an older build lacks it
        return NativeRows(places, most)
    return _PlainRows()
