"""Answer with what looks wrong in a training as a whole, over all of its recorded steps."""

from __future__ import annotations

import dataclasses
import time
import weakref

from tb_gradgraph.serve.evidence.recorded_course import RecordedCourse
from tb_gradgraph.serve.request.answer import JSON, Answer
from tb_gradgraph.serve.request.find import find_records, find_run
from tb_gradgraph.serve.request.frames import to_json
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.runs.index import RunView
from tb_gradgraph.serve.runs.reader import Reader

#: The version of the answer's form.
VERSION = 1

#: While a log grows, an answer is kept for so many times the seconds that it took.
PATIENCE = 10.0


@dataclasses.dataclass(frozen=True)
class _Latest:
    """The last answer about one training, and until when it is kept although the log has grown."""

    content: bytes
    until: float


_latest: weakref.WeakKeyDictionary[Reader, dict[tuple[str, str], _Latest]]
_latest = weakref.WeakKeyDictionary()


def answer_run_findings(reader: Reader, parameters: Parameters) -> Answer:
    """Return the findings of a training, the cause first.

    The answer is kept. If the log has grown since, a new one is made, but not so often that it
    takes more than a small part of the time.
    """
    run = find_run(reader, parameters)
    find_records(run, parameters)
    return Answer(findings_of(reader, run, parameters.text("tag")), JSON)


def findings_of(reader: Reader, run: RunView, tag: str) -> bytes:
    """Return the answer about the training of a tag, which has records."""
    entries = run.records[tag]
    last = entries[-1]
    kept = _latest.setdefault(reader, {})
    latest = kept.get((run.name, tag))
    if latest is not None and time.monotonic() < latest.until:
        return latest.content

    def find() -> bytes:
        began = time.monotonic()
        content = _find(reader, run, tag)
        now = time.monotonic()
        kept[run.name, tag] = _Latest(content, now + PATIENCE * (now - began))
        return content

    counts = (len(entries), len(run.forwards.get(tag, ())), len(run.graphs))
    key = (run.name, "run findings", tag, *counts, last.step, last.wall_time)
    return reader.keep(key, find)


def _find(reader: Reader, run: RunView, tag: str) -> bytes:
    key = (run.name, "course", tag)
    recorded = reader.cache.get(key, lambda: RecordedCourse(reader), lambda one: one.nbytes)
    course, found = recorded.find(run, tag)
    reader.cache.put(key, recorded, recorded.nbytes)  # it has grown
    entries = run.records[tag]
    is_known = bool(course.steps) and any(entry.has_gradients for entry in entries)
    answer = {
        "version": VERSION,
        "run": run.name,
        "tag": tag,
        "records": len(entries),
        "steps": len(course.steps),
        "healthy": is_known and all(one.severity == "note" for one in found),
        "findings": [dataclasses.asdict(one) for one in found],
    }
    return to_json(answer).encode()
