"""Group many parameters into a few modules, for a model that uses one of a thousand parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tb_gradgraph.graph import Node

#: How many parameters are listed one by one, and how many modules are listed.
ONE_BY_ONE = 12

#: How many names of a group of parameters are given.
_NAMED = 2

#: So many parameters are all named.
_FEW = 5

Rows = Sequence[tuple[int, Node]]


def fold_by_module(rows: Rows, reasons: Mapping[int, str]) -> list[tuple[str, Rows]]:
    """Group parameters by module if there are many: by the innermost level with few enough modules.

    Args:
        rows: Each parameter's row and node.
        reasons: The text for each, by row. Only parameters with the same text are grouped.
    """
    if len(rows) <= ONE_BY_ONE:
        return [(node.name, [(row, node)]) for row, node in rows]
    deepest = max(node.name.count(".") for _, node in rows)
    for depth in range(deepest, -1, -1):
        groups: dict[tuple[str, str], list[tuple[int, Node]]] = {}
        for row, node in rows:
            owner = node.name.rpartition(".")[0]
            module = ".".join(owner.split(".")[:depth])
            groups.setdefault((module, reasons[row]), []).append((row, node))
        if len(groups) <= ONE_BY_ONE:
            break
    return [(module, group) for (module, _), group in groups.items()]


def tell_many(module: str, rows: Rows) -> str:
    """Return a text with the module of these parameters, their number, and the first names."""
    names = ", ".join(node.name for _, node in rows[:_NAMED])
    more = ", .." if len(rows) > _NAMED else ""
    return f"{module or 'the model'}: {len(rows):,} parameters ({names}{more})"


def tell_rows(rows: Rows) -> str:
    """Return a text with the number of these parameters and their modules, or their names if they are few."""
    if len(rows) <= _FEW:
        return ", ".join(node.name for _, node in rows)
    names = ", ".join(node.name for _, node in rows[:_NAMED])
    text = f"{len(rows):,} parameters ({names}, .."
    groups = fold_by_module(rows, {row: "" for row, _ in rows})
    if len(rows) <= ONE_BY_ONE or len(groups) == 1:
        return f"{text})"
    parts = [f"{module or 'the model'} {len(group):,}" for module, group in groups]
    return f"{text}; by module: {', '.join(parts)})"
