"""The results of a batch, on their way to the host."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, MutableMapping, Sequence

import numpy as np
import torch

from tb_gradgraph.errors import reason_of
from tb_gradgraph.statistics import LINEAR_COLUMNS, StatisticsTable
from tb_gradgraph.summarize.arithmetic.end_to_end import WholeBlock
from tb_gradgraph.summarize.arithmetic.sample import divided
from tb_gradgraph.summarize.arithmetic.statistic_columns import statistics_of_moments
from tb_gradgraph.summarize.arithmetic.transfer import Transfer


@dataclasses.dataclass(slots=True)
class Entries:
    """The tensors of a batch: lists with one entry for each tensor."""

    rows: list[int] = dataclasses.field(default_factory=list)
    tickets: list[int] = dataclasses.field(default_factory=list)  # of equal rows, the later counts
    numel: list[int] = dataclasses.field(default_factory=list)  # all elements, stored or not

    def add(self, row: int, ticket: int, numel: int) -> None:
        """Note one tensor."""
        self.rows.append(row)
        self.tickets.append(ticket)
        self.numel.append(numel)

    def in_order(self, order: np.ndarray) -> np.ndarray:
        """Return the entries as an array with one row each for rows, tickets and numel."""
        return np.array((self.rows, self.tickets, self.numel))[:, order]


@dataclasses.dataclass(frozen=True)
class Part:
    """Tensors of one device and type, reduced as far as possible without the host.

    Attributes:
        entries: Rows, tickets and numel of the tensors, as ``Entries.in_order`` returns them.
        tensors: Tensors on one device, which the host needs as arrays.
        read: Makes moments and histograms from these arrays (flat) and the number that divides
            every element.
    """

    entries: np.ndarray
    tensors: Sequence[torch.Tensor]
    read: Callable[[Sequence[np.ndarray], float | None], tuple[np.ndarray, np.ndarray]]


class PendingStatistics:
    """Statistics whose numbers have not reached the host yet.

    Attributes:
        unread: Rows that could not be read, and why. It is complete after ``collect``.
    """

    def __init__(
        self,
        rows: int,
        parts: Sequence[Part],
        blocks: Sequence[WholeBlock],
        divide_by: torch.Tensor | None = None,
        unread: MutableMapping[int, str] | None = None,
    ) -> None:
        self.unread: MutableMapping[int, str] = {} if unread is None else unread
        self._rows = rows
        self._parts = parts
        self._blocks = blocks
        by_device: dict[torch.device, list[torch.Tensor]] = {}
        for tensor in self._tensors(divide_by):
            by_device.setdefault(tensor.device, []).append(tensor)
        self._transfers = {
            device: Transfer(device, tensors) for device, tensors in by_device.items()
        }
        self._places = [tensor.device for tensor in self._tensors(divide_by)]
        self._divided = divide_by is not None

    def collect(self) -> tuple[StatisticsTable, dict[int, np.ndarray]]:
        """Wait for the copies; return the statistics, and the tensors kept whole by row.

        May be called once, on any thread.
        """
        arrays = _in_order(self._places, {d: t.wait() for d, t in self._transfers.items()})
        divisor = float(arrays.pop()[0]) if self._divided else None
        parts, found = [], []
        for part in self._parts:
            count = len(part.tensors)
            try:
                found.append(part.read(arrays[:count], divisor))
                parts.append(part)
            except Exception as error:
                for row in part.entries[0].tolist():
                    self.unread.setdefault(row, reason_of(error))
            del arrays[:count]
        table = _table_of(self._rows, parts, found, divisor)
        table.present[list(self.unread)] = False
        whole: dict[int, np.ndarray] = {}
        for block, array in zip(self._blocks, arrays):
            whole.update(block.split(divided(array, divisor)))
        return table, whole

    def _tensors(self, divide_by: torch.Tensor | None) -> list[torch.Tensor]:
        tensors = [tensor for part in self._parts for tensor in part.tensors]
        tensors += [block.tensor for block in self._blocks]
        return tensors if divide_by is None else [*tensors, divide_by]


def _in_order(
    places: Sequence[torch.device], arrays: Mapping[torch.device, list[np.ndarray]]
) -> list[np.ndarray]:
    queues = {device: iter(found) for device, found in arrays.items()}
    return [next(queues[device]) for device in places]


def _table_of(
    rows: int,
    parts: Sequence[Part],
    found: Sequence[tuple[np.ndarray, np.ndarray]],
    divisor: float | None,
) -> StatisticsTable:
    table = StatisticsTable.empty(rows)
    if not parts:
        return table
    row, tickets, numel = np.concatenate([part.entries for part in parts], axis=1)
    values = statistics_of_moments(
        np.concatenate([moments for moments, _ in found]), numel.astype(np.float64)
    )
    if divisor is not None:
        values[:, LINEAR_COLUMNS] = divided(values[:, LINEAR_COLUMNS], divisor)
    histograms = np.concatenate([histogram for _, histogram in found])
    if (np.diff(tickets) < 0).any():
        order = np.argsort(tickets, kind="stable")
        row, values, histograms = row[order], values[order], histograms[order]
    table.values[row] = values  # if a row occurs twice, the last one counts
    table.histogram[row] = histograms
    table.present[row] = True
    return table
