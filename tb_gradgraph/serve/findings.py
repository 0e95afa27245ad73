"""What looks wrong in one record, and in the optimizer's step that it belongs to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from tb_gradgraph.diagnose import Finding, find_in_step, findings, rank
from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.answer import JSON, Answer
from tb_gradgraph.serve.find import find_entry, find_graph
from tb_gradgraph.serve.frames import to_json
from tb_gradgraph.serve.index import Entry, RunView
from tb_gradgraph.serve.optimizer_steps import read_optimizer_step
from tb_gradgraph.serve.parameters import Parameters
from tb_gradgraph.serve.reader import Reader


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
    found = read_optimizer_step(reader, run, entry)
    if found is None:
        return
    rows = {key: row for row, key in enumerate(graph.row_keys)}
    for finding in find_in_step(found.graph, found.step):
        row = None if finding.row is None else rows.get(found.graph.row_keys[finding.row])
        yield dataclasses.replace(finding, row=row)
