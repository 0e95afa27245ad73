"""One thing in a graph that the user should look at."""

from __future__ import annotations

import dataclasses

from tb_gradgraph.diagnose.kinds import KINDS, Severity
from tb_gradgraph.graph import NO_SCOPE, Graph, Node


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """What was found, its severity, and its place."""

    severity: Severity
    kind: str  # the name of one of KINDS
    row: int | None  # a row of the graph; None: the whole graph
    node: str  # name of the node; "": the whole graph
    text: str  # one or two sentences


def tell(kind: str, row: int | None, node: str, text: str, is_mild: bool = False) -> Finding:
    """Make a finding of a kind in ``KINDS``, with the severity of that kind."""
    of_kind = KINDS[kind]
    severity = of_kind.milder if is_mild and of_kind.milder is not None else of_kind.severity
    return Finding(severity, kind, row, node, text)


def describe_node(graph: Graph, node: Node) -> str:
    """Describe a node: its variable or name, its scope unless the name includes it, and its line."""
    text = node.name
    variable = node.slots[0].name if len(node.slots) == 1 else ""
    if node.kind == "operation" and variable:
        text = f"{variable} ({node.name})"
    scope = graph.scopes[node.scope] if node.scope != NO_SCOPE else None
    if scope is not None and not node.name.startswith(scope.path or "/"):
        call = f"#{scope.call}" if scope.call else ""
        text += f" in {scope.path or scope.module}{call}"
    return f"{text} ({node.source})" if node.source else text
