"""One thing that a reader of the graph should look at."""

from __future__ import annotations

import dataclasses
from typing import Literal

from tb_gradgraph.graph import NO_SCOPE, Graph, Node

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """What was found, how bad it is, and where."""

    severity: Severity
    kind: str  # "nonfinite_origin", "no_gradient", ..: stable, for filters and tests
    row: int | None  # of the graph; None: of the whole
    node: str  # name of the node; "": of the whole
    text: str  # one or two sentences


def describe_node(graph: Graph, node: Node) -> str:
    """Name a node with its scope and source line, where they are known."""
    text = node.name
    if node.scope != NO_SCOPE:
        scope = graph.scopes[node.scope]
        call = f"#{scope.call}" if scope.call else ""
        text += f" in {scope.path or scope.module}{call}"
    return f"{text} ({node.source})" if node.source else text
