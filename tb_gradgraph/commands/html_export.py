"""The command ``tb-gradgraph export --html``: the panel with one run, in one HTML file."""

from __future__ import annotations

import dataclasses
import gzip
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping

from tb_gradgraph.commands.export import ExportError, choose_run, open_log
from tb_gradgraph.commands.html_page import key_of, make_page
from tb_gradgraph.graph import Graph
from tb_gradgraph.record import EventFiles, Told
from tb_gradgraph.serve import (
    DamagedRecordError,
    Entry,
    Parameters,
    Reader,
    RequestError,
    Route,
    RunView,
    answer_findings,
    answer_flow,
    answer_graph,
    answer_node,
    answer_quantities,
    answer_run_findings,
    answer_runs,
    answer_scalar,
    answer_scalars,
    answer_series,
    answer_step,
)
from tb_gradgraph.statistics import DRAWN, FORWARD, NONFINITE, OF_VALUES, STATISTICS

#: The limit for all answers in a file, in bytes before compression. Beyond it, steps are left out.
MOST_BYTES = 96 * 2**20

#: Bytes per row of a record: its statistics in `step`, `node` and `flow`, a histogram, the axes.
_ROW_BYTES = 3 * 4 * len(STATISTICS) + 64 + 40

MOST_SEARCHED = 1_000_000  # numbers of a series that the panel searches

Question = tuple[str, Route, Mapping[str, object]]


