"""Answer in a binary frame: one row over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_gradgraph.serve.evidence.time_columns import time_columns
from tb_gradgraph.serve.evidence.whole import list_whole
from tb_gradgraph.serve.request.answer import BINARY, Answer
from tb_gradgraph.serve.request.find import (
    find_graph,
    find_records,
    find_run,
    own_names,
    with_stage,
)
from tb_gradgraph.serve.request.frames import encode_frame
from tb_gradgraph.serve.request.parameters import Parameters, not_found
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import HISTOGRAM_BINS, HISTOGRAM_LOW, HISTOGRAM_WIDTH, STATISTICS


def answer_node(reader: Reader, parameters: Parameters) -> Answer:
    """Return all statistics of one row over all records of the tag, joined by the row's key."""
    run = find_run(reader, parameters)
    entries = with_stage(run, parameters)
    key = _wanted_key(reader, run, find_records(run, parameters), parameters)
    rows = _rows_of_key(reader, run, entries, key)
    names = (*STATISTICS, *own_names(run, parameters.text("tag"), len(entries)))
    values = np.full((len(names), len(entries)), np.nan)
    present = np.zeros(len(entries), bool)
    histogram = np.zeros((len(entries), HISTOGRAM_BINS), np.uint16)
    for index, (entry, at) in enumerate(zip(entries, rows)):
        if at is not None:
            values[:, index] = [reader.statistic(run, entry, name)[at] for name in names]
            present[index] = reader.present(run, entry)[at]
            histogram[index] = reader.histogram(run, entry)[at]
    whole, left_out = list_whole(reader, run, entries, rows)
    header = {
        "key": key,
        "statistics": names,
        **time_columns(entries),
        "wall_times": [entry.wall_time for entry in entries],
        "histogram_low": HISTOGRAM_LOW,
        "histogram_width": HISTOGRAM_WIDTH,
        "whole": [{name: item[name] for name in item if name != "row"} for item in whole],
        "left_out": len(left_out),
    }
    arrays = {"values": values, "present": present, "histogram": histogram}
    return Answer(encode_frame(header, arrays), BINARY)


def _wanted_key(
    reader: Reader, run: RunView, entries: Sequence[Entry], parameters: Parameters
) -> str:
    """Return the key of the requested row, which is given directly or by a row of one graph."""
    key = parameters.optional_text("key")
    if key is not None:
        if all(row is None for row in _rows_of_key(reader, run, entries, key)):
            raise not_found(f"Expected the key of a row of the tag's graphs, got {key[:200]!r}.")
        return key
    graph = find_graph(reader, run, parameters.text("hash"))
    row = parameters.integer("row")
    if not 0 <= row < graph.row_count:
        raise not_found(f"Expected a row below {graph.row_count}, got {row}.")
    return graph.row_keys[row]


def _rows_of_key(
    reader: Reader, run: RunView, entries: Sequence[Entry], key: str
) -> list[int | None]:
    found: dict[str, int | None] = {}
    for entry in entries:
        if entry.graph_hash not in found:
            known = entry.graph_hash in run.graphs
            keys = reader.graph(run, entry.graph_hash).row_keys if known else ()
            found[entry.graph_hash] = keys.index(key) if key in keys else None
    return [found[entry.graph_hash] for entry in entries]
