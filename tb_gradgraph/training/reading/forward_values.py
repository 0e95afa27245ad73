"""Read the values that the forwards of a training step make, for the backwards that follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from tb_gradgraph.autograd import MadeTensors, ModuleOutputs, sequence_nr
from tb_gradgraph.statistics import StatisticsTable
from tb_gradgraph.summarize import ChosenStatistics, KeyedBatch, sample_limit
from tb_gradgraph.training.reading.batches import SAMPLE_BUDGET
from tb_gradgraph.training.reading.numbers import share_values
from tb_gradgraph.training.reading.structures import Met, Structure
from tb_gradgraph.training.reading.weight_values import WeightValues

#: How many rows a graph is taken to have before the first one is known.
_ROWS = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class PassValues:
    """The values of one pass, on their way to the host.

    Attributes:
        parts: The statistics of weights, and of what modules or operations made.
        structure: The graph whose rows they fill.
    """

    parts: tuple[ChosenStatistics, ...]
    structure: Structure

    def collect(self) -> tuple[StatisticsTable, dict[int, np.ndarray], dict[int, str]]:
        """Return the table, the tensors kept whole, and why rows could not be read; waits for the copy."""
        first, *others = self.parts
        table, whole, unread = first.collect()
        for part in others:
            more, kept, failed = part.collect()
            rows = more.present
            table.values[rows], table.histogram[rows] = more.values[rows], more.histogram[rows]
            table.present[rows] = True
            whole.update(kept)
            unread.update(failed)
        share_values(table, self.structure.replay.equal_values)
        return table, whole, unread


class ForwardValues:
    """Follows the forwards of a step from ``attach`` to ``remove``."""

    def __init__(self, level: str, rows: int) -> None:
        """Prepare.

        Args:
            level: What is read, as for ``watch``; "": nothing.
            rows: The rows of the last graph; 0 if there was none.
        """
        self._level = level
        sample = sample_limit(rows or _ROWS, SAMPLE_BUDGET)
        self._batch = KeyedBatch(sample)
        self._weights = WeightValues(sample)
        self._made = MadeTensors(self._batch.add, self._batch.note)
        self._outputs = (
            ModuleOutputs(self._made, self._batch.clear) if level not in ("", "param") else None
        )

    def attach(self) -> None:
        """Begin to follow forwards."""
        if self._outputs is not None:
            self._outputs.attach()

    def check(self) -> None:
        """Raise our own error, if one happened within the user's forward."""
        if self._outputs is not None and self._outputs.failure is not None:
            raise self._outputs.failure

    def remove(self) -> None:
        """Stop following. A second call does nothing."""
        if self._outputs is not None:
            self._outputs.remove()

    def of_pass(
        self, met: Met, parameters: Sequence[torch.Tensor], roots: Sequence[Any]
    ) -> PassValues | None:
        """Return the values behind a backward from ``roots`` that is about to run; None if none are read."""
        if not self._level:
            return None
        self._made.see_all(root for root in roots if isinstance(root, torch.Tensor))
        structure, rows = met.structure, met.structure.graph.row_count
        weights = self._weights.choose(rows, parameters, structure.parameter_rows)
        made = self._batch.choose(rows, _keys_of(met))
        return PassValues((weights, made), structure)

    def placements(self, met: Met) -> Mapping[int, str]:
        """Return the placement of values of which this process has only a part, by row."""
        placed = self._made.placements
        if not placed:
            return {}
        return {row: placed[key] for key, rows in _keys_of(met) if key in placed for row in rows}


def _keys_of(met: Met) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
    """Yield the key of each slot that is read, with its rows."""
    order = met.order
    for place, slots in met.structure.replay.rows_at.items() if order else ():
        number = sequence_nr(order[place])
        for nr, rows in enumerate(slots):
            if rows:
                yield (number, nr), rows
