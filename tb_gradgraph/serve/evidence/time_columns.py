"""Answers in binary frames: one record, one statistic over time, one row over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tb_gradgraph.serve.evidence.cancelled import list_cancelled
from tb_gradgraph.serve.evidence.optimizer_steps import rows_without_optimizer
from tb_gradgraph.serve.evidence.whole import list_whole
from tb_gradgraph.serve.request.answer import BINARY, Answer
from tb_gradgraph.serve.request.find import (
    find_entry,
    find_graph,
    find_records,
    find_run,
    with_stage,
)
from tb_gradgraph.serve.request.frames import encode_frame
from tb_gradgraph.serve.request.parameters import Parameters, bad_request, not_found
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.magnitudes import Magnitudes, domain_of, fences_of
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import HISTOGRAM_BINS, HISTOGRAM_LOW, HISTOGRAM_WIDTH, STATISTICS

#: Most bytes of one series.
SERIES_BYTES = 32 * 2**20


def answer_step(reader: Reader, parameters: Parameters) -> Answer:
    """Give all statistics of one record."""
    run, entry = find_entry(reader, parameters)
    columns = [reader.statistic(run, entry, name) for name in STATISTICS]
    present = reader.present(run, entry)
    whole, left_out = list_whole(reader, run, [entry])
    header = {
        "run": run.name,
        "tag": entry.tag,
        "hash": entry.graph_hash,
        "step": entry.step,
        "backward_pass": entry.backward_pass,
        "wall_time": entry.wall_time,
        "stage": entry.stage,
        "objective": entry.objective,
        "loss_scale": entry.loss_scale,
        "skipped": entry.skipped,
        "every_n_steps": entry.every_n_steps,
        "cost": entry.cost,
        "rows": entry.rows,
        "has_gradients": entry.has_gradients,
        "unread": sorted(entry.unread.items()),
        "no_optimizer": rows_without_optimizer(reader, run, entry),
        "statistics": STATISTICS,
        "whole": [{name: item[name] for name in item if name != "record"} for item in whole],
        "left_out": {
            what: [row for _, row, one in left_out if one == what] for what in ("gradient", "value")
        },
    }
    return Answer(encode_frame(header, {"values": np.stack(columns), "present": present}), BINARY)


def answer_series(reader: Reader, parameters: Parameters) -> Answer:
    """Give one statistic of all rows over the records of one graph."""
    run = find_run(reader, parameters)
    name = parameters.choice("statistic", STATISTICS)
    graph_hash = parameters.text("hash")
    start, count = parameters.natural("from") or 0, parameters.natural("count")
    records = with_stage(find_records(run, parameters), parameters)
    entries = [entry for entry in records if entry.graph_hash == graph_hash]
    if not entries:
        raise not_found(f"Expected a graph of the tag, got hash {graph_hash[:40]!r}.")
    if start > len(entries):
        raise bad_request(f"Expected 'from' to be at most {len(entries)}, got {start}.")
    rows = entries[0].rows
    most = max(1, SERIES_BYTES // (4 * max(1, rows)))
    chosen = entries[start : start + min(most if count is None else count, most)]
    values = [reader.statistic(run, entry, name) for entry in chosen]
    magnitudes = _magnitudes(reader, run, records, name)
    header = {
        "statistic": name,
        "rows": rows,
        "from": start,
        "total": len(entries),
        **_time_columns(chosen),
        # Of every graph under the tag: one color means one number wherever the slider stands.
        "domain": domain_of(magnitudes),
        "fences": fences_of(magnitudes),
    }
    shape = (len(chosen), rows)
    array = np.stack(values) if values else np.zeros(shape, np.float32)
    return Answer(encode_frame(header, {"values": array}), BINARY)


def _magnitudes(
    reader: Reader, run: RunView, entries: Sequence[Entry], name: str
) -> list[Magnitudes]:
    segments = {(entry.chunk, entry.segment): entry for entry in entries}.values()
    firsts = {entry.graph_hash: entry for entry in reversed(entries)}
    cancelled = {
        graph_hash: list_cancelled(reader, run, first) for graph_hash, first in firsts.items()
    }
    parts = (reader.magnitudes(run, entry, name, cancelled[entry.graph_hash]) for entry in segments)
    return [part for part in parts if part is not None]


def answer_node(reader: Reader, parameters: Parameters) -> Answer:
    """Give all statistics of one row over all records of the tag, joined by the row's key."""
    run = find_run(reader, parameters)
    records = find_records(run, parameters)
    entries = with_stage(records, parameters)
    key = _wanted_key(reader, run, records, parameters)
    rows = _rows_of_key(reader, run, entries, key)
    values = np.full((len(STATISTICS), len(entries)), np.nan)
    present = np.zeros(len(entries), bool)
    histogram = np.zeros((len(entries), HISTOGRAM_BINS), np.uint16)
    for index, (entry, at) in enumerate(zip(entries, rows)):
        if at is not None:
            values[:, index] = [reader.statistic(run, entry, name)[at] for name in STATISTICS]
            present[index] = reader.present(run, entry)[at]
            histogram[index] = reader.histogram(run, entry)[at]
    whole, left_out = list_whole(reader, run, entries, rows)
    header = {
        "key": key,
        "statistics": STATISTICS,
        **_time_columns(entries),
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
    """Give the row's key that is asked for, by itself or by a row of one graph."""
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


def _time_columns(entries: Sequence[Entry]) -> dict[str, list[Any]]:
    return {
        "steps": [entry.step for entry in entries],
        "backward_passes": [entry.backward_pass for entry in entries],
        "stages": [entry.stage for entry in entries],
    }
