"""Answer with a short word that changes when records change, so that a page can poll it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from tb_gradgraph.serve.request.answer import JSON, Answer
from tb_gradgraph.serve.request.frames import to_json
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.runs.index import RunView
from tb_gradgraph.serve.runs.reader import Reader


def answer_pulse(reader: Reader, parameters: Parameters) -> Answer:
    """Return a word that changes when records are added, removed or replaced."""
    text = "\n".join(_list_states(reader.runs().values()))
    pulse = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return Answer(to_json({"pulse": pulse}).encode(), JSON)


def _list_states(runs: Iterable[RunView]) -> Iterable[str]:
    for run in runs:
        yield repr((run.name, run.warnings, run.hidden))
        for tag, entries in run.records.items():
            last = max(entries, key=lambda entry: entry.wall_time)
            yield repr((tag, len(entries), entries[-1].step, last.wall_time))
