"""Collect the numbers of one recorded step, and make its records."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import torch

from tb_gradgraph.autograd import warn_of_unread
from tb_gradgraph.graph import CLEARED, Record
from tb_gradgraph.quantities import grad_norm
from tb_gradgraph.statistics import FORWARD, StatisticsTable
from tb_gradgraph.summarize import whole_arrays
from tb_gradgraph.training.own.own_record import with_own
from tb_gradgraph.training.quantities.adam_moments import total_moments
from tb_gradgraph.training.quantities.late_number import LateNumber, read_known
from tb_gradgraph.training.quantities.loss_terms import TermNumbers
from tb_gradgraph.training.quantities.noise_scale import noise_scale
from tb_gradgraph.training.quantities.notes import Latest, named_by_series
from tb_gradgraph.training.quantities.totals import clip_factor, loss_of
from tb_gradgraph.training.reading.numbers import Numbers, Whole, joined, only, was_clipped
from tb_gradgraph.training.reading.pass_numbers import PassNumbers
from tb_gradgraph.training.step.applied import AppliedPart, HiddenChanges
from tb_gradgraph.training.step.late_scale import LossScale, scaled
from tb_gradgraph.training.step.passes import Pass, StepEnd, StepPlace
from tb_gradgraph.training.step.unused import Cleared

#: How many backward passes of a step get their own record. Of later ones (with very many
#: micro-batches) only the accumulated gradient is kept.
MOST_PASSES = 8

ValueT = TypeVar("ValueT")


@dataclasses.dataclass(slots=True)
class StepRecords:
    """Numbers of one step. ``made``, ``of_pass`` and ``of_step`` run on the session's thread."""

    place: StepPlace
    scale: LossScale  # for passes that ran before the scaler was found
    hidden: HiddenChanges
    last: Pass | None = None
    count: int = 0  # how many backward passes
    passes: list[Pass] = dataclasses.field(default_factory=list)  # the first of them
    ends: list[StepEnd] = dataclasses.field(default_factory=list)
    cleared: list[Cleared] = dataclasses.field(default_factory=list)
    wall_time: float = dataclasses.field(default_factory=time.time)
    told: set[str] = dataclasses.field(default_factory=set)  # nodes that a warning has named
    notes: dict[str, LateNumber] = dataclasses.field(default_factory=dict)  # the user's numbers
    latest: Latest = dataclasses.field(default_factory=Latest)
    _found: dict[str, float] = dataclasses.field(default_factory=dict)  # quantities so far

    def add(
        self,
        found: PassNumbers,
        factor: torch.Tensor | None,
        scale: LossScale | None = None,
        terms: TermNumbers | None = None,
    ) -> Pass:
        """Add a backward pass, out of which ``factor`` or else ``scale`` was divided."""
        scale = scale or (self.scale if factor is None else LossScale(factor))
        self.last = Pass(found, self.count, scale, terms)
        self.count += 1
        if len(self.passes) < MOST_PASSES:
            self.passes.append(self.last)
        return self.last

    @property
    def own_count(self) -> int:
        """Return how many passes belong to this training, as far as is known."""
        return self.count - sum(len(some.passes) for some in self.cleared if some.is_lent)

    def is_own(self, found: Pass) -> bool:
        """Return whether a pass belongs to this training, as far as is known."""
        return not any(found.number in some.passes for some in self.cleared if some.is_lent)

    def forget_after(self, number: int) -> None:
        """Leave out the passes after number ``number``."""
        self.count = number + 1
        self.passes = [one for one in self.passes if one.number <= number]
        self.last = self.ends[-1].last if self.ends else None

    def end(self) -> StepEnd:
        """Return the ``StepEnd`` of the last pass.

        Optimizers that step after different passes, as those of a GAN do, each have their own.
        """
        if self.last is None:
            raise AssertionError("a step without a backward has no end")
        if not self.ends or self.ends[-1].last is not self.last:
            scale = self.last.scale if self.last.scale.is_known else self.scale
            self.ends.append(StepEnd(self.last, scale))
        return self.ends[-1]

    def made(self, make: Callable[[], Sequence[Record]], is_last: bool) -> Sequence[Record]:
        """Make records, and note their quantities. The last record of a step gets the user's numbers."""
        records = list(make())
        if is_last and records and self.notes:
            quantities = {**records[-1].quantities, **read_known(self.notes)}
            records[-1] = dataclasses.replace(records[-1], quantities=quantities)
        self._found.update(named_by_series(records))
        if is_last:
            self.latest.found = dict(self._found)
        return records

    def of_pass(self, found: Pass) -> list[Record]:
        """Return the record of one backward pass."""
        cleared = [some for some in self.cleared if found.number in some.passes]
        if any(some.is_lent and some.is_so.read() for some in cleared):
            return []
        table, whole = scaled(found.numbers.gradients, found.scale)
        values = whole_arrays(found.numbers.values)
        unread = found.numbers.gradients.unread
        of_pass = (found, "backward", table, whole, found.scale, unread)
        roots = [values.get(row) for row in found.numbers.structure.root_rows]
        loss = loss_of(roots, found.scale.read())
        terms, why = ({}, {}) if found.terms is None else found.terms.read(found.scale.read())
        record = self._record(*of_pass, values=values, quantities={**loss, **terms})
        record = dataclasses.replace(record, quantity_reasons=why)
        graph, is_late = found.numbers.structure.graph, found.scale.is_late
        record = with_own(record, graph, (found.numbers.own,), is_late)
        return [*self._of_forward(found), record]

    def _of_forward(self, found: Pass) -> list[Record]:
        """Return the record of what the forward of a pass computed with and made, if it was read."""
        if found.numbers.forward is None:
            return []
        table, values, unread = found.numbers.forward.collect()
        record = self._record(found, FORWARD, table, {}, LossScale(), unread, values=values)
        return [with_own(record, found.numbers.structure.graph, found.numbers.forward.own)]

    def of_step(self) -> list[Record]:
        """Return the records of the stages after the backward passes."""
        return [record for end in self.ends for record in self._of_end(end)]

    def _of_end(self, end: StepEnd) -> list[Record]:
        numbers = end.last.numbers
        rows = self._rows_of(end)
        parts = [part for part in end.applied if not part.was_skipped.read()]
        skipped = end.skipped or len(parts) < len(end.applied)
        records = []
        before: StatisticsTable | None = None
        if numbers.accumulated is not None:
            table, whole = scaled(numbers.accumulated, end.scale)
            before = only(table, rows)
            if skipped or end.scale.is_known or numbers.accumulated is not numbers.gradients:
                stage = "unscaled" if end.scale.is_known else "accumulated"
                kept = only_rows(whole, rows)
                unread = only_rows(numbers.accumulated.unread, rows)
                records.append(
                    self._record(end.last, stage, before, kept, end.scale, unread, skipped)
                )
        if parts:
            records += self._of_applied(end, parts, before)
        if records and before is not None:
            found, why = self._noise_scale(end, before, rows)
            quantities = {**records[-1].quantities, **found}
            last = records.pop()
            last = dataclasses.replace(last, quantities=quantities, quantity_reasons=why)
            records.append(last)
        return records

    def _noise_scale(
        self, end: StepEnd, total: StatisticsTable, rows: Sequence[int]
    ) -> tuple[dict[str, float], dict[str, str]]:
        """Return the noise scale of the passes that ``end`` sums up, or why there is none."""
        last = end.last.number
        before = [other.last.number for other in self.ends if other.last.number < last]
        numbers = range(max(before, default=-1) + 1, last + 1)
        is_partial = any(number in some.passes for some in self.cleared for number in numbers)
        if len(numbers) < 2 or is_partial:
            return {}, {}
        passes = [one.micro_batch() for one in self.passes if one.number in numbers]
        return noise_scale(passes, total, len(numbers), rows)

    def _rows_of(self, end: StepEnd) -> list[int]:
        """Return the rows of parameters, except those whose optimizer used another pass.

        For example, no optimizer uses the gradients that a GAN's generator loss leaves in the
        discriminator.
        """
        others = {of for other in self.ends if other is not end for of in other.parameters}
        others -= end.parameters
        known = end.last.numbers.structure.parameter_rows
        return [row for of, row in known.items() if of not in others]

    def _of_applied(
        self, end: StepEnd, parts: Sequence[AppliedPart], before: StatisticsTable | None
    ) -> list[Record]:
        tables, whole, unread = [], {}, {}
        for gradients, was_read, rows in _together(parts):
            table, kept = scaled(gradients, LossScale() if was_read else end.scale)
            tables.append(only(table, rows))
            whole.update(only_rows(kept, rows))
            unread.update(only_rows(gradients.unread, rows))
        count = end.last.numbers.structure.graph.row_count
        table = joined(tables) if tables else StatisticsTable.empty(count)
        records = []
        quantities = {name: n for part in parts for name, n in part.settings.read().items()}
        if before is not None and any(part.was_read for part in parts):
            seen = {row for part in parts for row in part.rows if table.present[row]}
            if any(part.seems_same for part in parts):
                same = [row for part in parts if part.seems_same for row in part.rows]
                self.hidden.compare(before, only(table, same))
            clipped = only(table, seen)  # a gradient that is gone from .grad was not clipped
            is_clipped = was_clipped(only(before, seen), clipped, self.own_count)
            if is_clipped:
                records.append(self._record(end.last, "clipped", clipped, whole, end.scale, unread))
                self.hidden.clipping_was_seen = True
            if self.hidden.clipping_was_seen:
                quantities |= clip_factor(before, clipped, is_clipped)
        for part in parts:
            part.weights.write_to(table)
        quantities |= total_moments([part.moments.write_to(table) for part in parts])
        applied = (end.last, "applied", table, whole, end.scale, unread)
        return [*records, self._record(*applied, quantities=quantities)]

    def _record(
        self,
        of: Pass,
        stage: str,
        table: StatisticsTable,
        whole: Whole,
        scale: LossScale,
        unread: Mapping[int, str],
        skipped: bool = False,
        values: Whole | None = None,
        quantities: Mapping[str, float] | None = None,
    ) -> Record:
        place, graph = self.place, of.numbers.structure.graph
        warn_of_unread(graph, unread, self.told)
        rows = () if stage == FORWARD else of.numbers.structure.parameter_rows.values()
        norm = grad_norm(table, rows)
        return Record(
            tag=place.tag,
            graph_hash=graph.hash,
            step=place.step,
            wall_time=self.wall_time,
            backward_pass=self._number(of),
            objective=self._objective(of),
            table=table,
            gradients=whole,
            values=values or {},
            stage=stage,
            loss_scale=scale.read(),
            skipped=skipped,
            every_n_steps=place.every_n_steps,
            cost=place.cost,
            unread=dict(unread),
            quantities={**norm, **(quantities or {})},
        )

    def _number(self, of: Pass) -> int:
        """Return the number of a pass among those of this training."""
        lost = [some.passes for some in self.cleared if some.is_lent and some.is_so.read()]
        return of.number - sum(number < of.number for passes in lost for number in passes)

    def _objective(self, of: Pass) -> str:
        """Return the objective of a pass, and say whether its gradients were cleared."""
        own = [some for some in self.cleared if of.number in some.passes and not some.is_lent]
        came_to_nothing = any(some.is_so.read() for some in own)
        return of.numbers.objective + CLEARED * came_to_nothing


def only_rows(found: Mapping[int, ValueT], rows: Iterable[int]) -> dict[int, ValueT]:
    """Return the table with only ``rows``, if it has any of them."""
    return {row: found[row] for row in rows if row in found}


def _together(parts: Sequence[AppliedPart]) -> Iterable[tuple[Numbers, bool, list[int]]]:
    """Return each table of ``parts``, whether it was read for the step, and the rows needed from it."""
    found: dict[int, tuple[Numbers, bool, list[int]]] = {}
    for part in parts:
        if part.gradients is not None:
            entry: tuple[Numbers, bool, list[int]] = (part.gradients, part.was_read, [])
            found.setdefault(id(part.gradients), entry)[2].extend(part.rows)
    return found.values()
