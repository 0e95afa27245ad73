"""What is found in tables made by hand: the right node, kind and severity, worst first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tb_gradgraph.diagnose import Finding, findings
from tb_gradgraph.diagnose.nonfinite import MAX_NAMED
from tb_gradgraph.graph import Edge, Graph, Node, NodeKind, Scope, Slot
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

NUMEL = 4


def make_node(
    name: str, kind: NodeKind = "operation", note: str = "", requires_grad: bool = True
) -> Node:
    slots = (Slot(name, (NUMEL,), "float32", requires_grad),)
    return Node(name, name, kind, "", -1, slots, kind == "parameter", note=note)


def make_chain(*names: str, kinds: dict[str, NodeKind] | None = None) -> Graph:
    """Make ``first -> second -> ...``; row k is node k."""
    nodes = tuple(make_node(name, (kinds or {}).get(name, "operation")) for name in names)
    edges = tuple(Edge(index, 0, index + 1, 0) for index in range(len(names) - 1))
    return Graph(nodes, edges, ())


def make_table(
    graph: Graph, rows: dict[int, dict[str, float]], absent: Sequence[int] = ()
) -> StatisticsTable:
    """Make a table of ordinary numbers, with some changed."""
    table = StatisticsTable.empty(graph.row_count)
    ordinary = dict.fromkeys(STATISTICS, 0.5) | {"nan": 0, "posinf": 0, "neginf": 0, "numel": NUMEL}
    for row in range(graph.row_count):
        numbers = ordinary | rows.get(row, {})
        if row not in absent:
            table.present[row] = True
            table.values[row] = [numbers[name] for name in STATISTICS]
    return table


def briefly(found: Sequence[Finding]) -> list[tuple[str, str, str]]:
    return [(finding.severity, finding.kind, finding.node) for finding in found]


def test_sound_pass_has_no_findings():
    graph = make_chain("w", "mul", "loss", kinds={"w": "parameter"})
    assert findings(graph, make_table(graph, {})) == []


def test_structure_without_backward_is_a_note():
    graph = make_chain("w", "loss")
    (found,) = findings(graph, StatisticsTable.empty(graph.row_count))
    assert (found.severity, found.kind, found.row) == ("note", "no_backward", None)


def test_where_a_backward_ran_and_nothing_was_read_it_is_not_said_that_none_ran():
    graph = make_chain("w", "loss")
    (found,) = findings(graph, StatisticsTable.empty(graph.row_count), ran=True)
    assert (found.severity, found.kind, found.row) == ("warning", "nothing_selected", None)
    assert found.text.startswith("A backward ran, but none of its gradients was recorded")


def test_origin_is_where_finite_came_in_and_nonfinite_left_and_victim_where_infinity_became_nan():
    """``y = sqrt(x * 0) * 1`` at 0: the mul, where anomaly mode points, is the victim."""
    graph = make_chain("x", "mul", "sqrt", "mul.1", "y")
    found = findings(graph, make_table(graph, {0: {"nan": 4}, 1: {"posinf": 4}}))
    assert briefly(found) == [("error", "nonfinite_origin", "sqrt"), ("error", "nan_victim", "mul")]
    assert [finding.row for finding in found] == [2, 1], "the node to look at"
    assert "the gradient came in finite, and 4 +inf of 4 elements left it" in found[0].text
    assert "infinity came in, and 4 NaN of 4 elements left it" in found[1].text


def test_infinity_alone_is_found_too():
    graph = make_chain("x", "sqrt", "y")
    found = findings(graph, make_table(graph, {0: {"neginf": 1}}))
    assert briefly(found) == [("error", "nonfinite_origin", "sqrt")]
    assert "1 -inf of 4 elements" in found[0].text


def test_backward_that_began_nonfinite_is_blamed_on_its_root():
    graph = make_chain("x", "mul", "loss")
    found = findings(graph, make_table(graph, {row: {"posinf": 1, "nan": 1} for row in range(3)}))
    assert briefly(found)[0] == ("error", "nonfinite_origin", "loss")
    assert "the backward began with 1 NaN, 1 +inf of 4 elements" in found[0].text
    assert [finding.kind for finding in found[1:]] == ["nonfinite"]
    assert found[1].text == "2 further gradients are not finite: mul, x."


def test_of_rows_that_were_not_recorded_none_is_blamed():
    graph = make_chain("x", "mul", "sqrt", "mul.1", "y")
    found = findings(graph, make_table(graph, {1: {"nan": 4}, 0: {"nan": 4}}, absent=[2, 3]))
    assert briefly(found) == [("error", "nonfinite_origin", "mul"), ("error", "nonfinite", "x")]
    assert found[0].text.startswith("Somewhere between the loss and mul")  # sqrt, or mul.1


def test_of_several_consumers_only_the_one_whose_share_is_nonfinite_is_blamed():
    nodes = tuple(make_node(name) for name in ("x", "exp", "log", "add"))
    edges = (Edge(0, 0, 1, 0), Edge(0, 0, 2, 0), Edge(1, 0, 3, 0), Edge(2, 0, 3, 1))
    graph = Graph(nodes, edges, ())
    assert graph.edge_rows.tolist() == [4, 5, 1, 2]
    found = findings(graph, make_table(graph, {0: {"nan": 1}, 5: {"nan": 1}}))
    assert briefly(found)[0] == ("error", "nonfinite_origin", "log")
    assert "exp" not in {finding.node for finding in found}


def test_many_nonfinite_gradients_are_counted_and_parameters_come_first():
    names = [f"n{index}" for index in range(40)]
    graph = make_chain(*names, kinds={"n0": "parameter"})
    found = findings(graph, make_table(graph, {row: {"nan": 1} for row in range(39)}))
    kinds = [finding.kind for finding in found]
    assert kinds == ["nonfinite_origin", "nonfinite"]
    assert found[1].node == "n0"
    assert found[1].text == (
        f"38 further gradients are not finite: n0, n37, n36, n35, n34 and {38 - MAX_NAMED} more."
    )


def test_missing_gradient_has_its_reason_and_is_not_zero():
    nodes = (
        make_node("unused", "parameter", "It took no part in the forward."),
        make_node("cut", "parameter"),
        make_node("frozen", "parameter", "It does not require grad.", requires_grad=False),
        make_node("dead", "parameter"),
        make_node("fine", "parameter"),
    )
    graph = Graph(nodes, (), ())
    dead = {3: {"abs_max": 0, "l2_norm": 0}}
    found = findings(graph, make_table(graph, dead, absent=[0, 1, 2]))
    assert briefly(found) == [
        ("warning", "no_gradient", "unused"),
        ("warning", "no_gradient", "cut"),
        ("warning", "zero_gradient", "dead"),
        ("note", "frozen", "frozen"),
    ]
    assert found[0].text == "unused: It took no part in the forward."
    assert found[1].text == "cut: No gradient arrived at it."
    assert found[2].text == "dead: a gradient arrived, and all 4 elements are zero."


def test_gradient_with_no_finite_element_is_not_called_zero():
    graph = make_chain("w", "loss", kinds={"w": "parameter"})
    table = make_table(graph, {0: {"nan": 4, "abs_max": np.nan}})
    assert "zero_gradient" not in {finding.kind for finding in findings(graph, table)}


@pytest.mark.parametrize(
    ("norm", "expected"),
    [(0.9e4, []), (1e3, []), (2e4, ["exploding"]), (1e-3, []), (0.5e-4, ["vanishing"]), (0, [])],
)
def test_gradients_four_orders_away_from_those_near_the_loss_are_found(
    norm: float, expected: list[str]
):
    names = [f"w{index}" for index in range(6)]
    graph = make_chain(*names, kinds=dict.fromkeys(names, "parameter"))
    rows = {row: {"l2_norm": 1.0} for row in range(1, 6)} | {0: {"l2_norm": norm}}
    found = findings(graph, make_table(graph, rows))
    assert [finding.kind for finding in found] == expected
    assert all(finding.node == "w0" for finding in found)


def test_text_says_how_far_off_a_magnitude_is():
    names = [f"w{index}" for index in range(5)]
    graph = make_chain(*names, kinds=dict.fromkeys(names, "parameter"))
    (found,) = findings(graph, make_table(graph, {0: {"l2_norm": 0.5e6}}))
    assert found.text == (
        "Gradients are exploding: w0 has a root mean square of 2.5e+05, 6.0 orders of magnitude above "
        "the 0.25 of the parameters near the loss (greatest of their last quarter). 1 of 5 parameters "
        "are more than 4 orders away."
    )


def test_text_names_scope_and_source():
    node = Node(
        "k", "w", "parameter", "", 0, (Slot("w", (1,), "float32"),), True, source="net.py:3"
    )
    graph = Graph((node, make_node("loss")), (), (Scope("lin", 2, "Linear", -1),))
    (found,) = findings(graph, make_table(graph, {}, absent=[0]))
    assert found.text.startswith("w in lin#2 (net.py:3): ")


def test_deep_graph_needs_no_recursion():
    graph = make_chain(*(f"n{index}" for index in range(5000)))
    found = findings(graph, make_table(graph, {0: {"nan": 1}}, absent=range(1, 4999)))
    assert briefly(found) == [("error", "nonfinite_origin", "n0")]


def test_operation_without_gradient_is_no_origin():
    """``h`` is used by ``mul`` and by ``detach``; only what came back through ``mul`` is NaN."""
    nodes = (
        make_node("h"),
        make_node("detach", requires_grad=False),
        make_node("mul"),
    )
    graph = Graph(nodes, (Edge(0, 0, 1, 0), Edge(0, 0, 2, 0)), ())
    nan = {"nan": NUMEL}
    shares = graph.edge_rows.tolist()
    table = make_table(graph, {0: nan, shares[1]: nan}, absent=[1, shares[0]])
    origins = [found.node for found in findings(graph, table) if found.kind == "nonfinite_origin"]
    assert origins == ["mul"]


def test_where_most_of_a_net_has_vanished_its_healthy_end_is_not_blamed():
    names = [f"w{index}" for index in range(12)]
    graph = make_chain(*names, kinds=dict.fromkeys(names, "parameter"))
    rows = {index: {"l2_norm": 10.0 ** (index - 12)} for index in range(12)}
    (found,) = findings(graph, make_table(graph, rows))
    assert (found.kind, found.node) == ("vanishing", "w0")
    assert "6 of 12 parameters are more than 4 orders away" in found.text
    assert found.text.endswith("Seen from the loss, w5 is the first.")


def test_a_great_norm_is_found_whatever_the_others_are():
    graph = make_chain("w", "loss", kinds={"w": "parameter"})
    (found,) = findings(graph, make_table(graph, {0: {"l2_norm": 1.2e16}}))
    assert (found.kind, found.node) == ("exploding", "w") and "1.2e+16" in found.text


def test_a_gradient_that_cancels_out_is_a_note_not_a_vanishing_one():
    kinds = {f"w{index}": "parameter" for index in range(5)}
    nodes = (*(make_node(name, "parameter") for name in kinds), make_node("conv"))
    graph = Graph(nodes, tuple(Edge(index, 0, 5, index) for index in range(5)), ())
    found = findings(graph, make_table(graph, {0: {"l2_norm": 1e-9}}))
    assert briefly(found) == [("note", "cancelled", "w0")]


def test_a_forward_that_is_not_finite_comes_first():
    graph = make_chain("x", "log", "loss")
    values = {1: np.array([1.0, -np.inf]), 2: np.array(np.nan)}
    found = findings(graph, make_table(graph, {0: {"nan": 1}}), values)
    assert briefly(found)[0] == ("error", "nonfinite_value", "log")
    assert "1 -inf of 2 elements" in found[0].text
