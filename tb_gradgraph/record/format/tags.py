"""Names of records in the event file: manifest, graph and stats of a session."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Literal

PLUGIN_NAME = "gradgraph"

_PATTERN = re.compile(
    r"gradgraph/(?P<session>[0-9a-f]{20})/"
    r"(?:(?P<manifest>manifest)|graph/(?P<graph>[0-9a-f]{16})|stats/(?P<stats>[0-9]{6,12}))"
)


@dataclasses.dataclass(frozen=True, slots=True)
class RecordTag:
    """What a record's tag says: its session, its kind, and which one it is."""

    session: str
    kind: Literal["manifest", "graph", "stats"]
    name: str  # a graph's hash, a chunk's number in digits, "" for the manifest


def create_session(start_time: float) -> str:
    """Make a session's name; names sort by start time, ties by chance.

    Args:
        start_time: Seconds since the epoch.
    """
    return f"{max(0, int(start_time * 1e6)):014x}{os.urandom(3).hex()}"


def manifest_tag(session: str) -> str:
    """Name the record that describes a session."""
    return f"gradgraph/{session}/manifest"


def graph_tag(session: str, graph_hash: str) -> str:
    """Name the record that holds a graph."""
    return f"gradgraph/{session}/graph/{graph_hash}"


def statistics_tag(session: str, number: int) -> str:
    """Name the ``number``-th chunk of statistics, counted from 0."""
    return f"gradgraph/{session}/stats/{number:06d}"


def parse_tag(tag: str) -> RecordTag | None:
    """Read a tag; ``None`` if it is not one of ours."""
    match = _PATTERN.fullmatch(tag)
    if not match:
        return None
    session = match["session"]
    if match["manifest"]:
        return RecordTag(session, "manifest", "")
    if match["graph"]:
        return RecordTag(session, "graph", match["graph"])
    return RecordTag(session, "stats", match["stats"])
