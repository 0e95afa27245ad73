"""Read the optimizer's step that a record belongs to, from the records of all its stages."""

from __future__ import annotations

import dataclasses

import numpy as np

from tb_gradgraph.diagnose import OptimizerStep, rows_of_no_optimizer, updated_rows
from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import StatisticsTable

#: How many other steps to search for parameters that an optimizer updates. With several optimizers,
#: each may step rarely.
_ASKED = 16


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
    tables: dict[str, StatisticsTable] = {}
    only_pass = len(of_step) - len(entries) == 1  # then it gave the whole gradient of the step
    for one in of_step if only_pass else entries:
        if one.graph_hash == graph_hash:
            tables[one.stage] = _join(tables.get(one.stage), reader.table(run, one))
    graph = reader.graph(run, graph_hash)
    updated = _updated_elsewhere(reader, run, entry, graph) if "applied" in tables else frozenset()
    skipped = any(one.skipped for one in entries)
    step = OptimizerStep(tables, entries[-1].loss_scale, skipped, updated)
    return StepOfGraph(graph_hash, graph, step)


def rows_without_optimizer(reader: Reader, run: RunView, entry: Entry) -> list[int]:
    """List the rows that have no gradient in a record because they are in no optimizer of the watch."""
    if entry.stage not in ("clipped", "applied"):
        return []
    found = read_optimizer_step(reader, run, entry)
    if found is None or entry.graph_hash != found.graph_hash or found.step.skipped:
        return []
    return rows_of_no_optimizer(found.graph, found.step.tables, found.step.updated)


def _updated_elsewhere(reader: Reader, run: RunView, entry: Entry, graph: Graph) -> frozenset[int]:
    """Return the rows of parameters that an optimizer updated at other steps of the tag."""
    applied = [one for one in run.records[entry.tag] if one.stage == "applied"]
    asked = applied[:: -(-len(applied) // _ASKED)] if len(applied) > _ASKED else applied
    keys: set[str] = set()
    for one in asked:
        if one.graph_hash in run.graphs:
            had = np.flatnonzero(~np.isnan(reader.statistic(run, one, "weight_norm")))
            of = reader.graph(run, one.graph_hash).row_keys
            keys.update(of[row] for row in had.tolist())
    return frozenset(row for row, key in enumerate(graph.row_keys) if key in keys)


def _join(first: StatisticsTable | None, second: StatisticsTable) -> StatisticsTable:
    """Join the tables of several optimizers at one stage of a step. Later ones replace earlier ones."""
    if first is None:
        return second
    later = second.present | updated_rows(second)
    return StatisticsTable(
        np.where(later[:, None], second.values, first.values),
        first.present | second.present,
        np.where(later[:, None], second.histogram, first.histogram),
    )
