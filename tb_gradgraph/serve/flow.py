"""One statistic of every tensor at every recorded step: what the heat map is drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.answer import BINARY, Answer
from tb_gradgraph.serve.find import find_graph, find_records, find_run, with_stage
from tb_gradgraph.serve.frames import encode_frame, to_float32
from tb_gradgraph.serve.index import Entry, RunView
from tb_gradgraph.serve.parameters import Parameters, bad_request
from tb_gradgraph.serve.reader import Reader
from tb_gradgraph.statistics import STATISTICS

#: Most bytes of the values of one answer.
FLOW_BYTES = 32 * 2**20

NONE, ARRIVED, NONFINITE = range(3)
_COUNTS = ("nan", "posinf", "neginf")


def answer_flow(reader: Reader, parameters: Parameters) -> Answer:
    """Give one statistic of all slots of a graph, one record a step of the tag, joined by key."""
    run = find_run(reader, parameters)
    name = parameters.choice("statistic", STATISTICS)
    graph = find_graph(reader, run, parameters.text("hash"))
    every = parameters.natural("every")
    start, count = parameters.natural("from") or 0, parameters.natural("count")
    if every == 0:
        raise bad_request("Expected 'every' to be at least 1, got 0.")
    records = with_stage(find_records(run, parameters), parameters)
    entries = _one_a_step(records, parameters.natural("backward_pass") or 0)[:: every or 1]
    most = max(1, FLOW_BYTES // (4 * max(1, graph.slot_count)))
    chosen = entries[start : start + min(most if count is None else count, most)]
    values, arrived = _read(reader, run, graph, chosen, name)
    header = {
        "statistic": name,
        "slots": graph.slot_count,
        "from": start,
        "total": len(entries),
        "steps": [entry.step for entry in chosen],
        "backward_passes": [entry.backward_pass for entry in chosen],
        "stages": [entry.stage for entry in chosen],
    }
    return Answer(encode_frame(header, {"values": values, "arrived": arrived}), BINARY)


def _one_a_step(entries: Iterable[Entry], backward_pass: int) -> list[Entry]:
    """Choose of each step the record whose pass is nearest, the earlier of two."""
    chosen: dict[int, Entry] = {}
    for entry in entries:
        known = chosen.get(entry.step)
        away = abs(entry.backward_pass - backward_pass)
        if known is None or away < abs(known.backward_pass - backward_pass):
            chosen[entry.step] = entry
    return list(chosen.values())


def _read(
    reader: Reader, run: RunView, graph: Graph, entries: Sequence[Entry], name: str
) -> tuple[np.ndarray, np.ndarray]:
    shape = (len(entries), graph.slot_count)
    values, arrived = np.full(shape, np.nan, np.float32), np.zeros(shape, np.uint8)
    places: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for index, entry in enumerate(entries):
        if entry.graph_hash not in places:
            places[entry.graph_hash] = _places(reader, run, graph, entry.graph_hash)
        here, there = places[entry.graph_hash]
        values[index, here] = to_float32(reader.statistic(run, entry, name)[there])
        bad = sum(reader.statistic(run, entry, one)[there] > 0 for one in _COUNTS)
        present = reader.present(run, entry)[there]
        arrived[index, here] = np.where(present, np.where(bad, NONFINITE, ARRIVED), NONE)
    return values, arrived


def _places(
    reader: Reader, run: RunView, graph: Graph, graph_hash: str
) -> tuple[np.ndarray, np.ndarray]:
    """Give the slots that two graphs have in common: their rows in ``graph`` and in the other."""
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
