"""Made-up courses of a training, for rules that look at its numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tb_gradgraph.diagnose import Course, course_of
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.statistics import StatisticsTable
from tests.diagnose.test_findings import make_chain

GRAPH = make_chain("w", "mul", "loss", kinds={"w": "parameter"})


def course_with(series: Mapping[str, Sequence[float]], graph: Graph = GRAPH) -> Course:
    """Make a course in which a quantity has these numbers, one for each step."""
    count = max(map(len, series.values()))
    records = [
        Record(
            tag="net",
            graph_hash=graph.hash,
            step=step,
            wall_time=float(step),
            backward_pass=0,
            table=StatisticsTable.empty(graph.row_count),
            objective="loss",
            every_n_steps=1,
            quantities={name: some[step] for name, some in series.items() if step < len(some)},
        )
        for step in range(count)
    ]
    return course_of("run", "net", {graph.hash: graph}, records, [])
