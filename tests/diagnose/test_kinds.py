"""A kind of finding is a row: every finding that a rule makes has one, every row is of a rule."""

from __future__ import annotations

import ast
import itertools
import pathlib
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest

import tb_gradgraph.diagnose
from tb_gradgraph.diagnose import KINDS, Finding, OptimizerStep, find_in_step, findings
from tb_gradgraph.diagnose.finding import tell
from tb_gradgraph.errors import COMPILED
from tb_gradgraph.graph import Edge, Graph
from tb_gradgraph.statistics import StatisticsTable
from tests.diagnose.run.test_planted import SHOWN
from tests.diagnose.test_findings import make_chain, make_node
from tests.diagnose.test_findings import make_table as table_of
from tests.diagnose.test_optimizer_step import GRAPH, SHAPES, make_table, moved

ROOM = pathlib.Path(tb_gradgraph.diagnose.__file__).parent
CHAIN = make_chain("x", "mul", "sqrt", "mul.1", "y")
WEIGHTS = make_chain(*"abcdef", kinds=dict.fromkeys("abcdef", "parameter"))
NOTHING = StatisticsTable.empty(CHAIN.row_count)


def of_pass(graph: Graph, rows: dict[int, dict[str, float]], **given: object) -> list[Finding]:
    absent = given.pop("absent", ())
    return findings(graph, table_of(graph, rows, absent), **given)


def of_first(norm: float) -> list[Finding]:
    others = {row: {"l2_norm": 1.0} for row in range(1, 6)}
    return of_pass(WEIGHTS, {**others, 0: {"l2_norm": norm}})


def of_step(after: str = "applied", **rows: Mapping[str, float] | None) -> Iterable[Finding]:
    tables = {"unscaled": make_table(), after: make_table(**rows)}
    return find_in_step(GRAPH, OptimizerStep(tables))


def of_parameter(requires_grad: bool) -> list[Finding]:
    nodes = (make_node("w", "parameter", requires_grad=requires_grad), make_node("loss"))
    return of_pass(Graph(nodes, (), ()), {}, absent=[0])


def of_cancelling() -> list[Finding]:
    nodes = (*(make_node(name, "parameter") for name in "abcde"), make_node("conv"))
    graph = Graph(nodes, tuple(Edge(index, 0, 5, index) for index in range(5)), ())
    return of_pass(graph, {0: {"l2_norm": 1e-9}})


ZERO = {"l2_norm": 0.0, "abs_max": 0.0}
#: For each kind a record or a step that has it, with as little else as can be.
MADE: Mapping[str, Callable[[], Iterable[Finding]]] = {
    "nonfinite_weight": lambda: of_pass(WEIGHTS, {}, values={1: np.array(np.nan)}),
    "nonfinite_value": lambda: of_pass(CHAIN, {0: {"nan": 1}}, values={1: np.array(np.nan)}),
    "nonfinite_origin": lambda: of_pass(CHAIN, {1: {"posinf": 4}}),
    "nan_victim": lambda: of_pass(CHAIN, {0: {"nan": 4}, 1: {"posinf": 4}}),
    "nonfinite": lambda: of_pass(CHAIN, {row: {"nan": 1} for row in range(5)}),
    "not_read": lambda: of_pass(CHAIN, {}, unread={0: "no memory"}),
    "no_gradient": lambda: of_parameter(True),
    "frozen": lambda: of_parameter(False),
    "zero_gradient": lambda: of_pass(WEIGHTS, {0: ZERO}),
    "zero_origin": lambda: of_pass(make_chain("w", "relu", kinds={"w": "parameter"}), {0: ZERO}),
    "vanishing": lambda: of_first(1e-6),
    "exploding": lambda: of_first(1e5),
    "cancelled": of_cancelling,
    "nothing_selected": lambda: findings(CHAIN, NOTHING, ran=True),
    "no_backward": lambda: findings(CHAIN, NOTHING),
    "step_skipped": lambda: find_in_step(GRAPH, OptimizerStep({}, 2.0, True)),
    "cleared": lambda: of_step(**dict.fromkeys(SHAPES)),
    "clipped": lambda: of_step("clipped", **{name: {"l2_norm": 1e-3} for name in SHAPES}),
    "not_optimized": lambda: of_step(first=moved(1e-3)),
    "large_update": lambda: of_step(first=moved(0.5)),
    "small_update": lambda: of_step(first=moved(1e-7)),
    "no_update": lambda: of_step(**{name: moved(0.0) for name in SHAPES}),
}


#: Kinds that only the steps of a run show together; tests/diagnose/run makes each of them.
OF_RUNS = frozenset(KINDS) - frozenset(MADE)


def test_the_kinds_of_runs_are_planted():
    made_by_numbers = {"loss_oscillating"}
    assert {*SHOWN, *made_by_numbers} >= OF_RUNS


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_says_when_it_is_true_and_what_makes_it_silent(kind: str):
    of_kind = KINDS[kind]
    assert of_kind.when.endswith(".") and of_kind.silent and not of_kind.silent.endswith(".")
    assert 0 <= of_kind.lasts <= 1


@pytest.mark.parametrize("kind", MADE)
def test_a_rule_makes_every_kind_as_bad_as_its_row_says(kind: str):
    found = [finding.severity for finding in MADE[kind]() if finding.kind == kind]
    assert found and {*found} == {KINDS[kind].severity}


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("not_read", lambda: of_pass(CHAIN, {}, unread={0: COMPILED})),
        ("clipped", lambda: of_step("clipped", **{name: {"l2_norm": 0.05} for name in SHAPES})),
    ],
)
def test_what_a_rule_calls_mild_is_as_bad_as_its_row_says_of_that(
    kind: str, make: Callable[[], Iterable[Finding]]
):
    (found,) = (finding.severity for finding in make() if finding.kind == kind)
    assert found == KINDS[kind].milder != KINDS[kind].severity


def test_no_rule_makes_a_finding_but_by_its_row():
    made = {
        (path.name, function.name)
        for path in ROOM.glob("*.py")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "Finding"
    }
    assert made == {("finding.py", "tell")}
    with pytest.raises(KeyError):
        tell("no such kind", None, "", "")


def test_what_tells_of_nan_is_what_is_found_where_there_is_nan():
    found = {finding.kind for make in MADE.values() for finding in make()}
    assert found == {*MADE}
    bad = {1: {"nan": 4, "posinf": 1}, 0: {"nan": 4}}
    told = itertools.chain(
        of_pass(CHAIN, bad, values={1: np.array(np.nan)}),
        MADE["nan_victim"](),
        MADE["nonfinite_weight"](),
    )
    assert {each.kind for each in told} == {each for each in KINDS if KINDS[each].is_of_nonfinite}
