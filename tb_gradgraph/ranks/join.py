"""Join what several processes recorded of one backward pass or optimizer step."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.quantities import GRAD_NORM, LOSS, grad_norm
from tb_gradgraph.ranks.merge import merge_histograms, merge_parts, middle_of
from tb_gradgraph.ranks.shards import Shares
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

_AT = {name: at for at, name in enumerate(STATISTICS)}


class JoinedTables:
    """Joins the tables of one record at a time when they are read, so that many take little memory."""

    def __init__(self) -> None:
        self._of: object = None
        self._table = StatisticsTable.empty(0)

    def get(self, of: object, make: Callable[[], StatisticsTable]) -> StatisticsTable:
        """Return the table of one record, which is made again if another one was read meanwhile."""
        if self._of is not of:
            self._of, self._table = of, make()
        return self._table


class _JoinedTable(StatisticsTable):
    """A table that is joined each time it is read."""

    _read: Callable[[], StatisticsTable]

    def __init__(self, tables: JoinedTables, make: Callable[[], StatisticsTable]) -> None:
        vars(self)["_read"] = lambda: tables.get(self, make)

    @property
    def values(self) -> np.ndarray:  # noqa: D102
        return self._read().values

    @property
    def present(self) -> np.ndarray:  # noqa: D102
        return self._read().present

    @property
    def histogram(self) -> np.ndarray:  # noqa: D102
        return self._read().histogram


def join_records(
    graph: Graph, shares: Shares, records: Sequence[Record | None], tables: JoinedTables
) -> Record:
    """Return one record of the whole.

    A row in parts gets the statistics of all its parts; a parameter of which all processes have equal
    copies, those of the first; what each process computed by itself, the median of each statistic,
    and the most NaN and infinity of any process.

    A row that is whole in ``graph`` but lacks a part in this record has no numbers; ``unread`` says why.

    Args:
        graph: The graph, with the placements of rows that are not whole.
        shares: What each process has of its rows.
        records: One record for each process, None where it has none; the first is not None.
        tables: Joins the tables.
    """
    first, there = records[0], [one for one in records if one is not None]
    if first is None:
        raise ValueError("expected a record of the first process, got None.")
    lacking = _lacking(graph, shares, records)
    table = _JoinedTable(tables, lambda: _join_tables(graph, shares, records, lacking))
    quantities, reasons = _quantities(graph, shares, lacking, table, there)
    return dataclasses.replace(
        first,
        table=table,
        gradients=_alike(shares, [one.gradients for one in there]),
        values=_alike(shares, [one.values for one in there]),
        unread={**first.unread, **lacking},
        quantities=quantities,
        quantity_reasons=reasons,
        cost=max(one.cost for one in there),
    )


def _lacking(graph: Graph, shares: Shares, records: Sequence[Record | None]) -> dict[int, str]:
    """Return the rows of which not all elements are there, although ``graph`` says that they are whole."""
    slots = [slot for node in graph.nodes for slot in node.slots]
    whole = [row for row, slot in enumerate(slots) if shares.needed[row] and not slot.is_part]
    if not whole:
        return {}
    numel, parts = np.zeros(len(whole)), np.zeros(len(whole), np.int64)
    for takes, record in zip(shares.takes[:, whole], records):
        if record is not None:
            is_there = takes & record.table.present[whole]
            numel += np.where(is_there, record.table.column("numel")[whole], 0)
            parts += is_there
    found = {}
    for row, elements, count in zip(whole, numel.tolist(), parts.tolist()):
        expected = math.prod(slots[row].shape)
        if count and elements != expected:
            needed = int(shares.needed[row])
            found[row] = (
                f"{count} of {needed} parts were recorded at this step"
                if count < needed
                else f"its parts have {elements:.0f} elements together, not {expected}"
            )
    return found


def _join_tables(
    graph: Graph,
    shares: Shares,
    records: Sequence[Record | None],
    lacking: Collection[int],
) -> StatisticsTable:
    """Join the tables of the records; rows that are lacking have no numbers."""
    tables = [None if one is None else one.table for one in records]
    rows = graph.row_count
    values = np.full((len(tables), rows, len(STATISTICS)), np.nan)
    present = np.zeros((len(tables), rows), bool)
    histograms = np.zeros((len(tables), *StatisticsTable.empty(rows).histogram.shape), np.uint16)
    for at, table in enumerate(tables):
        if table is not None:
            values[at], present[at], histograms[at] = table.values, table.present, table.histogram
    joined = StatisticsTable(values[0].copy(), present[0].copy(), histograms[0].copy())
    of_samples = np.flatnonzero(shares.is_sample & present.any(axis=0))
    if len(tables) > 1 and len(of_samples):
        there = present[:, of_samples]
        joined.values[of_samples] = middle_of(values[:, of_samples], there)
        joined.histogram[of_samples] = _merged(values, histograms, of_samples, there)
        joined.present[of_samples] = True
    in_parts = np.flatnonzero(shares.needed > 0)
    takes = shares.takes[:, in_parts] & present[:, in_parts]
    joined.present[in_parts] = takes.any(axis=0)
    joined.values[in_parts] = merge_parts(values[:, in_parts], takes)
    joined.histogram[in_parts] = _merged(values, histograms, in_parts, takes)
    if lacking:
        without = list(lacking)
        joined.present[without], joined.values[without], joined.histogram[without] = (
            False,
            np.nan,
            0,
        )
    return joined


def _merged(
    values: np.ndarray, histograms: np.ndarray, rows: np.ndarray, takes: np.ndarray
) -> np.ndarray:
    of = {name: values[:, rows, _AT[name]] for name in ("numel", "nan", "posinf", "neginf")}
    zeros = np.nan_to_num(values[:, rows, _AT["zero_fraction"]]) * np.nan_to_num(of["numel"])
    counted = np.nan_to_num(of["numel"] - of["nan"] - of["posinf"] - of["neginf"]) - zeros
    return merge_histograms(histograms[:, rows], counted, takes)


def _alike(shares: Shares, whole: Sequence[Mapping[int, np.ndarray]]) -> dict[int, np.ndarray]:
    """Return the whole tensors of rows that are no parts, if all processes have the same elements."""
    return {
        row: array
        for row, array in whole[0].items()
        if row < len(shares.needed)
        and not shares.needed[row]
        and all(row in one and np.array_equal(one[row], array, equal_nan=True) for one in whole)
    }


def _quantities(
    graph: Graph,
    shares: Shares,
    lacking: Collection[int],
    table: StatisticsTable,
    records: Sequence[Record],
) -> tuple[dict[str, float], dict[str, str]]:
    """Return quantities, and reasons of missing ones: those of the first process, as far as they hold.

    The loss is the mean over the processes. The norm is that of the whole, if all of it is there.
    """
    found, reasons = dict(records[0].quantities), dict(records[0].quantity_reasons)
    losses = [one.quantities[LOSS] for one in records if LOSS in one.quantities]
    if LOSS in found:
        found[LOSS] = sum(losses) / len(losses)
    if GRAD_NORM in found and shares.needed.any():
        del found[GRAD_NORM]
        pairs = zip(graph.nodes, graph.slot_offsets.tolist())
        rows = {row for node, row in pairs if node.kind == "parameter" and node.slots}
        if rows & {*graph.part_rows, *lacking}:
            reasons[GRAD_NORM] = "not all parts of the parameters were recorded"
        else:
            found.update(grad_norm(table, rows))
    return found, reasons
