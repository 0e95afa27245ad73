"""Answer with what looks wrong in one record, and in the optimizer's step that it belongs to."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tb_gradgraph.diagnose import KINDS, SEVERITIES, Finding, find_in_step, findings, rank
from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.evidence.elsewhere import first_nonfinite, list_elsewhere
from tb_gradgraph.serve.evidence.forwards import read_values
from tb_gradgraph.serve.evidence.optimizer_steps import read_optimizer_step
from tb_gradgraph.serve.evidence.reached import list_reached
from tb_gradgraph.serve.request.answer import JSON, Answer
from tb_gradgraph.serve.request.find import find_entry, find_graph
from tb_gradgraph.serve.request.frames import to_json
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.routes.run_findings_route import findings_of
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader


def answer_findings(reader: Reader, parameters: Parameters) -> Answer:
    """Return what looks wrong in one record, its step and its training, and in other steps."""
    run, entry = find_entry(reader, parameters, of_gradients=True)
    find_graph(reader, run, entry.graph_hash)
    found = _with_first(reader, run, entry, _find(reader, run, entry))
    found = _with_those_of_run(reader, run, entry, found)
    sent = [{**dataclasses.asdict(one), "advice": KINDS[one.kind].advice} for one in found]
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


def _with_those_of_run(
    reader: Reader, run: RunView, entry: Entry, found: list[Finding]
) -> list[Finding]:
    """Add what only the course of the training shows, if it is true at this step.

    What the step shows by itself too is listed once, with the numbers of this step, and is as severe
    as it is in the training.
    """
    rows = {key: row for row, key in enumerate(reader.graph(run, entry.graph_hash).row_keys)}
    added: list[Finding] = []
    for one in json.loads(findings_of(reader, run, entry.tag))["findings"]:
        if not any(first <= entry.step <= last for first, last in one["spans"]):
            continue
        same = [at for at, other in enumerate(found) if _is_same(other, one)]
        for at in same[:1]:
            worst = min(found[at].severity, one["severity"], key=SEVERITIES.index)
            found = [*found[:at], dataclasses.replace(found[at], severity=worst), *found[at + 1 :]]
        if not same and not one["shown_by_steps"]:  # what a step shows is in ``found``
            row = rows.get(f"{one['key']}:0")
            added.append(Finding(one["severity"], one["kind"], row, one["node"], one["text"]))
    return rank([*added, *found])


def _is_same(one: Finding, of_run: Mapping[str, Any]) -> bool:
    is_there = one.node == of_run["node"] or one.node in of_run["nodes"]
    return one.kind == of_run["kind"] and (is_there or not one.node or not of_run["node"])


def _find_in_step(reader: Reader, run: RunView, entry: Entry, graph: Graph) -> Iterator[Finding]:
    """Find what concerns the whole step. Rows are those of ``graph``, even if the step has another graph."""
    found = read_optimizer_step(reader, run, entry)
    if found is None:
        return
    rows = {key: row for row, key in enumerate(graph.row_keys)}
    for finding in find_in_step(found.graph, found.step):
        row = None if finding.row is None else rows.get(found.graph.row_keys[finding.row])
        yield dataclasses.replace(finding, row=row)
