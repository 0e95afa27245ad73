"""What is said of an optimizer's step, from tables made by hand: right numbers, calm words."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from tb_gradgraph.diagnose import Finding, OptimizerStep, find_in_step, findings
from tb_gradgraph.graph import Graph, Node, Slot
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

SHAPES = {"first": (4, 4), "second": (4, 4), "bias": (4,)}
GRAPH = Graph(
    tuple(
        Node(f"parameter:{name}", name, "parameter", "", -1, (Slot(name, shape, "float32"),), True)
        for name, shape in SHAPES.items()
    ),
    (),
    (),
)
COUNTS = {"nan": 0, "posinf": 0, "neginf": 0, "numel": 16}


def make_table(**rows: Mapping[str, float] | None) -> StatisticsTable:
    """Make a table by parameter; those that are not given get a gradient of norm 1, ``None`` none."""
    table = StatisticsTable.empty(GRAPH.row_count)
    for row, name in enumerate(SHAPES):
        numbers = rows.get(name, {"l2_norm": 1.0, "abs_max": 1.0})
        if numbers is not None:
            table.present[row] = True
            table.values[row] = [{**COUNTS, **numbers}.get(one, np.nan) for one in STATISTICS]
    return table


def moved(ratio: float, weight: float = 2.0) -> dict[str, float]:
    update = ratio * weight
    told = {"weight_norm": weight, "update_norm": update}
    return {"l2_norm": 1.0, "abs_max": 1.0, **told, "update_ratio": ratio}


def find(step: OptimizerStep) -> list[Finding]:
    return list(find_in_step(GRAPH, step))


def test_ordinary_step_has_no_findings():
    applied = make_table(first=moved(1e-3), second=moved(3e-3), bias=moved(0.5))
    tables = {stage: make_table() for stage in ("accumulated", "unscaled", "clipped")}
    assert find(OptimizerStep({**tables, "applied": applied})) == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("unscaled", "clipped", "Clipping made"),
        ("accumulated", "clipped", "Clipping made"),
        ("accumulated", "applied", "What was done between accumulated and applied made"),
    ],
)
def test_clipping_is_told_with_both_norms(before: str, after: str, words: str):
    large = {"l2_norm": 400.0}
    tables = {before: make_table(first=large, second=large, bias=large), after: make_table()}
    (found,) = find(OptimizerStep(tables))
    assert (found.severity, found.kind, found.row) == ("warning", "clipped", None)
    norm = math.sqrt(3)
    expected = f"{words} the gradient 400 times smaller: its norm over all parameters was "
    assert found.text == f"{expected}{400 * norm:.3g} ({before}) and became {norm:.3g} ({after})."


@pytest.mark.parametrize(("factor", "severity"), [(9.9, None), (10.1, "note"), (101, "warning")])
def test_clipping_is_told_by_how_much_it_is(factor: float, severity: str | None):
    large = make_table(**{name: {"l2_norm": factor} for name in SHAPES})
    found = find(OptimizerStep({"unscaled": large, "clipped": make_table()}))
    assert [one.severity for one in found] == ([] if severity is None else [severity])


@pytest.mark.parametrize(
    "tables",
    [
        {"unscaled": make_table(first={"l2_norm": 400.0, "nan": 1}), "clipped": make_table()},
        {"unscaled": make_table(first={"l2_norm": 400.0}), "clipped": make_table(first=None)},
        {"unscaled": make_table(first={"l2_norm": 400.0})},
        {"clipped": make_table()},
        {},
    ],
    ids=["not finite", "another parameter", "nothing after", "nothing before", "nothing"],
)
def test_clipping_is_not_told_where_norms_do_not_compare(tables: dict[str, StatisticsTable]):
    assert find(OptimizerStep(tables)) == []


def test_skipped_step_is_told_alone_and_with_what_is_known():
    bad = make_table(second={"l2_norm": 1e9, "posinf": 1})
    (found,) = find(OptimizerStep({"unscaled": bad, "clipped": make_table()}, 65536.0, True))
    assert (found.severity, found.kind) == ("note", "step_skipped")
    assert "at a loss scale of 65536 because 1 of 3 parameters' gradients held NaN" in found.text
    (found,) = find(OptimizerStep({}, 2.0, True))
    assert "at a loss scale of 2. No weight changed" in found.text


def test_weight_that_moved_much_is_named_with_its_numbers():
    applied = make_table(first=moved(0.25), second=moved(0.15), bias=moved(9.0))
    (found,) = find(OptimizerStep({"applied": applied}))
    assert (found.severity, found.kind, found.row) == ("warning", "large_update", 0)
    assert found.text == (
        "first: this step changed it by 0.25 of its norm (update 0.5, weight 2). 2 of 2 weights "
        "changed by more than 0.1 of theirs; 0.0001 to 0.01 is usual."
    )


def test_weight_that_hardly_moved_is_a_note():
    applied = make_table(first=moved(1e-3), second=moved(2e-7))
    (found,) = find(OptimizerStep({"applied": applied}))
    assert (found.severity, found.kind, found.node) == ("note", "small_update", "second")
    assert "changed it by 2e-07 of its norm (update 4e-07, weight 2). 1 of 2 weights" in found.text


def test_weight_that_momentum_alone_moves_is_not_told_to_learn_too_slowly():
    """Its gradient is zero, which is another finding."""
    applied = make_table(first=moved(1e-3), second={**moved(2e-7), "l2_norm": 0.0})
    found = find(OptimizerStep({"applied": applied}))
    assert "small_update" not in {one.kind for one in found}


def test_step_in_which_nothing_moved_is_one_note():
    applied = make_table(**{name: moved(0.0) for name in SHAPES})
    (found,) = find(OptimizerStep({"applied": applied}))
    assert (found.severity, found.kind) == ("note", "no_update")


def test_weight_of_zeros_has_no_ratio_and_is_not_told():
    zeros = {"l2_norm": 1.0, "weight_norm": 0.0, "update_norm": 1.0}
    applied = make_table(first=zeros, second=moved(1e-3))
    assert find(OptimizerStep({"applied": applied})) == []


def test_later_stage_says_nothing_of_parameters_without_gradient():
    table = make_table(first=None)
    assert [one.kind for one in findings(GRAPH, table)] == ["no_gradient"]
    for stage in ("accumulated", "unscaled", "clipped", "applied"):
        assert findings(GRAPH, table, stage=stage) == []


def test_later_stage_names_what_is_zero_and_not_finite():
    table = make_table(first={"l2_norm": 1.0, "nan": 2}, second={"l2_norm": 0.0, "abs_max": 0.0})
    bad, zero = findings(GRAPH, table, stage="unscaled")
    assert (bad.severity, bad.kind, bad.node) == ("error", "nonfinite", "first")
    assert bad.text == (
        "At the stage unscaled 1 of 3 parameters' gradients hold NaN or infinity: first."
    )
    assert (zero.kind, zero.node) == ("zero_gradient", "second")
