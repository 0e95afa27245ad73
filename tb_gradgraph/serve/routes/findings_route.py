"""Answer with what looks wrong in one record, and in the optimizer's step that it belongs to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from tb_gradgraph.diagnose import KINDS, Finding, find_in_step, findings, rank
from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.evidence.elsewhere import first_nonfinite, list_elsewhere
from tb_gradgraph.serve.evidence.forwards import read_values
from tb_gradgraph.serve.evidence.optimizer_steps import read_optimizer_step
from tb_gradgraph.serve.evidence.reached import list_reached
from tb_gradgraph.serve.request.answer import JSON, Answer
from tb_gradgraph.serve.request.find import find_entry, find_graph
from tb_gradgraph.serve.request.frames import to_json
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader


def answer_findings(reader: Reader, parameters: Parameters) -> Answer:
    """Return what looks wrong in one record and its step, and other steps with more findings."""
    run, entry = find_entry(reader, parameters, of_gradients=True)
    find_graph(reader, run, entry.graph_hash)
    found = _with_first(reader, run, entry, _find(reader, run, entry))
    sent = [dataclasses.asdict(finding) for finding in found]
    elsewhere = list_elsewhere(reader, run, entry, sent, lambda other: _find(reader, run, other))
    return Answer(to_json({"findings": sent, "elsewhere": elsewhere}).encode(), JSON)


def _find(reader: Reader, run: RunView, entry: Entry) -> list[Finding]:
    """Find what looks wrong in one record and its step."""
    graph = reader.graph(run, entry.graph_hash)
    table, values = reader.table(run, entry), reader.whole(run, entry)[1]
    of_step = list(_find_in_step(reader, run, entry, graph))
    of_values = read_values(reader, run, entry)
    of_record = findings(
        *(graph, table, values if of_values is None else {**values, **of_values[1]}, entry.stage),
        *(entry.every_n_steps > 0, entry.unread),
        value_table=None if of_values is None else of_values[0],
        loss_scale=entry.loss_scale,
        skipped=any(one.kind == "step_skipped" for one in of_step),
        reached=list_reached(reader, run, entry, graph),
    )
    if of_step and not table.present.any():
        of_record = []  # there was a step, so a backward ran although none was recorded here
    return rank([*of_record, *of_step])


def _with_first(reader: Reader, run: RunView, entry: Entry, found: list[Finding]) -> list[Finding]:
    """Add to the first finding about NaN the first recorded step with NaN."""
    of_nonfinite = (at for at, one in enumerate(found) if KINDS[one.kind].is_of_nonfinite)
    at = next(of_nonfinite, None)
    if at is None:
        return found
    first = first_nonfinite(reader, run, run.records[entry.tag])
    if first is None or first.step >= entry.step:
        return found
    text = f"{found[at].text} The first recorded step with NaN or infinity is {first.step}."
    return [*found[:at], dataclasses.replace(found[at], text=text), *found[at + 1 :]]


def _find_in_step(reader: Reader, run: RunView, entry: Entry, graph: Graph) -> Iterator[Finding]:
    """Find what concerns the whole step. Rows are those of ``graph``, even if the step has another graph."""
    found = read_optimizer_step(reader, run, entry)
    if found is None:
        return
    rows = {key: row for row, key in enumerate(graph.row_keys)}
    for finding in find_in_step(found.graph, found.step):
        row = None if finding.row is None else rows.get(found.graph.row_keys[finding.row])
        yield dataclasses.replace(finding, row=row)
