"""Downloads in JSON, CSV and Graphviz's format, sent in parts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tb_gradgraph.graph import FACTS, Graph
from tb_gradgraph.quantities import series_name
from tb_gradgraph.record import to_dot
from tb_gradgraph.serve.evidence.graph_columns import graph_columns
from tb_gradgraph.serve.request.answer import JSON, Answer
from tb_gradgraph.serve.request.find import find_graph, find_records, find_run, own_names
from tb_gradgraph.serve.request.frames import to_json
from tb_gradgraph.serve.request.parameters import Parameters, not_found
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import DamagedRecordError, Reader
from tb_gradgraph.statistics import STATISTICS
from tb_gradgraph.version import __version__

Graphs = Mapping[str, Graph]
Own = Mapping[str, Mapping[int, float]]  # numbers of the user's own statistics, by name and row
Tables = Iterator[tuple[Entry, np.ndarray, Own]]

#: The first characters of cells that a spreadsheet evaluates as a formula.
_COMPUTED = tuple("=+-@\t\r\n＝＋－＠")  # noqa: RUF001

_FORMATS = ("json", "csv", "csv-quantities", "dot")
_CSV = "text/csv; charset=utf-8"
_LABELS = ("name", "operation", "key", "dtype")
#: Column -> attribute of a record, for every line. Only JSON has the objective.
_PLACE = {"tag": "tag", "hash": "graph_hash"} | {
    name: name for name in ("step", "backward_pass", "stage", "wall_time")
}
_RECORD_COLUMNS = _PLACE | {fact.name: fact.name for fact in FACTS if fact.name != "objective"}


def answer_export(reader: Reader, parameters: Parameters) -> Answer:
    """Return a download with all records of a tag, or those of one graph, step, backward pass or stage."""
    run = find_run(reader, parameters)
    form = parameters.choice("format", _FORMATS)
    entries = _choose(_of_all_stages(run, parameters), parameters)
    if form == "dot":
        content: Iterable[bytes] = [_dot(reader, run, entries).encode()]
        return Answer(content, "text/vnd.graphviz; charset=utf-8", file_name="gradgraph.dot")
    graphs = {
        graph_hash: reader.graph(run, graph_hash)
        for graph_hash in dict.fromkeys(entry.graph_hash for entry in entries)
        if graph_hash in run.graphs
    }
    records = _tables(reader, run, entries)
    if form == "csv-quantities":
        lines = _quantity_lines(run.name, entries)
        return Answer(lines, _CSV, file_name="quantities.csv")
    if form == "csv":
        lines = _csv_lines(
            run.name,
            graphs,
            records,
            own_names(run, entries[0].tag, max(entry.rows for entry in entries)),
        )
        return Answer(lines, _CSV, file_name="gradgraph.csv")
    head = {"version": __version__, "run": run.name, "tag": entries[0].tag}
    columns = {of: graph_columns(graphs[of], of, run.processes.get(of)) for of in graphs}
    return Answer(_json_parts(head, columns, records), JSON, file_name="gradgraph.json")


def _of_all_stages(run: RunView, parameters: Parameters) -> list[Entry]:
    """Return the records of a tag by step, those of values before those of gradients."""
    records = find_records(run, parameters)
    forwards = run.forwards.get(parameters.text("tag"), ())
    return sorted([*forwards, *records], key=lambda entry: entry.step)


def _choose(entries: Sequence[Entry], parameters: Parameters) -> list[Entry]:
    wanted = {
        "graph_hash": parameters.optional_text("hash"),
        "step": parameters.optional_integer("step"),
        "backward_pass": parameters.natural("backward_pass"),
        "stage": parameters.optional_text("stage"),
    }
    chosen = [
        entry
        for entry in entries
        if all(value in (None, getattr(entry, name)) for name, value in wanted.items())
    ]
    if not chosen:
        given = ", ".join(f"{name} {value}" for name, value in wanted.items() if value is not None)
        steps = sorted({entry.step for entry in entries})
        raise not_found(
            f"Expected hash, step, backward pass and stage of a record of the tag, got {given}; "
            f"its steps are {_listed(steps)}."
        )
    return chosen


def _listed(steps: Sequence[int]) -> str:
    shown = [str(step) for step in steps]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:5], "..", *shown[-2:]])


def _dot(reader: Reader, run: RunView, entries: Sequence[Entry]) -> str:
    """Draw the graph of the last backward pass with its norms. Later stages have only parameters' norms."""
    entry = next((one for one in reversed(entries) if one.stage == "backward"), entries[-1])
    graph = find_graph(reader, run, entry.graph_hash)
    return to_dot(graph, reader.statistic(run, entry, "l2_norm"))


