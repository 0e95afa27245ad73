"""The numbers of a training's parameters over its steps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tb_gradgraph.diagnose.run.course_step import CourseStep
from tb_gradgraph.diagnose.run.kept_columns import KeptColumns
from tb_gradgraph.graph import Graph, Node


class ParameterCourse:
    """Numbers of the parameters over the steps, by statistic and stage.

    Attributes:
        nodes: The parameters of the graph that most steps have.
        steps: The numbers of the steps.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        steps: Sequence[CourseStep],
        graphs: Mapping[str, Graph],
        followed: Callable[[], KeptColumns],
    ) -> None:
        """Take the parameters, the steps, their graphs, and what returns what is kept of these steps."""
        self.nodes = nodes
        self.steps = [step.step for step in steps]
        self._recorded, self._graphs, self._followed = steps, graphs, followed
        self._places: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    @functools.cached_property
    def matrices(self) -> np.ndarray:
        """Where the parameters are that have several dimensions."""
        return np.array([at for at, n in enumerate(self.nodes) if len(n.slots[0].shape) > 1], int)

    def of(self, stage: str, statistic: str) -> np.ndarray:
        """Return a matrix with a row for each step and a column for each parameter; NaN: no number.

        Of several records of a step the last one that has a number counts.
        """
        key = ("parameters", stage, statistic)
        make = functools.partial(self.rows, stage=stage, statistic=statistic)
        return self._followed().matrix(key, len(self.steps), len(self.nodes), make)

    def row(self, at: int, stage: str, statistic: str) -> np.ndarray:
        """Return the numbers of one step, by its index."""
        return self.rows(at, at + 1, stage, statistic)[0]

    def rows(self, start: int, stop: int, stage: str, statistic: str) -> np.ndarray:
        """Return the numbers of a range of steps."""
        found = np.full((stop - start, len(self.nodes)), np.nan)
        for numbers, step in zip(found, self._recorded[start:stop]):
            some = step.passes if stage == "backward" else step.later
            for which, record in enumerate(one for one in some if one.stage == stage):
                rows, columns = self._places_in(record.graph_hash)
                of_record = record.table.column(statistic)[rows]
                if which == 0 and len(columns) == len(numbers):
                    numbers[:] = of_record
                    continue
                known = ~np.isnan(of_record)
                numbers[columns[known]] = of_record[known]
        return found

    def _places_in(self, graph_hash: str) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of a graph, and the columns that they fill, in their order."""
        if graph_hash not in self._places:
            columns = {f"{node.key}:0": at for at, node in enumerate(self.nodes)}
            keys = self._graphs[graph_hash].row_keys
            pairs = [(columns[key], row) for row, key in enumerate(keys) if key in columns]
            places, rows = np.array(sorted(pairs), np.int64).reshape(-1, 2).T.copy()
            self._places[graph_hash] = (rows, places)
        return self._places[graph_hash]
