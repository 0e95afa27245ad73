"""The numbers of the user's own statistics, on their way to the host."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
import torch

from tb_gradgraph.autograd import name_of_row
from tb_gradgraph.graph import Graph
from tb_gradgraph.own_statistics import OwnMeasure
from tb_gradgraph.summarize import Transfer
from tb_gradgraph.training.own.own_calls import Found, OwnCalls
from tb_gradgraph.training.own.registry import Statistic

#: Which rows each statistic is run on.
OwnRows = Mapping[Statistic, frozenset[int]]
#: Numbers of a record by name and row, and what is known about them by name.
OwnFound = tuple[dict[str, dict[int, float]], dict[str, OwnMeasure]]
#: How many numbers a record holds at most.
MOST_NUMBERS = 2**16


class _Copy:
    """One copy of numbers from a device to the host, which is awaited once."""

    def __init__(self, device: torch.device, elements: Sequence[torch.Tensor]) -> None:
        self._transfer = Transfer(device, elements)
        self._lock = threading.Lock()
        self._read: list[np.ndarray] | None = None

    def number(self, place: int) -> float:
        """Return one number; waits for the copy."""
        with self._lock:
            if self._read is None:
                self._read = self._transfer.wait()
            return float(self._read[place][0])


class _Entry:
    """What one statistic gave for one tensor: numbers by name, or the error."""

    def __init__(self, found: dict[str, Found], error: Exception | None) -> None:
        self.found = found
        self.error = error
        self.copies: dict[str, tuple[_Copy, int]] = {}

    def read(self) -> dict[str, float]:
        """Return the numbers; waits for copies."""
        read = {name: copy.number(place) for name, (copy, place) in self.copies.items()}
        known = {name: one for name, one in self.found.items() if isinstance(one, float)}
        return {**known, **read}


class OwnNumbers:
    """Runs statistics on tensors that are known by a key. Several threads may do so.

    No tensor is held, and nothing waits for a device.
    """

    def __init__(self, calls: OwnCalls) -> None:
        self._calls = calls
        self._entries: dict[tuple[Statistic, Hashable], _Entry] = {}
        self._waiting: list[_Entry] = []  # entries with tensors on a device

    def __contains__(self, of: tuple[Statistic, Hashable]) -> bool:
        return of in self._entries

    def compute(self, statistic: Statistic, key: Hashable, tensor: torch.Tensor) -> None:
        """Run a statistic on a plain tensor. An error is kept in place of the number."""
        try:
            entry = _Entry(self._calls.run(statistic, tensor), None)
        except Exception as error:
            entry = _Entry({}, error.with_traceback(None))
        self._entries[statistic, key] = entry
        if any(not isinstance(one, float) for one in entry.found.values()):
            self._waiting.append(entry)

    def clear(self) -> None:
        """Forget all numbers."""
        self._entries.clear()
        self._waiting.clear()

    def choose(
        self, keys: Iterable[tuple[Hashable, Sequence[int]]], rows: OwnRows
    ) -> ChosenOwnNumbers:
        """Return the numbers of keys, each for those of the rows given with it that are in ``rows``."""
        self._send()
        chosen = [
            (statistic, row, entry)
            for key, of_key in keys
            for statistic, wanted in rows.items()
            if (entry := self._entries.get((statistic, key))) is not None
            for row in of_key
            if row in wanted
        ]
        return ChosenOwnNumbers(self._calls, chosen)

    def _send(self) -> None:
        """Begin one copy to the host for each device."""
        waiting, self._waiting = self._waiting, []
        by_device: dict[torch.device, list[tuple[_Entry, str, torch.Tensor]]] = {}
        for entry in waiting:
            for name, one in entry.found.items():
                if isinstance(one, torch.Tensor):
                    by_device.setdefault(one.device, []).append((entry, name, one))
            entry.found = {name: one for name, one in entry.found.items() if isinstance(one, float)}
        for device, elements in by_device.items():
            copy = _Copy(device, [one for _, _, one in elements])
            for place, (entry, name, _) in enumerate(elements):
                entry.copies[name] = (copy, place)


class ChosenOwnNumbers:
    """The numbers of one record."""

    def __init__(
        self, calls: OwnCalls, chosen: Sequence[tuple[Statistic, int, _Entry]] = ()
    ) -> None:
        self._calls = calls
        self._chosen = chosen

    def collect(self, graph: Graph) -> OwnFound:
        """Return the numbers, and tell the first error of each statistic; waits for copies."""
        numbers: dict[str, dict[int, float]] = {}
        names: dict[str, Statistic] = {}  # of numbers
        failed: dict[str, Statistic] = {}
        count = 0
        for statistic, row, entry in self._chosen:
            if entry.error is not None:
                self._calls.note(statistic, name_of_row(graph, row), entry.error)
                failed[statistic.name] = statistic
            for name, number in entry.read().items():
                count += 1
                if count > MOST_NUMBERS:
                    self._calls.note(statistic, name_of_row(graph, row), _too_many())
                    break
                names[name] = statistic
                numbers.setdefault(name, {})[row] = number
        without = {name: one for name, one in failed.items() if one not in names.values()}
        of_names = {**names, **without}
        return numbers, {name: self._calls.measure(one) for name, one in of_names.items()}


def _too_many() -> Exception:
    return ValueError(f"a record holds at most {MOST_NUMBERS} numbers of own statistics")
