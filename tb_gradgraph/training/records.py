"""What is known of one recorded step, and the records that it becomes."""

from __future__ import annotations

import dataclasses
import time

import torch

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.statistics import StatisticsTable
from tb_gradgraph.summarize.transfer import Transfer
from tb_gradgraph.summarize.whole import whole_arrays
from tb_gradgraph.training.numbers import Numbers, Whole, divided, joined, only, total_norm
from tb_gradgraph.training.reading import PassNumbers
from tb_gradgraph.training.weights import WeightReading

#: A norm that falls by more than this between backward and step was clipped.
_CLIPPED = 1 - 1e-4


@dataclasses.dataclass(frozen=True, slots=True)
class StepPlace:
    """Where the records of a step belong, and what they all say."""

    tag: str
    step: int
    every_n_steps: int
    cost: float


class LossScale:
    """The factor of a GradScaler, on its way to the host."""

    def __init__(self, factor: torch.Tensor | None = None, late: bool = False) -> None:
        """Begin the copy; ``late`` if the factor was found after numbers had been reduced."""
        self.factor = factor
        self.late = late
        self._transfer = None if factor is None else Transfer(factor.device, [factor])
        self._read = 1.0

    def read(self) -> float:
        """Give the factor; waits for the copy."""
        if self._transfer is not None:
            self._read = float(self._transfer.wait()[0][0])
            self._transfer = None
        return self._read


@dataclasses.dataclass(frozen=True, slots=True)
class AppliedPart:
    """What one optimizer saw and did."""

    rows: tuple[int, ...]
    gradients: Numbers | None
    was_changed: bool  # since the last backward: unscaled, clipped
    weights: WeightReading


@dataclasses.dataclass(slots=True)
class StepRecords:
    """Numbers of one step as they come; ``of_pass`` and ``of_step`` run on the session's thread."""

    place: StepPlace
    scale: LossScale
    last: PassNumbers | None = None
    count: int = 0  # of backward passes
    applied: list[AppliedPart] = dataclasses.field(default_factory=list)
    skipped: bool = False
    wall_time: float = dataclasses.field(default_factory=time.time)

    def add(self, found: PassNumbers) -> int:
        """Take in a backward pass; give its number."""
        self.last, self.count = found, self.count + 1
        return self.count - 1

    def of_pass(self, found: PassNumbers, number: int) -> list[Record]:
        """Give the record of one backward pass."""
        table, whole = self._scaled(found.gradients)
        values = whole_arrays(found.values)
        return [self._record(found.structure.graph, number, "backward", table, whole, values)]

    def of_step(self) -> list[Record]:
        """Give the records of what became of the gradients after the last backward."""
        last, number = self._last(), self.count - 1
        graph = last.structure.graph
        rows = last.structure.parameter_rows.values()
        records = []
        before: StatisticsTable | None = None
        if last.accumulated is not None:
            table, whole = self._scaled(last.accumulated)
            before = only(table, rows)
            if self._is_more_than_last_pass():
                stage = "accumulated" if self.scale.factor is None else "unscaled"
                kept = {row: array for row, array in whole.items() if row in set(rows)}
                records.append(self._record(graph, number, stage, before, kept))
        if self.applied:
            records += self._of_applied(graph, number, before)
        return records

    def _is_more_than_last_pass(self) -> bool:
        last = self._last()
        return (
            self.skipped or self.scale.factor is not None or last.accumulated is not last.gradients
        )

    def _of_applied(
        self, graph: Graph, number: int, before: StatisticsTable | None
    ) -> list[Record]:
        tables, whole = [], {}
        for part in self.applied:
            if part.gradients is None:
                continue
            table, kept = (
                part.gradients.collect() if part.was_changed else self._scaled(part.gradients)
            )
            tables.append(only(table, part.rows))
            whole.update({row: kept[row] for row in part.rows if row in kept})
        table = joined(tables) if tables else StatisticsTable.empty(graph.row_count)
        records = []
        if before is not None and any(part.was_changed for part in self.applied):
            rows = [row for part in self.applied for row in part.rows]
            if total_norm(table) < _CLIPPED * total_norm(only(before, rows)):
                records.append(self._record(graph, number, "clipped", only(table, rows), whole))
        for part in self.applied:
            part.weights.write_to(table)
        return [*records, self._record(graph, number, "applied", table, whole)]

    def _last(self) -> PassNumbers:
        if self.last is None:
            raise AssertionError("a step without a backward has no records")
        return self.last

    def _scaled(self, numbers: Numbers) -> tuple[StatisticsTable, Whole]:
        table, whole = numbers.collect()
        if not self.scale.late:
            return table, whole
        factor = self.scale.read()
        return divided(table, factor), {row: array / factor for row, array in whole.items()}

    def _record(
        self,
        graph: Graph,
        number: int,
        stage: str,
        table: StatisticsTable,
        whole: Whole,
        values: Whole | None = None,
    ) -> Record:
        place = self.place
        return Record(
            tag=place.tag,
            graph_hash=graph.hash,
            step=place.step,
            wall_time=self.wall_time,
            backward_pass=number,
            objective=", ".join(node.name for node in graph.nodes if node.kind == "root"),
            table=table,
            gradients=whole,
            values=values or {},
            stage=stage,
            loss_scale=self.scale.read(),
            skipped=self.skipped,
            every_n_steps=place.every_n_steps,
            cost=place.cost,
        )
