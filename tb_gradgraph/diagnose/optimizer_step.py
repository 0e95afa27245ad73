"""Find what happened between the backward and the update: a skipped step, or clipped gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, tell
from tb_gradgraph.diagnose.missing import parameter_rows
from tb_gradgraph.diagnose.not_optimized import find_not_optimized, has_copies
from tb_gradgraph.diagnose.structure.kept_with_graph import kept_with_graph
from tb_gradgraph.diagnose.updates import find_updates
from tb_gradgraph.graph import Graph, Node
from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

#: Clipping is reported from the first factor on; from the second one on it is a warning.
CLIPPED_BY = 10.0
CLIPPED_MUCH = 100.0

_COLUMN = {name: at for at, name in enumerate(STATISTICS)}


@dataclasses.dataclass(frozen=True)
class OptimizerStep:
    """The recorded tables of one step, for one graph, by stage.

    Stage ``backward`` is included only if the step had a single pass. ``updated`` are rows of
    parameters that an optimizer of the watch updated at other steps. ``is_early`` says that it is one
    of the first steps of the training.
    """

    tables: Mapping[str, StatisticsTable]
    loss_scale: float = 1.0
    skipped: bool = False
    updated: frozenset[int] = frozenset()
    is_early: bool = False


def find_in_step(graph: Graph, step: OptimizerStep) -> Iterator[Finding]:
    """Find what is noteworthy in a step. For a skipped step that is only the skip and its reason."""
    if step.skipped:
        yield _tell_skipped(graph, step)
        return
    cleared = list(_find_cleared(graph, step.tables))
    yield from cleared or _find_clipped(graph, step.tables)
    if "applied" in step.tables:
        yield from find_not_optimized(graph, step.tables, step.updated)
    if "applied" in step.tables and not cleared:
        yield from find_updates(graph, step.tables["applied"], step.is_early)


def find_nonfinite_parameters(
    graph: Graph, table: StatisticsTable, stage: str, is_mild: bool = False
) -> Iterator[Finding]:
    """Find the parameters whose gradient held NaN or infinity at a stage of the step."""
    bad = _nonfinite_parameters(graph, table)
    if bad:
        names = ", ".join(node.name for _, node in bad[:5]) + (" .." if len(bad) > 5 else "")
        text = f"At the stage {stage} {_count_of(bad, graph, table)} hold NaN or infinity: {names}."
        yield tell("nonfinite", bad[0][0], bad[0][1].name, text, is_mild)


def _nonfinite_parameters(graph: Graph, table: StatisticsTable) -> list[tuple[int, Node]]:
    bad = table.present & (table.values[:, NONFINITE_COLUMNS] > 0).any(axis=1)
    if not bad.any():
        return []
    return [(row, node) for row, node in parameter_rows(graph, parts=True) if bad[row]]


def _count_of(some: Sequence[object], graph: Graph, table: StatisticsTable) -> str:
    every = sum(bool(table.present[row]) for row, _ in parameter_rows(graph, parts=True))
    return f"{len(some)} of {every} parameters' gradients"


def _tell_skipped(graph: Graph, step: OptimizerStep) -> Finding:
    why = ""
    for table in step.tables.values():
        bad = _nonfinite_parameters(graph, table)
        if bad:
            why = f" because {_count_of(bad, graph, table)} held NaN or infinity"
            break
    text = (
        f"The GradScaler skipped this step at a loss scale of {step.loss_scale:g}{why}. No weight "
        "changed, and it lowers its scale. This is normal now and then; it is a fault only "
        "if it does not stop."
    )
    return tell("step_skipped", None, "", text)


def _find_cleared(graph: Graph, tables: Mapping[str, StatisticsTable]) -> Iterator[Finding]:
    """Find that all gradients of the backward were cleared before the optimizer stepped."""
    before, after = _before(tables), tables.get("applied")
    if before is None or after is None or has_copies(graph, after):
        return
    rows = _parameters(graph)
    given = rows[tables[before].values[rows, _COLUMN["l2_norm"]] > 0]
    seen = given[after.present[given]]
    if not len(given) or after.values[seen, _COLUMN["l2_norm"]].any():
        return
    how = "set to zero" if len(seen) else "gone (.grad is None)"
    what = "1 parameter" if len(given) == 1 else f"{len(given)} parameters"
    text = (
        f"Gradients were cleared before the optimizer stepped: a backward had given {what} a "
        f"gradient, but all of it was {how}. "
        + ("No weight changed, except by momentum or decay." if len(seen) else "No weight changed.")
    )
    yield tell("cleared", None, "", text)


@kept_with_graph
def _parameters(graph: Graph) -> np.ndarray:
    return np.array([row for row, _ in parameter_rows(graph)], np.int64)


def _before(tables: Mapping[str, StatisticsTable]) -> str | None:
    """Return the stage that shows the unmodified ``.grad``."""
    return next(
        (stage for stage in ("unscaled", "accumulated", "backward") if stage in tables), None
    )


def _find_clipped(graph: Graph, tables: Mapping[str, StatisticsTable]) -> Iterator[Finding]:
    before = _before(tables)
    after = next((stage for stage in ("clipped", "applied") if stage in tables), None)
    if before is None or after is None:
        return
    norms = _global_norms(graph, tables[before], tables[after])
    if norms is None or not 0 < norms[1] <= norms[0] / CLIPPED_BY:
        return
    factor = norms[0] / norms[1]
    what = "Clipping" if after == "clipped" else f"What was done between {before} and {after}"
    text = (
        f"{what} made the gradient {factor:.3g} times smaller: its norm over all parameters was "
        f"{norms[0]:.3g} ({before}) and became {norms[1]:.3g} ({after})."
    )
    yield tell("clipped", None, "", text, is_mild=factor < CLIPPED_MUCH)


def _global_norms(
    graph: Graph, before: StatisticsTable, after: StatisticsTable
) -> tuple[float, float] | None:
    """Return both norms over the parameters that both have; ``None`` if some are not finite, or are parts."""
    rows = _parameters(graph)
    if len(rows) < len(parameter_rows(graph, parts=True)):
        return None
    rows = rows[before.present[rows] & after.present[rows]]
    if any((table.values[rows][:, NONFINITE_COLUMNS] > 0).any() for table in (before, after)):
        return None
    first, second = (table.values[rows, _COLUMN["l2_norm"]] for table in (before, after))
    return float(np.linalg.norm(np.nan_to_num(first))), float(np.linalg.norm(np.nan_to_num(second)))
