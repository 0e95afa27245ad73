"""The recorded steps of one training, for rules that look at all of them."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from tb_gradgraph.diagnose.missing import parameter_rows
from tb_gradgraph.diagnose.run.course_step import CourseStep, choose_steps, thin_out
from tb_gradgraph.diagnose.run.kept_columns import KeptColumns
from tb_gradgraph.diagnose.run.parameter_course import ParameterCourse
from tb_gradgraph.graph import Graph, Node, Record
from tb_gradgraph.training_facts import TrainingFacts

#: How many numbers a finding shows.
MOST_NUMBERS = 100

Series = Sequence[tuple[int, float]]  # steps and numbers
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Course:
    """One training of a run: its steps in order, and the graphs that they ran over.

    Attributes:
        run: The run, as TensorBoard names it.
        tag: The training in it.
        graphs: The graphs by hash.
        steps: The steps in order.
        facts: What is known of the training; None: nothing.
        kept: What rules found out about the steps. A course of the same training that has grown
            shares it.
    """

    run: str
    tag: str
    graphs: Mapping[str, Graph]
    steps: Sequence[CourseStep]
    facts: TrainingFacts | None = None
    kept: KeptColumns = dataclasses.field(default_factory=KeptColumns, compare=False, repr=False)

    @functools.cached_property
    def looked_at(self) -> Course:
        """The course with the steps that the rules look at: all, or some of a very long training."""
        counts = [self.of_graph(graph_hash, _count_parameters) for graph_hash in self.graphs]
        steps = thin_out(self.steps, max(counts, default=0))
        return self if steps is self.steps else dataclasses.replace(self, steps=steps)

    @functools.cached_property
    def graph(self) -> Graph:
        """The graph that most steps have; of several the one that was first."""
        return self.graphs[self.graph_hash]

    @functools.cached_property
    def graph_hash(self) -> str:
        """The hash of that graph."""
        counts = collections.Counter(step.graph_hash for step in self.steps)
        return counts.most_common(1)[0][0]

    @functools.cached_property
    def examined(self) -> Sequence[CourseStep]:
        """The steps that are examined one by one."""
        chosen = choose_steps(self.steps, self.graphs)
        self.kept.keep_examined(chosen)
        return chosen

    def followed(self) -> KeptColumns:
        """Return what is kept of exactly these steps."""
        self.kept.follow(self.steps, self.graph_hash if self.steps else "")
        return self.kept

    def column(self, make: Callable[[Course, int], T], version: Hashable = None) -> Sequence[T]:
        """Return what a function gives for each step, made once as long as the step stays.

        Args:
            make: A function of a module. Gets the course and the index of a step, and may look at
                that step and at those before it.
            version: What else the results depend on.
        """
        return self.followed().column(make, len(self.steps), lambda at, _: make(self, at), version)

    def by_blocks(
        self, make: Callable[[Course, int, int], Sequence[T]], version: Hashable = None
    ) -> Sequence[T]:
        """Return the same of a function that gets the first step of a range and the one after it."""
        kept, of_range = self.followed(), functools.partial(make, self)
        return kept.by_blocks(make, len(self.steps), of_range, version)

    def of_graph(self, graph_hash: str, make: Callable[[Graph], T]) -> T:
        """Return what a function of a module gives for a graph, made once."""
        return self.kept.once((graph_hash, make), lambda: make(self.graphs[graph_hash]))

    @property
    def names(self) -> Sequence[str]:
        """The series of quantities that some step has."""
        alike = dict.fromkeys(tuple(step.numbers) for step in self.steps)
        return tuple(dict.fromkeys(name for names in alike for name in names))

    def series(self, name: str) -> Series:
        """Return a quantity over the steps that have it."""
        pairs = [(step.step, step.numbers[name]) for step in self.steps if name in step.numbers]
        return [(step, number) for step, number in pairs if number == number]

    def last(self, name: str) -> float | None:
        """Return the last number of a quantity; None if no step has it."""
        found = (step.quantity(name) for step in reversed(self.steps))
        return next((number for number in found if number == number), None)

    @property
    def updated(self) -> frozenset[str]:
        """The keys of parameters that an optimizer of the watch updates."""
        found = self.followed().column(
            _updated_until, len(self.steps), lambda at, before: _updated_until(self, at, before)
        )
        return found[-1].keys if found else frozenset()

    def at(self, step: int) -> Course:
        """Return the course with this step alone, or with none."""
        steps = [one for one in self.steps if one.step == step]
        return dataclasses.replace(self, steps=steps, kept=KeptColumns())

    def row_of(self, graph_hash: str, key: str) -> int | None:
        """Return the row of a slot in a graph by its key; None if it is not there."""
        return self.of_graph(graph_hash, _rows_by_key).get(key)

    def rows(self, graph: Graph) -> Sequence[tuple[int, Node]]:
        """Return row and node of each parameter of a graph."""
        return list(parameter_rows(graph))

    @functools.cached_property
    def parameters(self) -> ParameterCourse:
        """The numbers of all parameters over the steps."""
        nodes = [node for _, node in self.rows(self.graph)] if self.steps else []
        return ParameterCourse(nodes, self.steps, self.graphs, self.followed)


@dataclasses.dataclass(frozen=True, eq=False)
class _Updated:
    """The parameters that an optimizer has updated so far: their keys, and their rows by graph."""

    keys: frozenset[str] = frozenset()
    rows: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)


def _updated_until(course: Course, at: int, before: _Updated | None) -> _Updated:
    found = before or _Updated()
    for record in course.steps[at].later:
        if record.stage == "applied":
            has = ~np.isnan(record.table.column("weight_norm"))
            known = found.rows.get(record.graph_hash, False)
            if (has & ~np.asarray(known)).any():
                keys = course.graphs[record.graph_hash].row_keys
                more = (keys[row] for row in np.flatnonzero(has).tolist())
                rows = {**found.rows, record.graph_hash: has | known}
                found = _Updated(found.keys.union(more), rows)
    return found


def _count_parameters(graph: Graph) -> int:
    return sum(node.kind == "parameter" for node in graph.nodes)


def _rows_by_key(graph: Graph) -> Mapping[str, int]:
    return {key: row for row, key in enumerate(graph.row_keys)}


def course_of(
    run: str,
    tag: str,
    graphs: Mapping[str, Graph],
    records: Iterable[Record],
    forwards: Iterable[Record],
    facts: TrainingFacts | None = None,
    earlier: Course | None = None,
) -> Course:
    """Arrange the records of one tag by step. Records of graphs that are missing are left out.

    ``earlier``: the course of the same training when it had fewer records. Its steps of which the
    records are the same objects are taken over, and what is kept about them.
    """
    parts: tuple[dict[int, list[Record]], ...] = ({}, {}, {})  # passes, later stages, forwards
    for record in records:
        if record.graph_hash in graphs:
            part = parts[0] if record.stage == "backward" else parts[1]
            part.setdefault(record.step, []).append(record)
    for record in forwards:
        if record.graph_hash in graphs:
            parts[2].setdefault(record.step, []).append(record)
    known = {} if earlier is None else {step.step: step for step in earlier.steps}
    steps = [
        _step(known.get(step), step, [some.get(step, ()) for some in parts])
        for step in sorted({*parts[0], *parts[1]})
    ]
    kept = KeptColumns() if earlier is None else earlier.kept
    return Course(run, tag, graphs, steps, facts, kept)


def _step(known: CourseStep | None, step: int, parts: Sequence[Sequence[Record]]) -> CourseStep:
    if known is not None and known.is_of(*parts):
        return known
    return CourseStep(step, *map(tuple, parts))


def some_numbers(series: Series) -> tuple[tuple[int, float], ...]:
    """Return at most ``MOST_NUMBERS`` numbers of a series, evenly chosen; the last one is among them."""
    every = -(-len(series) // MOST_NUMBERS) or 1
    return tuple((int(step), float(number)) for step, number in series[::-1][::every][::-1])
