"""A graph as text, and as HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tb_gradgraph.api.grad_graph import GradGraph, TensorView

_COLUMNS = ("name", "operation", "shape", "dtype", "leaf", "l2_norm", "mean", "abs_max", "status")
#: Longer graphs are cut in print and in notebooks; the panel is for them.
_ROW_LIMIT = 200


def text_table(graph: GradGraph) -> str:
    """Lay out one line a tensor in columns, with a headline."""
    rows = [_COLUMNS, *_rows(graph)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    ]
    return "\n".join([_headline(graph), *lines, *_cut(graph)])


def html_table(graph: GradGraph) -> str:
    """Lay out the same as an HTML table; every name is escaped."""
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _rows(graph)
    )
    caption = html.escape(" ".join([_headline(graph), *_cut(graph)]))
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _headline(graph: GradGraph) -> str:
    passes = len(graph.backward_passes)
    ran = f"{passes} backward pass{'' if passes == 1 else 'es'}" if passes else "no backward yet"
    complex_ones = any(
        slot.dtype.startswith("complex") for node in graph.nodes for slot in node.slots
    )
    of_magnitudes = "; of complex gradients the mean is that of |g|" if complex_ones else ""
    return f"{graph.tag}: {len(graph.nodes)} nodes, {len(graph.edges)} edges, {ran}{of_magnitudes}"


def _cut(graph: GradGraph) -> list[str]:
    left = len(graph) - _ROW_LIMIT
    return [f"... and {left} more tensors"] if left > 0 else []


def _rows(graph: GradGraph) -> Iterator[tuple[str, ...]]:
    for row in range(min(len(graph), _ROW_LIMIT)):
        yield _cells(graph.view(row))


def _cells(view: TensorView) -> tuple[str, ...]:
    found = view.statistics
    numbers = [found.l2_norm, found.mean, found.abs_max] if found else [None] * 3
    return (
        view.name,
        view.node.operation or view.node.kind,
        str(list(view.shape)),
        view.dtype,
        "leaf" if view.is_leaf else "",
        *("" if number is None else f"{number:.4g}" for number in numbers),
        view.status,
    )
