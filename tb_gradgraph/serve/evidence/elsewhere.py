"""Find other recorded steps of a tag with findings that the shown step does not have."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tb_gradgraph.diagnose import KINDS, Finding
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader

#: How many steps are examined. In a longer training these are the first, the last, and some in between.
MOST_EXAMINED = 64

#: How many rows of all steps are examined, which takes some seconds the first time. Of a large
#: graph fewer steps are examined.
_MOST_ROWS = 200_000
_LEAST_EXAMINED = 8

#: How many steps are listed at most; these are the earliest ones.
MOST_LISTED = 12

#: So many records of the shown step are searched for findings that are not repeated for other steps.
_MOST_STAGES = 8

Found = dict[str, Any]  # a finding as it is sent


def first_nonfinite(reader: Reader, run: RunView, entries: Sequence[Entry]) -> Entry | None:
    """Return the first of some records in which a gradient holds NaN or infinity."""
    return next((entry for entry in entries if reader.is_nonfinite(run, entry)), None)


def list_elsewhere(
    reader: Reader,
    run: RunView,
    entry: Entry,
    found: Sequence[Found],
    find: Callable[[Entry], Sequence[Finding]],
) -> list[dict[str, Any]]:
    """List errors and warnings of other steps that are not among ``found``, each at its first step.

    Args:
        reader: The source of records; it also caches the findings.
        run: The run.
        entry: The shown record.
        found: What was found in the shown record.
        find: Returns the findings of a record.
    """
    entries = run.records[entry.tag]
    known = {_sort_of(finding) for finding in found}
    for stage in [one for one in entries if one.step == entry.step][:_MOST_STAGES]:
        if stage.graph_hash in run.graphs:  # findings at other stages of the step are known too
            known.update(_sort_of(one) for one in _kept(reader, run, stage, find))
    listed = []
    for other in _examined(reader, run, entries):
        if other.step == entry.step or other.graph_hash not in run.graphs:
            continue
        new = [one for one in _kept(reader, run, other, find) if _sort_of(one) not in known]
        if new:
            known.update(_sort_of(one) for one in new)
            listed.append(
                {
                    "step": other.step,
                    "backward_pass": other.backward_pass,
                    "count": len(new),
                    "severity": new[0]["severity"],
                    "text": new[0]["text"],
                }
            )
    return listed[:MOST_LISTED]


def _sort_of(finding: Found) -> tuple[str, str]:
    kind = finding["kind"]
    return kind, finding["node"] if KINDS[kind].is_of_node else ""


def _examined(reader: Reader, run: RunView, entries: Sequence[Entry]) -> Iterator[Entry]:
    """Return one record of each step to examine, in the order of steps.

    The distance between these steps is a power of two. In a running training, most of them were
    then examined before.
    """
    of_step: dict[int, Entry] = {}
    for entry in entries:
        of_step.setdefault(entry.step, entry)
    steps = list(of_step)
    most = max(_LEAST_EXAMINED, min(MOST_EXAMINED, _MOST_ROWS // max(1, entries[0].rows)))
    every = 1
    while len(steps) > every * most:
        every *= 2
    chosen = {step: of_step[step] for step in (*steps[::every], steps[-1])}
    bad = first_nonfinite(reader, run, entries)
    if bad is not None:
        chosen[bad.step] = bad
    return iter([chosen[step] for step in sorted(chosen)])


def _kept(
    reader: Reader, run: RunView, entry: Entry, find: Callable[[Entry], Sequence[Finding]]
) -> list[Found]:
    """Return the errors and warnings of a record. They are cached until its step gets further records."""
    count = sum(one.step == entry.step for one in run.records[entry.tag])
    key = (run.name, "findings", entry.chunk, entry.segment, entry.position, count)

    def make() -> bytes:
        worth = [one for one in find(entry) if one.severity != "note"]
        return json.dumps([_as_sent(one) for one in worth]).encode()

    return json.loads(reader.keep(key, make))


def _as_sent(finding: Finding) -> Found:
    return {
        "severity": finding.severity,
        "kind": finding.kind,
        "node": finding.node,
        "text": finding.text,
    }
