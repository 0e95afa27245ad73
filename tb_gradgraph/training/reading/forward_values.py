"""Read the values that the forwards of a training step make, for the backwards that follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from tb_gradgraph.autograd import (
    HAS_NUMBERS,
    CallResults,
    GivenTensors,
    MadeTensors,
    ModuleOutputs,
    sequence_nr,
)
from tb_gradgraph.statistics import StatisticsTable, ValueMeaning
from tb_gradgraph.summarize import ChosenStatistics, KeyedBatch, sample_limit
from tb_gradgraph.training.own.own_calls import OwnCalls
from tb_gradgraph.training.own.own_numbers import ChosenOwnNumbers
from tb_gradgraph.training.own.own_reading import OwnWeights
from tb_gradgraph.training.own.own_values import OwnValues, Places
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
        parts: The statistics of weights, and of what modules or operations got and made.
        structure: The graph whose rows they fill.
        placements: The placement of values of which this process has only a part, by row.
        own: What the user's own statistics gave for weights and values.
    """

    parts: tuple[ChosenStatistics, ...]
    structure: Structure
    placements: Mapping[int, str]
    own: tuple[ChosenOwnNumbers, ...]

    def collect(self) -> tuple[StatisticsTable, dict[int, np.ndarray], dict[int, str]]:
        """Return the table, the tensors kept whole, and why rows could not be read; waits for the copy."""
        table = StatisticsTable.empty(self.structure.graph.row_count)
        whole: dict[int, np.ndarray] = {}
        unread: dict[int, str] = {}
        for part in self.parts:
            part.fill(table, whole, unread)
        share_values(table, self.structure.replay.equal_values)
        return table, whole, unread


class _Both:
    """Gives each tensor to the statistics of ours, if they are read, and to the user's own."""

    def __init__(self, batch: KeyedBatch | None, own: OwnValues) -> None:
        self._batch = batch
        self._own = own

    def add(self, key: Any, tensor: torch.Tensor, meaning: ValueMeaning | None = None) -> None:
        """Read a tensor."""
        if self._batch is not None:
            self._batch.add(key, tensor, meaning)
        self._own.see(key, tensor)

    def clear(self) -> None:
        """Forget all tensors."""
        if self._batch is not None:
            self._batch.clear()
        self._own.clear()


def _takes_none(_key: object, _tensor: torch.Tensor, _meaning: object) -> bool:
    """Take no tensor."""
    return False


class ForwardValues:
    """Follows the forwards of a step from ``attach`` to ``remove``."""

    def __init__(
        self,
        level: str,
        last: Structure | None,
        wants_names: bool,
        reads: bool,
        calls: OwnCalls,
        places: Places,
        inputs: set[int] | None,
    ) -> None:
        """Prepare.

        Args:
            level: What is read, as for ``watch``.
            last: The structure of an earlier pass, which the next one probably has too.
            wants_names: Whether the next graph may be new, so that ``inside`` is needed.
            reads: Whether statistics of values are read.
            calls: The statistics of the user's own to run, whether or not ``reads``.
            places: Belongs to the watch, as for ``OwnValues``.
            inputs: Where inputs are expected, as for ``GivenTensors``.
        """
        self._reads = reads
        sample = sample_limit(_ROWS if last is None else last.graph.row_count, SAMPLE_BUDGET)
        self._batch = batch = KeyedBatch(sample)
        self._weights = WeightValues(sample)
        self._own = own = OwnValues(calls, places)
        self._own_weights = OwnWeights(calls)
        both = _Both(batch if reads else None, own)
        takes = (batch.add, batch.add_plain, batch.note, batch.__contains__)
        self._made = made = MadeTensors(*takes, make_reader=batch.reader)
        if own.is_any:
            knows = own.__contains__
            self._made = made = MadeTensors(both.add, _takes_none, batch.note, knows, own.see)
        take: Any = both.add if own.is_any else batch.add
        self._given = GivenTensors(take, inputs)
        self._outputs: ModuleOutputs | None = None
        if (reads or own.is_any) and level in ("module", "op") and HAS_NUMBERS:
            seen = CallResults(made, wants_names) if level == "op" else None
            self._outputs = ModuleOutputs(made, self._given, both.clear, seen)

    @property
    def inside(self) -> Mapping[int, str]:
        """The names of calls that made several nodes, by the number of the node."""
        calls = None if self._outputs is None else self._outputs.calls
        return {} if calls is None else calls.inside

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
        if HAS_NUMBERS and (self._reads or self._own.is_any):
            self._made.see_all(root for root in roots if isinstance(root, torch.Tensor))
        structure = met.structure
        is_any = self._reads or self._own.is_any
        keys = [*_keys_of(met), *self._keys_of_inputs(met)] if is_any else []
        parts = self._parts(structure, parameters, keys) if self._reads else ()
        of_rows = (parameters, structure.parameter_rows, structure.own_rows)
        own = (self._own_weights.choose(*of_rows), self._own.choose(keys, structure.own_rows))
        self._given.begin_round()
        chosen = tuple(one for one in own if one is not None)
        if not parts and not chosen:
            return None
        return PassValues(parts, structure, self._placements(met), chosen)

    def _parts(
        self, structure: Structure, parameters: Sequence[torch.Tensor], keys: Sequence[Any]
    ) -> tuple[ChosenStatistics, ...]:
        weights = self._weights.choose(parameters, structure.parameter_rows)
        return weights, self._batch.choose(keys)

    def _placements(self, met: Met) -> Mapping[int, str]:
        placed = self._made.placements
        if not placed:
            return {}
        return {row: placed[key] for key, rows in _keys_of(met) if key in placed for row in rows}

    def _keys_of_inputs(self, met: Met) -> Iterator[tuple[Any, tuple[int, ...]]]:
        structure, given = met.structure, self._given
        if met.is_new:
            structure.inputs.learn(structure.given_rows, met.order, given)
        for place, row in structure.inputs.find(met.order, given):
            yield given.key(place), (row,)


def _keys_of(met: Met) -> list[tuple[tuple[int, int], tuple[int, ...]]]:
    """Return the key of each slot that is read, with its rows."""
    order = met.order if HAS_NUMBERS else ()
    slots = met.structure.replay.slots_to_read if order else ()
    return [((sequence_nr(order[place]), nr), rows) for place, nr, rows in slots]
