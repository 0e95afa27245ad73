"""Read the optimizer's step that a record belongs to, from the records of all its stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tb_gradgraph.diagnose import OptimizerStep, join_tables, rows_of_no_optimizer
from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader

#: How many other steps to search for parameters that an optimizer updates. With several optimizers,
#: each may step rarely.
_ASKED = 16

#: How many steps count as the first ones of a training.
_EARLY = 10


@dataclasses.dataclass(frozen=True)
class StepOfGraph:
    """The recorded tables of a step, and the graph that defines their rows."""

    graph_hash: str
    graph: Graph
    step: OptimizerStep


def read_optimizer_step(reader: Reader, run: RunView, entry: Entry) -> StepOfGraph | None:
    """Return the optimizer's step of a record; ``None`` if nothing is known about it."""
    of_step = [one for one in run.records[entry.tag] if one.step == entry.step]
    entries = [one for one in of_step if one.stage != "backward"]
    if not entries or entries[-1].graph_hash not in run.graphs:
        return None
    graph_hash = entries[-1].graph_hash
    only_pass = len(of_step) - len(entries) == 1  # then it gave the whole gradient of the step
    of_graph = [one for one in (of_step if only_pass else entries) if one.graph_hash == graph_hash]
    tables = [(one.stage, reader.table(run, one)) for one in of_graph]
    graph = reader.graph(run, graph_hash)
    updated: set[str] = set()
    if any(one.stage == "applied" for one in of_graph):
        applied = [one for one in run.records[entry.tag] if one.stage == "applied"]
        updated = reader.keys_with(run, _some(applied), "weight_norm")
    updated_rows = frozenset(row for row, key in enumerate(graph.row_keys) if key in updated)
    skipped = any(one.skipped for one in entries)
    is_early = entry.step < _EARLY
    step = OptimizerStep(
        *(join_tables(tables), entries[-1].loss_scale, skipped, updated_rows, is_early)
    )
    return StepOfGraph(graph_hash, graph, step)


def rows_without_optimizer(reader: Reader, run: RunView, entry: Entry) -> list[int]:
    """List the rows that have no gradient in a record because they are in no optimizer of the watch."""
    if entry.stage not in ("clipped", "applied"):
        return []
    found = read_optimizer_step(reader, run, entry)
    if found is None or entry.graph_hash != found.graph_hash or found.step.skipped:
        return []
    return rows_of_no_optimizer(found.graph, found.step.tables, found.step.updated)


def _some(entries: Sequence[Entry]) -> Sequence[Entry]:
    return entries[:: -(-len(entries) // _ASKED)] if len(entries) > _ASKED else entries
