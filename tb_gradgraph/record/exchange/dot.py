"""A graph in Graphviz's language."""

from __future__ import annotations

import numpy as np

from tb_gradgraph.graph import Graph, NodeKind

_SHAPES: dict[NodeKind, str] = {
    "operation": "shape=box style=rounded",
    "parameter": 'shape=ellipse style=filled fillcolor="#cfe8cf"',
    "leaf": 'shape=ellipse style=filled fillcolor="#cfe8cf"',
    "input": "shape=parallelogram",
    "buffer": "shape=box3d",
    "constant": "shape=plaintext",
    "root": "shape=doubleoctagon",
}


def to_dot(graph: Graph, norms: np.ndarray) -> str:
    """Return a graph as text for ``dot``.

    Args:
        graph: What to draw.
        norms: The L2 norm of each row, with which edges are labeled; NaN if there is none.
    """
    lines = ["digraph {"]
    for index, node in enumerate(graph.nodes):
        label = _quote(f"{node.name}\n{node.operation}".strip())
        lines.append(f"  n{index} [label={label} {_SHAPES[node.kind]}]")
    for edge, row in zip(graph.edges, graph.edge_rows.tolist()):
        norm = norms[row]
        label = "" if np.isnan(norm) else f' [label="{norm:.3g}"]'
        lines.append(f"  n{edge.source} -> n{edge.target}{label}")
    return "\n".join([*lines, "}", ""])


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
