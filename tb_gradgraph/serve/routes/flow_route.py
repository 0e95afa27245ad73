"""Answer with one statistic of every tensor at every recorded step, for the heat map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.request.answer import BINARY, Answer
from tb_gradgraph.serve.request.find import find_graph, find_run, find_statistic, with_stage
from tb_gradgraph.serve.request.frames import encode_frame, to_float32
from tb_gradgraph.serve.request.parameters import Parameters, bad_request
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import FORWARD
from tb_gradgraph.statistics import NONFINITE as NONFINITE_COUNTS

#: How many bytes the values of one answer may take.
FLOW_BYTES = 32 * 2**20

NONE, ARRIVED, NONFINITE = range(3)


def answer_flow(reader: Reader, parameters: Parameters) -> Answer:
    """Return one statistic of all slots of a graph, for one record of each step, joined by key."""
    run = find_run(reader, parameters)
    name = find_statistic(run, parameters)
    graph = find_graph(reader, run, parameters.text("hash"))
    every = parameters.natural("every")
    start, count = parameters.natural("from") or 0, parameters.natural("count")
    if every == 0:
        raise bad_request("Expected 'every' to be at least 1, got 0.")
    records = with_stage(run, parameters)
    groups = _by_step(records, parameters.natural("backward_pass") or 0)[:: every or 1]
    most = max(1, FLOW_BYTES // (4 * max(1, graph.slot_count)))
    chosen = groups[start : start + min(most if count is None else count, most)]
    values, arrived = _read(reader, run, graph, chosen, name)
    firsts = [first for first, *_ in chosen]
    header = {
        "statistic": name,
        "slots": graph.slot_count,
        "from": start,
        "total": len(groups),
        "steps": [entry.step for entry in firsts],
        "backward_passes": [entry.backward_pass for entry in firsts],
        "stages": [entry.stage for entry in firsts],
    }
    return Answer(encode_frame(header, {"values": values, "arrived": arrived}), BINARY)


def _by_step(entries: Iterable[Entry], backward_pass: int) -> list[list[Entry]]:
    """Group records by step. First comes the record with the nearest pass, the earlier one of two.

    After it come records of the same stage that fill its gaps, because each optimizer of a step has
    its own record. A backward pass is alone, because other passes of the step have different
    gradients.
    """
    steps: dict[int, list[Entry]] = {}
    for entry in entries:
        steps.setdefault(entry.step, []).append(entry)
    groups = []
    for found in steps.values():
        found.sort(key=lambda entry: abs(entry.backward_pass - backward_pass))
        first = found[0]
        alike = [entry for entry in found if entry.stage == first.stage]
        groups.append(found[:1] if first.stage in (FORWARD, "backward") else alike)
    return groups


def _read(
    reader: Reader, run: RunView, graph: Graph, groups: Sequence[Sequence[Entry]], name: str
) -> tuple[np.ndarray, np.ndarray]:
    shape = (len(groups), graph.slot_count)
    values, arrived = np.full(shape, np.nan, np.float32), np.zeros(shape, np.uint8)
    places: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for index, entry in ((index, entry) for index, group in enumerate(groups) for entry in group):
        if entry.graph_hash not in places:
            places[entry.graph_hash] = _places(reader, run, graph, entry.graph_hash)
        here, there = places[entry.graph_hash]
        numbers = reader.statistic(run, entry, name)
        has = reader.present(run, entry) | ~np.isnan(numbers)  # the user's own need no other number
        is_new = has[there] & (arrived[index, here] == NONE)
        here, there = here[is_new], there[is_new]
        values[index, here] = to_float32(numbers[there])
        bad = sum(reader.statistic(run, entry, one)[there] > 0 for one in NONFINITE_COUNTS)
        arrived[index, here] = np.where(bad, NONFINITE, ARRIVED)
    return values, arrived


def _places(
    reader: Reader, run: RunView, graph: Graph, graph_hash: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slots that two graphs share, as rows in ``graph`` and rows in the other."""
    if graph_hash == graph.hash:
        rows = np.arange(graph.slot_count)
        return rows, rows
    known = graph_hash in run.graphs
    others = reader.graph(run, graph_hash).row_keys if known else ()
    row_of = {key: row for row, key in enumerate(others)}
    keys = graph.row_keys[: graph.slot_count]
    pairs = [(here, row_of[key]) for here, key in enumerate(keys) if key in row_of]
    here, there = np.array(pairs, np.int64).reshape(-1, 2).T
    return here, there
