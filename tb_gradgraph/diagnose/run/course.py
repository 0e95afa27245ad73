"""The recorded steps of one training, for rules that look at all of them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tb_gradgraph.diagnose.missing import parameter_rows
from tb_gradgraph.diagnose.not_optimized import updated_rows
from tb_gradgraph.diagnose.run.course_step import CourseStep, choose_steps
from tb_gradgraph.graph import Graph, Node, Record
from tb_gradgraph.quantities import series_name
from tb_gradgraph.training_facts import TrainingFacts

#: How many records are asked which parameters an optimizer updates.
_ASKED = 16
#: How many numbers a finding shows.
MOST_NUMBERS = 100

Series = Sequence[tuple[int, float]]  # steps and numbers


@dataclasses.dataclass(frozen=True)
class Course:
    """One training of a run: its steps in order, and the graphs that they ran over."""

    run: str
    tag: str
    graphs: Mapping[str, Graph]
    steps: Sequence[CourseStep]
    facts: TrainingFacts | None = None

    @property
    def graph(self) -> Graph:
        """The graph that most steps have."""
        hashes = [step.graph_hash for step in self.steps]
        return self.graphs[max(set(hashes), key=hashes.count)]

    @functools.cached_property
    def examined(self) -> Sequence[CourseStep]:
        """The steps that are examined one by one."""
        return choose_steps(self.steps, self.graphs)

    @functools.cached_property
    def names(self) -> Sequence[str]:
        """The series of quantities that some step has."""
        found = {
            series_name(name, record.stage): None
            for step in self.steps
            for record in (*step.passes, *step.later)
            for name in record.quantities
        }
        return tuple(found)

    def series(self, name: str) -> Series:
        """Return a quantity over the steps that have it."""
        pairs = [(step.step, step.quantity(name)) for step in self.steps]
        return [(step, number) for step, number in pairs if number == number]

    @functools.cached_property
    def updated(self) -> frozenset[str]:
        """The keys of parameters that an optimizer of the watch updates, from some of the steps."""
        applied = [one for step in self.steps for one in step.later if one.stage == "applied"]
        found: set[str] = set()
        for record in applied[:: -(-len(applied) // _ASKED) or 1]:
            keys = self.graphs[record.graph_hash].row_keys
            found.update(keys[row] for row in np.flatnonzero(updated_rows(record.table)).tolist())
        return frozenset(found)

    def at(self, step: int) -> Course:
        """Return the course with this step alone, or with none."""
        return dataclasses.replace(self, steps=[one for one in self.steps if one.step == step])

    @functools.cached_property
    def _rows_of(self) -> dict[str, dict[str, int]]:
        return {}

    def row_of(self, graph_hash: str, key: str) -> int | None:
        """Return the row of a slot in a graph by its key; None if it is not there."""
        if graph_hash not in self._rows_of:
            keys = self.graphs[graph_hash].row_keys
            self._rows_of[graph_hash] = {name: row for row, name in enumerate(keys)}
        return self._rows_of[graph_hash].get(key)

    def rows(self, graph: Graph) -> Sequence[tuple[int, Node]]:
        """Return row and node of each parameter of a graph."""
        return list(parameter_rows(graph))

    @functools.cached_property
    def parameters(self) -> ParameterCourse:
        """The numbers of all parameters over the steps."""
        return ParameterCourse(self)


class ParameterCourse:
    """Numbers of the parameters over the steps, by statistic and stage, as matrices.

    Attributes:
        nodes: The parameters of the graph that most steps have.
        steps: The steps, one for each row of a matrix.
    """

    def __init__(self, course: Course) -> None:
        graph = course.graph
        self.nodes = [node for _, node in course.rows(graph)]
        self._keys = {f"{node.key}:0": at for at, node in enumerate(self.nodes)}
        self.steps = [step.step for step in course.steps]
        self._course = course
        self._places: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._cached: dict[tuple[str, str], np.ndarray] = {}

    def of(self, stage: str, statistic: str) -> np.ndarray:
        """Return a matrix with a row for each step and a column for each parameter; NaN: no number.

        Of several records of a step the last one that has a number counts.
        """
        if (stage, statistic) not in self._cached:
            self._cached[stage, statistic] = self._read(stage, statistic)
        return self._cached[stage, statistic]

    def _read(self, stage: str, statistic: str) -> np.ndarray:
        found = np.full((len(self.steps), len(self.nodes)), np.nan)
        for at, step in enumerate(self._course.steps):
            for record in (*step.passes, *step.later):
                if record.stage == stage:
                    rows, columns = self._places_in(record.graph_hash)
                    numbers = record.table.column(statistic)[rows]
                    known = ~np.isnan(numbers)
                    found[at, columns[known]] = numbers[known]
        return found

    def _places_in(self, graph_hash: str) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of a graph, and the columns that they fill."""
        if graph_hash not in self._places:
            keys = self._course.graphs[graph_hash].row_keys
            pairs = [(row, self._keys[key]) for row, key in enumerate(keys) if key in self._keys]
            rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
            self._places[graph_hash] = (rows, columns)
        return self._places[graph_hash]


def course_of(
    run: str,
    tag: str,
    graphs: Mapping[str, Graph],
    records: Iterable[Record],
    forwards: Iterable[Record],
    facts: TrainingFacts | None = None,
) -> Course:
    """Arrange the records of one tag by step. Records of graphs that are missing are left out."""
    passes: dict[int, list[Record]] = {}
    later: dict[int, list[Record]] = {}
    values: dict[int, list[Record]] = {}
    for record in records:
        if record.graph_hash in graphs:
            (passes if record.stage == "backward" else later).setdefault(record.step, []).append(
                record
            )
    for record in forwards:
        if record.graph_hash in graphs:
            values.setdefault(record.step, []).append(record)
    steps = [
        CourseStep(step, *(tuple(some.get(step, ())) for some in (passes, later, values)))
        for step in sorted({*passes, *later})
    ]
    return Course(run, tag, graphs, steps, facts)


def some_numbers(series: Series) -> tuple[tuple[int, float], ...]:
    """Return at most ``MOST_NUMBERS`` numbers of a series, evenly chosen; the last one is among them."""
    every = -(-len(series) // MOST_NUMBERS) or 1
    return tuple((int(step), float(number)) for step, number in series[::-1][::every][::-1])
