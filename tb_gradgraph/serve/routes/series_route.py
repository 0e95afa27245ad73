"""Answer in a binary frame: one statistic over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_gradgraph.serve.evidence.rows_aside import list_rows_aside
from tb_gradgraph.serve.evidence.time_columns import time_columns
from tb_gradgraph.serve.request.answer import BINARY, Answer
from tb_gradgraph.serve.request.find import (
    find_run,
    find_statistic,
    with_stage,
)
from tb_gradgraph.serve.request.frames import encode_frame
from tb_gradgraph.serve.request.parameters import Parameters, bad_request, not_found
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.magnitudes import Magnitudes, domain_of, fences_of
from tb_gradgraph.serve.runs.reader import Reader

#: How many bytes one series may take.
SERIES_BYTES = 32 * 2**20


def answer_series(reader: Reader, parameters: Parameters) -> Answer:
    """Return one statistic of all rows over the records of one graph."""
    run = find_run(reader, parameters)
    name = find_statistic(run, parameters)
    graph_hash = parameters.text("hash")
    start, count = parameters.natural("from") or 0, parameters.natural("count")
    records = with_stage(run, parameters)
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
        **time_columns(chosen),
        # Over all graphs of the tag, so that a color means the same number at every step.
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
    aside = {found: list_rows_aside(reader, run, first) for found, first in firsts.items()}
    parts = (reader.magnitudes(run, entry, name, aside[entry.graph_hash]) for entry in segments)
    return [part for part in parts if part is not None]
