"""Rows of an embedding that no token ever asks for."""

from __future__ import annotations

from collections.abc import Iterator

from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.told import tell_of_run
from tb_gradgraph.graph import Graph

#: From this share of the rows on, they are told of, if the table has so many rows and so many steps.
UNUSED, LEAST_ROWS, LEAST_STEPS = 0.5, 32, 10


def find_unused_rows(course: Course) -> Iterator[RunFinding]:
    """Yield embeddings of which most rows lie beyond the greatest number that was looked up."""
    steps = [step for step in course.examined if step.forwards]
    if len(steps) < LEAST_STEPS:
        return
    graph = course.graph
    for index, tokens in course.of_graph(course.graph_hash, _embeddings):
        rows = graph.nodes[index].slots[0].shape[0]
        key = graph.row_keys[tokens]
        greatest = [
            (step.step, float(record.table.column("max")[at]))
            for step in steps
            for record in step.forwards[:1]
            for at in [course.row_of(record.graph_hash, key)]
            if at is not None
        ]
        known = [number for _, number in greatest if number == number]
        unused = 1 - (max(known) + 1) / rows if known else 0.0
        if rows >= LEAST_ROWS and unused >= UNUSED:
            node = graph.nodes[index]
            text = (
                f"No number above {max(known):.0f} was looked up in {node.name} in {len(known)} steps: "
                f"{unused:.0%} of its {rows} rows were never used."
            )
            yield tell_of_run(
                *(course, "unused_rows", text),
                at=[step for step, _ in greatest],
                examined=[step.step for step in steps],
                node=node,
                measure="max",
                numbers=greatest,
            )


def _embeddings(graph: Graph) -> list[tuple[int, int]]:
    """Return the weight of each embedding, and the row of the numbers that are looked up in it."""
    inputs: dict[int, dict[int, tuple[int, int]]] = {}
    for edge in graph.edges:
        row = int(graph.slot_offsets[edge.source]) + edge.source_slot
        inputs.setdefault(edge.target, {})[edge.target_input] = (edge.source, row)
    found = []
    for index, node in enumerate(graph.nodes):
        of = inputs.get(index, {})
        if node.operation.startswith("Embedding") and {0, 1} <= set(of):
            if graph.nodes[of[0][0]].kind == "parameter" and graph.nodes[of[0][0]].slots:
                found.append((of[0][0], of[1][1]))
    return found
