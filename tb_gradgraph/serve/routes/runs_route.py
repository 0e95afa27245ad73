"""Answer with the list of records, a short word that changes when it does, or facts of a training."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from tb_gradgraph.graph import FACTS
from tb_gradgraph.record import CURE, HiddenRecords, session_run
from tb_gradgraph.serve.request.answer import JSON, Answer
from tb_gradgraph.serve.request.find import find_records, find_run
from tb_gradgraph.serve.request.frames import to_json
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.version import __version__


def answer_runs(reader: Reader, parameters: Parameters) -> Answer:
    """List runs, tags, graphs and steps."""
    all_sessions = parameters.optional_text("sessions") == "all"
    runs = [
        {
            "run": run.name,
            "warnings": list(run.warnings),
            "hidden": [_hidden(run, some) for some in run.hidden],
            "tags": [
                {**_tag_columns(tag, entries, run.forwards.get(tag, ())), "own": _own(run, tag)}
                for tag, entries in run.records.items()
            ],
        }
        for run in reader.runs(all_sessions).values()
    ]
    return Answer(to_json({"version": __version__, "runs": runs}).encode(), JSON)


def answer_facts(reader: Reader, parameters: Parameters) -> Answer:
    """Return the facts of a training: its optimizers, modes and parameters; null if they are unknown."""
    run = find_run(reader, parameters)
    find_records(run, parameters)
    tag = parameters.text("tag")
    facts = (run.facts or {}).get(tag)
    told = None if facts is None else dataclasses.asdict(facts)
    return Answer(to_json({"run": run.name, "tag": tag, "facts": told}).encode(), JSON)


def _own(run: RunView, tag: str) -> list[dict[str, str]]:
    return [{"name": name, **dataclasses.asdict(of)} for name, of in run.own[tag].items()]


def _hidden(run: RunView, some: HiddenRecords) -> dict[str, Any]:
    return {
        "run": session_run(run.name, some.number),
        "tag": some.tag,
        "records": some.records,
        "steps": list(some.steps),
        "from_step": some.from_step,
        "text": some.text,
        "cure": CURE,
    }


def _tag_columns(tag: str, entries: Sequence[Entry], forwards: Sequence[Entry]) -> dict[str, Any]:
    with_values = {_pass_of(entry) for entry in forwards}
    hashes = list(dict.fromkeys(entry.graph_hash for entry in entries))
    number = {graph_hash: index for index, graph_hash in enumerate(hashes)}
    return {
        "tag": tag,
        "hashes": hashes,
        "steps": [entry.step for entry in entries],
        "backward_passes": [entry.backward_pass for entry in entries],
        "wall_times": [entry.wall_time for entry in entries],
        "hash_index": [number[entry.graph_hash] for entry in entries],
        "has_gradients": [entry.has_gradients for entry in entries],
        "has_values": [_pass_of(entry) in with_values for entry in entries],
        **{fact.plural: [getattr(entry, fact.name) for entry in entries] for fact in FACTS},
    }


def _pass_of(entry: Entry) -> tuple[int, int, str]:
    return entry.step, entry.backward_pass, entry.graph_hash


def answer_pulse(reader: Reader, parameters: Parameters) -> Answer:
    """Return a word that changes when records are added, removed or replaced, so that a page can poll it."""
    text = "\n".join(_list_states(reader.runs().values()))
    pulse = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return Answer(to_json({"pulse": pulse}).encode(), JSON)


def _list_states(runs: Iterable[RunView]) -> Iterable[str]:
    for run in runs:
        yield repr((run.name, run.warnings, run.hidden))
        for tag, entries in run.records.items():
            last = max(entries, key=lambda entry: entry.wall_time)
            yield repr((tag, len(entries), entries[-1].step, last.wall_time))
