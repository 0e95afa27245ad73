"""One recorded step of a training, and which steps of many are looked at."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tb_gradgraph.diagnose.not_optimized import join_tables
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.quantities import series_name
from tb_gradgraph.statistics import HISTOGRAM_BINS, StatisticsTable

#: So many steps are examined one by one at most, fewer if graphs are large: so many rows altogether.
MOST_STEPS = 64
MOST_ROWS = 40_000
LEAST_STEPS = 8
#: The steps of a training times its parameters. Of a longer one only some steps are looked at.
MOST_CELLS = 2**21


@dataclasses.dataclass(frozen=True, eq=False)
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

    @functools.cached_property
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

    @functools.cached_property
    def skipped(self) -> bool:
        """Return whether a GradScaler skipped the optimizer."""
        return any(one.skipped for one in self.later)

    @functools.cached_property
    def is_nonfinite(self) -> bool:
        """Return whether a gradient of a backward pass holds NaN or infinity."""
        return any(record.table.is_nonfinite() for record in self.passes)

    @property
    def loss_scale(self) -> float:
        """The factor of a GradScaler; 1 if there is none."""
        records = (*self.passes, *self.later)
        return records[-1].loss_scale if records else 1.0

    @functools.cached_property
    def numbers(self) -> Mapping[str, float]:
        """The quantities of the step by the names of their series; the mean of several passes."""
        found: dict[str, list[float]] = {}
        for record in (*self.passes, *self.later):
            for name, number in record.quantities.items():
                found.setdefault(series_name(name, record.stage), []).append(number)
        return {name: float(sum(some) / len(some)) for name, some in found.items()}

    def quantity(self, series: str) -> float:
        """Return a quantity of the step by the name of its series; NaN: none."""
        return self.numbers.get(series, float("nan"))

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

    def is_of(self, *parts: Sequence[Record]) -> bool:
        """Return whether it has exactly these records, as passes, later ones and forwards."""
        own = (self.passes, self.later, self.forwards)
        return all(
            len(old) == len(new) and all(map(operator.is_, old, new))
            for old, new in zip(own, parts)
        )


def choose_steps(steps: Sequence[CourseStep], graphs: Mapping[str, Graph]) -> list[CourseStep]:
    """Choose the steps to examine: spread evenly, and those where NaN, infinity or a skip first occur."""
    rows = max((graph.row_count for graph in graphs.values()), default=1)
    most = max(LEAST_STEPS, min(MOST_STEPS, MOST_ROWS // max(1, rows)))
    chosen = _spread(len(steps), most)
    for first in (_first_nonfinite(steps), _first(step.skipped for step in steps)):
        chosen |= _with_the_one_before(first)
    return [steps[at] for at in sorted(chosen)]


def thin_out(steps: Sequence[CourseStep], parameters: int) -> Sequence[CourseStep]:
    """Choose the steps to look at: all of them, or some of a very long training.

    Args:
        steps: All steps.
        parameters: How many parameters the model has.
    """
    most = max(2, MOST_CELLS // max(1, parameters))
    if len(steps) <= most:
        return steps
    chosen = _spread(len(steps), most) | _with_the_one_before(_first_nonfinite(steps))
    return [steps[at] for at in sorted(chosen)]


def _spread(count: int, most: int) -> set[int]:
    """Choose at most so many of some places, evenly, and the last one.

    The distance is a power of two, so that in a training that grows mostly the same are chosen.
    """
    every = 1
    while count > every * most:
        every *= 2
    return {*range(0, count, every), count - 1}


def _first_nonfinite(steps: Sequence[CourseStep]) -> int | None:
    return _first(step.is_nonfinite for step in steps)


def _first(are: Iterable[bool]) -> int | None:
    return next((at for at, is_so in enumerate(are) if is_so), None)


def _with_the_one_before(at: int | None) -> set[int]:
    return set() if at is None else {max(0, at - 1), at}


def in_memory(table: StatisticsTable) -> StatisticsTable:
    """Expand a stored table once, for rules that read it many times. They read no histograms."""
    none = np.broadcast_to(np.uint16(0), (len(table.present), HISTOGRAM_BINS))
    return StatisticsTable(table.values, table.present, none)
