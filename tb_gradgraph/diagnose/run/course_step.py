"""One recorded step of a training, and which steps of many are examined one by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from tb_gradgraph.diagnose.not_optimized import join_tables
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.quantities import series_name
from tb_gradgraph.statistics import NONFINITE, StatisticsTable

#: So many steps are examined at most, fewer if graphs are large: so many rows altogether.
MOST_STEPS = 64
MOST_ROWS = 40_000
LEAST_STEPS = 6


@dataclasses.dataclass(frozen=True)
class CourseStep:
    """The records of one step.

    Attributes:
        step: Its number.
        passes: Its backward passes in their order.
        later: The records of later stages, in their order.
        forwards: The records of values.
    """

    step: int
    passes: tuple[Record, ...]
    later: tuple[Record, ...]
    forwards: tuple[Record, ...]

    def stages(self) -> Mapping[str, StatisticsTable]:
        """Read the tables of the later stages; several optimizers are joined."""
        graph_hash = self.later[-1].graph_hash if self.later else ""
        alike = [one for one in self.later if one.graph_hash == graph_hash]
        return join_tables((one.stage, in_memory(one.table)) for one in alike)

    @property
    def graph_hash(self) -> str:
        """The graph of the last record."""
        records = self.later or self.passes or self.forwards
        return records[-1].graph_hash

    @property
    def has_stepped(self) -> bool:
        """Return whether an optimizer stepped."""
        return self.has("applied")

    def has(self, stage: str) -> bool:
        """Return whether there is a record of a later stage."""
        return any(one.stage == stage for one in self.later)

    @property
    def skipped(self) -> bool:
        """Return whether a GradScaler skipped the optimizer."""
        return any(one.skipped for one in self.later)

    @property
    def loss_scale(self) -> float:
        """The factor of a GradScaler; 1 if there is none."""
        records = (*self.passes, *self.later)
        return records[-1].loss_scale if records else 1.0

    def quantity(self, series: str) -> float:
        """Return a number of the step by the name of its series; the mean of several passes; NaN: none."""
        found = [
            number
            for record in (*self.passes, *self.later)
            for name, number in record.quantities.items()
            if series_name(name, record.stage) == series
        ]
        return float(np.mean(found)) if found else float("nan")

    def forward_of(self, of: Record) -> Record | None:
        """Return the values of a record's forward."""
        return next(
            (
                one
                for one in self.forwards
                if one.backward_pass == of.backward_pass and one.graph_hash == of.graph_hash
            ),
            None,
        )


def choose_steps(steps: Sequence[CourseStep], graphs: Mapping[str, Graph]) -> list[CourseStep]:
    """Choose the steps to examine: spread evenly, and those where NaN, infinity or a skip first occur."""
    rows = max((graph.row_count for graph in graphs.values()), default=1)
    most = max(LEAST_STEPS, min(MOST_STEPS, MOST_ROWS // max(1, rows)))
    chosen = {int(at) for at in np.linspace(0, len(steps) - 1, min(most, len(steps)))}
    firsts = (
        next((at for at, step in enumerate(steps) if is_bad(step)), None)
        for is_bad in (_is_nonfinite, lambda step: step.skipped)
    )
    for at in firsts:
        if at is not None:
            chosen |= {max(0, at - 1), at}
    return [steps[at] for at in sorted(chosen)]


def is_nonfinite(record: Record) -> bool:
    """Return whether any number of a record counts NaN or infinity."""
    return any((record.table.column(name) > 0).any() for name in NONFINITE)


def _is_nonfinite(step: CourseStep) -> bool:
    return any(map(is_nonfinite, step.passes))


def in_memory(table: StatisticsTable) -> StatisticsTable:
    """Expand a stored table once, for rules that read it many times."""
    return StatisticsTable(table.values, table.present, table.histogram)
