"""Do what the user wants at a finding: a warning, an error, or a call."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tb_gradgraph.api.at_step.found_in_records import RecordSearch
from tb_gradgraph.autograd import warn_quietly
from tb_gradgraph.diagnose import KINDS, RunFinding
from tb_gradgraph.errors import CaptureError, FindingError
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.training_facts import TrainingFacts

OnFinding = str | Callable[[Any], Any] | None


def check_on_finding(given: Any, where: str) -> None:
    """Raise CaptureError if it is not one of what ``watch`` takes."""
    if not (given is None or callable(given) or given in ("warn", "raise")):
        raise CaptureError(
            f'{where}: expected on_finding to be "warn", "raise", a function of one finding, or None, '
            f"got {given!r}."
        )


class Reaction:
    """Tells of findings of one training, each kind once; see ``Telling``.

    A warning is given at once, on whichever thread. Errors are raised and functions are called by
    ``deliver``, in the training's own loop.
    """

    def __init__(self, tag: str, on_finding: str | Callable[[Any], Any]) -> None:
        self._tag = tag
        self._call = on_finding if callable(on_finding) else None
        self.raises = on_finding == "raise"
        self.wants_steps = on_finding != "warn"
        self.wants_warnings = self._call is not None
        self.is_waiting = False
        self._lock = threading.Lock()
        self._told: dict[str, str] = {}  # the node of the finding that was told, by kind
        self._lost_from: float = math.inf  # the first step whose weights are not finite
        self._waiting: list[RunFinding] = []
        self._expected: list[RunFinding] = []
        self._shown: set[int] = set()  # steps whose records told of NaN or infinity
        self._search = RecordSearch()

    def tell(self, kind: str, step: int, text: str, source: str = "", nodes: int = 0) -> None:
        """Tell of one thing; of each kind the first one counts."""
        self._take(_finding(self._tag, kind, step, text, source=source))

    def expect(self, kind: str, step: int, text: str, source: str = "") -> None:
        """Keep one thing until ``settle``: the record of its step may say more."""
        self._expected.append(_finding(self._tag, kind, step, text, source=source))

    def settle(self) -> None:
        """Tell of what was expected, unless the record of its step told more."""
        expected, self._expected = self._expected, []
        for finding in expected:
            if finding.first_step not in self._shown:
                self._take(finding)

    def know(self, graph: Graph) -> None:
        """Keep a graph for the records to come."""
        self._search.know(graph)

    def looked_at(self, records: Sequence[Record]) -> Sequence[Record]:
        """Return records, after telling of NaN and infinity in them. Does not raise."""
        try:
            for record, found, node, module in self._search.search(records):
                place = {} if node is None else {"key": node.key, "source": node.source}
                told = _finding(self._tag, found.kind, record.step, found.text, **place)
                self._shown.add(record.step)
                self._take(_at(told, found.node, module))
        except Exception as error:
            warn_quietly(f"tb_gradgraph did not search a record for NaN: {error!r}", RuntimeWarning)
        return records

    def looked_at_facts(self, facts: TrainingFacts) -> TrainingFacts:
        """Return facts, after telling of parameters that no optimizer has."""
        count, names = facts.unoptimized.count, ", ".join(facts.unoptimized.first[:5])
        held = sum(g.names.count for one in facts.optimizers for g in one.groups)
        more = f" and {count - 5} more" if count > 5 else ""
        if count and not held:
            text = f"No optimizer has any of the {count} parameters of the model: {names}{more}."
            if self.wants_steps:  # otherwise watch() has warned already
                self.tell("stale_optimizer", facts.step, text)
        elif count:
            are = "parameter is" if count == 1 else "parameters are"
            text = f"{count} {are} in no optimizer: {names}{more}."
            self.tell("not_optimized", facts.step, text)
        return facts

    def deliver(self) -> None:
        """Call the user's function with what waits, or raise FindingError."""
        for finding in self._take_waiting():
            if self._call is None:
                raise FindingError(line_of(finding), finding)
            self._call(finding)

    def close(self) -> None:
        """Tell of what was not delivered because the training ended before. Does not raise."""
        for finding in self._take_waiting():
            if self._call is None:
                warn_quietly(line_of(finding))
                continue
            with contextlib.suppress(Exception):
                self._call(finding)

    def _take_waiting(self) -> list[RunFinding]:
        with self._lock:
            waiting, self._waiting = self._waiting, []
            self.is_waiting = False
        return waiting

    def _take(self, finding: RunFinding) -> None:
        if finding.severity != "error" and not self.wants_warnings:
            return
        with self._lock:
            if not self._is_new(finding):
                return
        if not self.wants_steps:
            warn_quietly(line_of(finding))
            return
        with self._lock:
            self._waiting.append(finding)
            self.is_waiting = True

    def _is_new(self, finding: RunFinding) -> bool:
        """Return whether it says more than what was told, and note it. Its place counts as more."""
        is_of_nonfinite = KINDS[finding.kind].is_of_nonfinite
        if is_of_nonfinite and finding.first_step >= self._lost_from:
            return False  # the weights are to blame
        if self._told.get(finding.kind, "") or (finding.kind in self._told and not finding.node):
            return False
        self._told[finding.kind] = finding.node
        if finding.kind == "nonfinite_weight":
            self._lost_from = finding.first_step
        return True


def _finding(tag: str, kind: str, step: int, text: str, **place: Any) -> RunFinding:
    return RunFinding(
        tag=tag,
        kind=kind,
        severity=KINDS[kind].severity,
        text=text,
        advice=KINDS[kind].advice,
        first_step=step,
        last_step=step,
        **place,
    )


def _at(finding: RunFinding, node: str, module: str) -> RunFinding:
    return dataclasses.replace(finding, node=node, module=module, nodes=(node,) if node else ())


def line_of(finding: RunFinding) -> str:
    """Return one line on a finding: tag and step, what, where and what to try."""
    places = (f"module {finding.module}" if finding.module else "", finding.node, finding.source)
    where = ", ".join(one for one in places if one and one not in finding.text)
    at = f" ({where})" if where else ""
    head = f"tb_gradgraph, {finding.tag!r}, step {finding.first_step}"
    first = finding.advice.partition(". ")[0].rstrip(".")
    return f"{head}: {finding.text}{at} {first}."
