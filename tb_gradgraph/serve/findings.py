"""What looks wrong in one record, and in the optimizer's step that it belongs to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from tb_gradgraph.diagnose import Finding, OptimizerStep, find_in_step, findings, rank
from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.answer import JSON, Answer
from tb_gradgraph.serve.find import find_entry, find_graph
from tb_gradgraph.serve.frames import to_json
from tb_gradgraph.serve.index import Entry, RunView
from tb_gradgraph.serve.parameters import Parameters
from tb_gradgraph.serve.reader import Reader
from tb_gradgraph.statistics import StatisticsTable


def answer_findings(reader: Reader, parameters: Parameters) -> Answer:
    """Say what looks wrong in one record and its step."""
    run, entry = find_entry(reader, parameters)
    graph = find_graph(reader, run, entry.graph_hash)
    table, values = reader.table(run, entry), reader.whole(run, entry)[1]
    of_step = list(_find_in_step(reader, run, entry, graph))
    of_record = findings(graph, table, values, entry.stage, ran=entry.every_n_steps > 0)
    if of_step and not table.present.any():
        of_record = []  # a step was made, so that a backward ran though none was recorded here
    found = [dataclasses.asdict(finding) for finding in rank([*of_record, *of_step])]
    return Answer(to_json({"findings": found}).encode(), JSON)


def _find_in_step(reader: Reader, run: RunView, entry: Entry, graph: Graph) -> Iterator[Finding]:
    """Find what is of the whole step; rows are those of ``graph``, whichever graph the step has."""
    of_step = [one for one in run.records[entry.tag] if one.step == entry.step]
    entries = [one for one in of_step if one.stage != "backward"]
    if not entries or entries[-1].graph_hash not in run.graphs:
        return
    graph_hash = entries[-1].graph_hash
    tables: dict[str, StatisticsTable] = {}
    only_pass = len(of_step) - len(entries) == 1  # it gave all of the step's gradient
    for one in of_step if only_pass else entries:
        if one.graph_hash == graph_hash:
            tables[one.stage] = _join(tables.get(one.stage), reader.table(run, one))
    last = entries[-1]
    step = OptimizerStep(tables, last.loss_scale, any(one.skipped for one in entries))
    other = reader.graph(run, graph_hash)
    rows = {key: row for row, key in enumerate(graph.row_keys)}
    for finding in find_in_step(other, step):
        row = None if finding.row is None else rows.get(other.row_keys[finding.row])
        yield dataclasses.replace(finding, row=row)


def _join(first: StatisticsTable | None, second: StatisticsTable) -> StatisticsTable:
    """Join what several optimizers did at one stage of a step; the later wins."""
    if first is None:
        return second
    later = second.present[:, None]
    return StatisticsTable(
        np.where(later, second.values, first.values),
        first.present | second.present,
        np.where(later, second.histogram, first.histogram),
    )