def _json_parts(
    head: dict[str, str], columns: Mapping[str, object], records: Tables
) -> Iterator[bytes]:
    yield to_json({**head, "graphs": columns})[:-1].encode() + b',"records":['
    for index, (entry, values, own) in enumerate(records):
        yield b"," * (index > 0) + to_json(_json_record(entry, values, own)).encode()
    yield b"]}"


def _json_record(entry: Entry, values: np.ndarray, own: Own) -> dict[str, Any]:
    columns = {
        name: [None if number != number else number for number in column.tolist()]
        for name, column in zip(STATISTICS, values.T)
    }
    return {
        **dict(zip(_RECORD_COLUMNS, _record_cells(entry))),
        "objective": entry.objective,
        "quantities": entry.quantities,
        "statistics": columns,
        "own": {
            name: {"rows": list(of_rows), "values": list(of_rows.values())}
            for name, of_rows in own.items()
        },
    }


def _csv_lines(run: str, graphs: Graphs, records: Tables, names: Sequence[str]) -> Iterator[bytes]:
    labels = {graph_hash: row_labels(graph) for graph_hash, graph in graphs.items()}
    yield _csv_text([["run", *_RECORD_COLUMNS, "row", *_LABELS, *STATISTICS, *_columns(names)]])
    for entry, values, own in records:
        of_rows = labels.get(entry.graph_hash) or [("",) * len(_LABELS)] * entry.rows
        numbers = values.astype(object)
        numbers[np.isnan(values)] = None
        head = [run, *_record_cells(entry)]
        has_own = {row for of_name in own.values() for row in of_name}
        yield _csv_text(
            [*head, row, *label, *cells, *(own.get(name, {}).get(row, "") for name in names)]
            for row, (label, cells) in enumerate(zip(of_rows, numbers.tolist()))
            if row in has_own or any(cell is not None for cell in cells)
        )


def _columns(names: Sequence[str]) -> list[str]:
    """Return the columns of the user's own statistics, none of them named as another column."""
    others = {"run", "row", *_RECORD_COLUMNS, *_LABELS}
    return [f"own:{name}" if name in others else name for name in names]


def _quantity_lines(run: str, entries: Iterable[Entry]) -> Iterator[bytes]:
    """Yield one line for each quantity of each record."""
    yield _csv_text([["run", *_RECORD_COLUMNS, "name", "value"]])
    for entry in entries:
        head = [run, *_record_cells(entry)]
        pairs = entry.quantities.items()
        yield _csv_text([*head, series_name(name, entry.stage), value] for name, value in pairs)


def row_labels(graph: Graph) -> list[tuple[str, ...]]:
    """Return name, operation, key and type of each row. The name of an edge's share is those of both ends."""
    names = [
        (slot.name or node.name, node.operation or node.kind, slot.dtype)
        for node in graph.nodes
        for slot in node.slots
    ]
    starts = graph.slot_offsets.tolist()
    names += [("", "", "")] * (graph.row_count - graph.slot_count)
    for edge, row in zip(graph.edges, graph.edge_rows.tolist()):
        if row >= graph.slot_count:
            source, _, dtype = names[starts[edge.source] + edge.source_slot]
            shown = f"{source} -> {graph.nodes[edge.target].name}"
            names[row] = (shown, "share of an edge", dtype)
    return [(name, made, key, dtype) for (name, made, dtype), key in zip(names, graph.row_keys)]


def _csv_text(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([_inert(cell) for cell in row] for row in rows)
    return text.getvalue().encode(errors="replace")


def _inert(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would evaluate. Numbers are not changed.

    OWASP recommends this against CSV injection. Names of modules and tags were chosen by whoever
    wrote the log.
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_COMPUTED) else cell


def _tables(reader: Reader, run: RunView, entries: Sequence[Entry]) -> Tables:
    """Read records one by one. Damaged ones are left out, because the answer has already begun."""
    for entry in entries:
        try:
            yield entry, reader.table(run, entry).values, reader.own(run, entry)
        except DamagedRecordError:
            continue


def _record_cells(entry: Entry) -> list[Any]:
    return [getattr(entry, attribute) for attribute in _RECORD_COLUMNS.values()]