def export_html(
    logdir: str | os.PathLike[str],
    run: str | None = None,
    tag: str | None = None,
    *,
    most_bytes: int = MOST_BYTES,
    told: Told = lambda text: None,
) -> bytes:
    """Return an HTML file that shows one run's graphs as the panel does, without TensorBoard.

    Args:
        logdir: Directory of a run, or of several.
        run: Which run; may be left out if there is one.
        tag: Only this tag of the run; ``None``: all of them.
        most_bytes: Limit of the contents before compression. If the run has more, the file holds
            every n-th recorded step and the last one, and says so.
        told: Called with a sentence for each file or tag that cannot be read.

    Raises:
        ExportError: If there is no such run or tag, or not even its first and last step fit.
    """
    source = open_log(logdir, told)
    view = choose_run(Reader(source).runs(all_sessions=run is not None), run)
    if view.stored_in is None:
        name = _name_of(logdir, view)
        source.rename(view.name, name)
        view = dataclasses.replace(view, name=name)
    told_of = tuple(some.text for some in view.hidden)
    view = dataclasses.replace(view, hidden=(), warnings=(*view.warnings, *told_of))
    if tag is not None and tag not in view.records:
        raise ExportError(f"expected --tag with one of {', '.join(view.records)}; got {tag!r}.")
    tags = {name: view.records[name] for name in view.records if tag in (None, name)}
    forwards = {name: view.forwards[name] for name in view.forwards if name in tags}
    view = dataclasses.replace(view, records=tags, forwards=forwards)
    every = max(1, -(-_estimate(view) // most_bytes))
    while True:
        excerpt = _leave_out(view, every)
        answers = _answer_all(_Excerpt(source, excerpt), excerpt)
        size = sum(map(len, answers.values()))
        if size <= most_bytes:
            return make_page(f"{view.name} - gradient graph", answers)
        if max(len(_steps(entries)) for entries in excerpt.records.values()) <= 2:
            raise ExportError(
                f"expected two steps to fit in {most_bytes:,} bytes, got {size:,}. "
                "Choose one tag, or record with level='module'."
            )
        every *= 2


def _name_of(logdir: str | os.PathLike[str], view: RunView) -> str:
    return pathlib.Path(logdir).resolve().name if view.name == "." else view.name


class _Excerpt(Reader):
    """A reader of one run with a part of its records."""

    def __init__(self, source: EventFiles, view: RunView) -> None:
        super().__init__(source)
        super().runs()
        self._view = view

    def runs(self, all_sessions: bool = False) -> dict[str, RunView]:
        return {self._view.name: self._view}


def _estimate(view: RunView) -> int:
    tags = (*view.records.values(), *view.forwards.values())
    return _ROW_BYTES * sum(entry.rows for entries in tags for entry in entries)


def _leave_out(view: RunView, every: int) -> RunView:
    """Keep every n-th recorded step of a tag and the last one, and say so."""
    if every == 1:
        return view
    records = {tag: _each_nth(entries, every) for tag, entries in view.records.items()}
    kept = {tag: set(_steps(entries)) for tag, entries in records.items()}
    forwards = {
        tag: tuple(entry for entry in entries if entry.step in kept[tag])
        for tag, entries in view.forwards.items()
        if tag in kept
    }
    warning = (
        f"This file holds one of every {every} recorded steps, and the last, because all of them "
        "would make it too large."
    )
    return dataclasses.replace(
        view, records=records, forwards=forwards, warnings=(warning, *view.warnings)
    )


def _each_nth(entries: tuple[Entry, ...], every: int) -> tuple[Entry, ...]:
    steps = _steps(entries)
    kept = {*steps[::every], *steps[-1:]}
    return tuple(entry for entry in entries if entry.step in kept)


def _steps(entries: tuple[Entry, ...]) -> list[int]:
    return sorted({entry.step for entry in entries})


def _answer_all(reader: Reader, view: RunView) -> dict[str, bytes]:
    """Answer every request that the panel may make; damaged records have no answer."""
    answers: dict[str, bytes] = {}
    for name, route, query in _list_questions(reader, view):
        try:
            answer = route(reader, Parameters({key: str(value) for key, value in query.items()}))
        except (RequestError, DamagedRecordError):
            continue
        content = answer.content if isinstance(answer.content, bytes) else b"".join(answer.content)
        answers[key_of(name, query)] = gzip.decompress(content) if answer.is_gzip else content
    return answers


def _list_questions(reader: Reader, view: RunView) -> Iterator[Question]:
    run = {"run": view.name}
    yield "runs", answer_runs, {}
    yield "scalars", answer_scalars, run
    for scalar in reader.source.list_scalar_tags(view.name):
        yield "scalar", answer_scalar, {**run, "tag": scalar}
    for tag, entries in view.records.items():
        yield "quantities", answer_quantities, {**run, "tag": tag}
        yield "run_findings", answer_run_findings, {**run, "tag": tag}
        for entry in entries:
            place = {**run, "tag": tag, **_place_of(entry)}
            yield "step", answer_step, place
            yield "findings", answer_findings, place
        forwards = view.forwards.get(tag, ())
        for entry in forwards:
            yield "step", answer_step, {**run, "tag": tag, **_place_of(entry)}
        for graph_hash in dict.fromkeys(entry.graph_hash for entry in entries):
            if graph_hash in view.graphs:
                yield "graph", answer_graph, {**run, "hash": graph_hash}
                graph = reader.graph(view, graph_hash)
                place = {**run, "tag": tag, "hash": graph_hash}
                own = view.own[tag]
                yield from _of_graph(place, graph, entries, own)
                if forwards:
                    yield from _of_graph(place, graph, forwards, own, {"stage": FORWARD})


def _place_of(entry: Entry) -> dict[str, object]:
    return {"step": entry.step, "backward_pass": entry.backward_pass, "stage": entry.stage}


def _of_graph(
    place: Mapping[str, object],
    graph: Graph,
    entries: tuple[Entry, ...],
    own: Iterable[str],
    at: Mapping[str, object] | None = None,
) -> Iterator[Question]:
    """List what may be asked about one graph; ``at`` is the stage of values, None for gradients."""
    of_stage = {**place, **(at or {})}
    for name in (*DRAWN, *own):
        if at is None and name in OF_VALUES:
            continue
        yield "series", answer_series, {**of_stage, "statistic": name, "from": 0, "count": 1}
        for stage, backward_pass in sorted(_list_readings(entries)):
            reading = {"stage": stage, "backward_pass": backward_pass, "every": 1, "from": 0}
            yield "flow", answer_flow, {**place, "statistic": name, **reading}
    if graph.row_count * len(entries) <= MOST_SEARCHED:
        for name in NONFINITE:
            yield "series", answer_series, {**of_stage, "statistic": name}
    for row in range(graph.row_count):
        yield "node", answer_node, {**of_stage, "row": row}


def _list_readings(entries: tuple[Entry, ...]) -> set[tuple[str, int]]:
    """List the stages and backward passes of a step for which the panel may request the heat map."""
    of_pass = (FORWARD, "backward")
    return {
        (entry.stage, entry.backward_pass if entry.stage in of_pass else 0) for entry in entries
    }
