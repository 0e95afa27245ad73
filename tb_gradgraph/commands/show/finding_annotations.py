"""Write findings as the workflow commands by which GitHub annotates lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from tb_gradgraph.commands.show.finding_words import tell_place, tell_steps, tell_training
from tb_gradgraph.commands.show.plain import printable
from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.health import Training

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_SOURCE = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?: in .*)?")


def as_annotations(trainings: Sequence[Training]) -> str:
    """Return a line for each finding, and a notice for each healthy training."""
    return "".join(f"{line}\n" for each in trainings for line in _lines_of(each))


def _lines_of(training: Training) -> Iterator[str]:
    for finding in training.found:
        yield _annotation(finding)
    if training.is_healthy:
        text = f"run {training.run}, tag {training.tag}: {tell_training(training)}."
        yield _command("notice", {"title": "tb-gradgraph"}, text)


def _annotation(finding: RunFinding) -> str:
    place = tell_place(finding)
    properties = {"title": f"{finding.kind} at {place}" if place else finding.kind}
    known = _SOURCE.fullmatch(finding.source)
    if known:
        path = known["file"].replace(os.sep, "/")
        properties = {"file": path, "line": known["line"], **properties}
    where = f"run {finding.run}, tag {finding.tag}, {tell_steps(finding)}"
    text = f"{finding.text} {finding.advice} ({where})"
    return _command(_COMMANDS[finding.severity], properties, text)


def _command(name: str, properties: dict[str, str], text: str) -> str:
    given = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
    return f"::{name} {given}::{_escape(text)}"


def _escape(text: str) -> str:
    """Escape the text of a command, as GitHub's toolkit does; newlines are replaced already."""
    return printable(text).replace("%", "%25")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
