"""A graph as text, and as HTML for notebooks."""

from __future__ import annotations

import html
import itertools
from collections.abc import Collection, Iterator

from tb_gradgraph.api.tensor_view import TensorView

_COLUMNS = ("name", "operation", "shape", "dtype", "leaf", "l2_norm", "mean", "abs_max", "status")
#: ``print`` and notebooks show at most this many lines; the panel shows larger graphs whole.
_ROW_LIMIT = 200


def text_table(headline: str, tensors: Collection[TensorView]) -> str:
    """Return a table with one line for each tensor, below a headline."""
    rows = [_COLUMNS, *_rows(tensors)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    ]
    return "\n".join([headline, *lines, *_cut(tensors)])


def html_table(headline: str, tensors: Collection[TensorView]) -> str:
    """Return the same table as HTML; every name is escaped."""
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _rows(tensors)
    )
    caption = html.escape(" ".join([headline, *_cut(tensors)]))
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cut(tensors: Collection[TensorView]) -> list[str]:
    left = len(tensors) - _ROW_LIMIT
    return [f"... and {left} more tensors"] if left > 0 else []


def _rows(tensors: Collection[TensorView]) -> Iterator[tuple[str, ...]]:
    return map(_cells, itertools.islice(tensors, _ROW_LIMIT))


def _cells(view: TensorView) -> tuple[str, ...]:
    found = view.statistics
    numbers = [found.l2_norm, found.mean, found.abs_max] if found else [None] * 3
    return (
        view.name,
        view.node.operation or view.node.kind,
        str(list(view.shape)) if view.slot.has_shape else "",
        view.dtype,
        "leaf" if view.is_leaf else "",
        *("" if number is None else f"{number:.4g}" for number in numbers),
        view.status,
    )
