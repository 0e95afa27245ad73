"""Leave paths and source lines out of what was found."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from tb_gradgraph.diagnose import Course, RunFinding
from tb_gradgraph.health import Training

_LINE = r"""[^\s()'"]*\.\w+:\d+(?: in [^\s()]+)?|<[\w -]+>:\d+(?: in [^\s()]+)?"""
_PATH = r"""(?<![\w/\\])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][^\s()'"/\\]+){2,}"""
_PLACES = re.compile(rf" ?\((?:{_LINE})\)|{_LINE}|{_PATH}")
_LEFT_OUT = "(left out)"


def redacted(trainings: Sequence[Training]) -> list[Training]:
    """Return the trainings without paths and source lines. Runs are numbered, as their names are paths."""
    names = list(dict.fromkeys(training.run for training in trainings))
    return [_redacted(one, str(names.index(one.run) + 1)) for one in trainings]


def _redacted(training: Training, run: str) -> Training:
    sources = sources_of(training.course)
    found = [_without_places(one, run, sources) for one in training.found]
    course = dataclasses.replace(training.course, run=run)
    return dataclasses.replace(training, course=course, found=found)


def _without_places(finding: RunFinding, run: str, sources: Sequence[str]) -> RunFinding:
    text, advice = (without_places(each, sources) for each in (finding.text, finding.advice))
    return dataclasses.replace(finding, run=run, source="", text=text, advice=advice)


def sources_of(course: Course) -> list[str]:
    """Return the source lines that nodes of a training have, the longest first."""
    nodes = (node for graph in course.graphs.values() for node in graph.nodes)
    return sorted({node.source for node in nodes if node.source}, key=len, reverse=True)


def without_places(text: str, sources: Sequence[str]) -> str:
    """Return a text without these source lines, and without what looks like a line or a path."""
    for source in sources:
        text = text.replace(f" ({source})", "").replace(source, _LEFT_OUT)
    return _PLACES.sub(lambda found: "" if found[0].startswith(" (") else _LEFT_OUT, text)
