"""Downloads: JSON, CSV and Graphviz, sent piece by piece."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tb_gradgraph import __version__
from tb_gradgraph.graph import Graph
from tb_gradgraph.record.dot import to_dot
from tb_gradgraph.serve.answer import JSON, Answer
from tb_gradgraph.serve.find import find_graph, find_records, find_run
from tb_gradgraph.serve.frames import to_json
from tb_gradgraph.serve.index import Entry, RunView
from tb_gradgraph.serve.parameters import Parameters, not_found
from tb_gradgraph.serve.reader import DamagedRecordError, Reader
from tb_gradgraph.serve.structure import graph_columns
from tb_gradgraph.statistics import STATISTICS

Graphs = Mapping[str, Graph]
Tables = Iterator[tuple[Entry, np.ndarray]]

_FORMATS = ("json", "csv", "dot")
_RECORD_COLUMNS = ("tag", "hash", "step", "backward_pass", "stage", "wall_time")


def answer_export(reader: Reader, parameters: Parameters) -> Answer:
    """Give all records of a tag, or of one graph, step or backward pass of it, as a download."""
    run = find_run(reader, parameters)
    form = parameters.choice("format", _FORMATS)
    entries = _choose(find_records(run, parameters), parameters)
    if form == "dot":
        content: Iterable[bytes] = [_dot(reader, run, entries).encode()]
        return Answer(content, "text/vnd.graphviz; charset=utf-8", file_name="gradgraph.dot")
    graphs = {
        graph_hash: reader.graph(run, graph_hash)
        for graph_hash in dict.fromkeys(entry.graph_hash for entry in entries)
        if graph_hash in run.graphs
    }
    records = _tables(reader, run, entries)
    if form == "csv":
        lines = _csv_lines(graphs, records)
        return Answer(lines, "text/csv; charset=utf-8", file_name="gradgraph.csv")
    head = {"version": __version__, "run": run.name, "tag": entries[0].tag}
    return Answer(_json_parts(head, graphs, records), JSON, file_name="gradgraph.json")


def _choose(entries: Sequence[Entry], parameters: Parameters) -> list[Entry]:
    wanted = {
        "graph_hash": parameters.optional_text("hash"),
        "step": parameters.optional_integer("step"),
        "backward_pass": parameters.natural("backward_pass"),
    }
    chosen = [
        entry
        for entry in entries
        if all(value in (None, getattr(entry, name)) for name, value in wanted.items())
    ]
    if not chosen:
        raise not_found("Expected hash, step and backward pass of a record of the tag, got others.")
    return chosen


def _dot(reader: Reader, run: RunView, entries: Sequence[Entry]) -> str:
    """Draw the graph of the last record, with its norms."""
    entry = entries[-1]
    graph = find_graph(reader, run, entry.graph_hash)
    return to_dot(graph, reader.statistic(run, entry, "l2_norm"))


def _json_parts(head: dict[str, str], graphs: Graphs, records: Tables) -> Iterator[bytes]:
    columns = {graph_hash: graph_columns(graph, graph_hash) for graph_hash, graph in graphs.items()}
    yield to_json({**head, "graphs": columns})[:-1].encode() + b',"records":['
    for index, (entry, values) in enumerate(records):
        yield b"," * (index > 0) + to_json(_json_record(entry, values)).encode()
    yield b"]}"


def _json_record(entry: Entry, values: np.ndarray) -> dict[str, Any]:
    columns = {
        name: [None if number != number else number for number in column.tolist()]
        for name, column in zip(STATISTICS, values.T)
    }
    return {
        **dict(zip(_RECORD_COLUMNS, _record_cells(entry))),
        "objective": entry.objective,
        "statistics": columns,
    }


def _csv_lines(graphs: Graphs, records: Tables) -> Iterator[bytes]:
    yield _csv_text([[*_RECORD_COLUMNS, "row", "key", *STATISTICS]])
    for entry, values in records:
        graph = graphs.get(entry.graph_hash)
        keys = graph.row_keys if graph else [""] * entry.rows
        numbers = np.where(np.isnan(values), None, values.astype(object)).tolist()
        head = _record_cells(entry)
        yield _csv_text(
            [*head, row, key, *cells]
            for row, (key, cells) in enumerate(zip(keys, numbers))
            if any(cell is not None for cell in cells)
        )


def _csv_text(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _tables(reader: Reader, run: RunView, entries: Sequence[Entry]) -> Tables:
    """Read records one by one; a damaged one is left out, for the answer has already begun."""
    for entry in entries:
        try:
            yield entry, reader.table(run, entry).values
        except DamagedRecordError:
            continue


def _record_cells(entry: Entry) -> list[Any]:
    return [
        entry.tag,
        entry.graph_hash,
        entry.step,
        entry.backward_pass,
        entry.stage,
        entry.wall_time,
    ]
