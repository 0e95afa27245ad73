"""NaN and infinity in tables of values made by hand: what is blamed, and what is meant to be infinite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tb_gradgraph.diagnose import Finding, findings
from tb_gradgraph.diagnose.forward.known_values import known_values
from tb_gradgraph.graph import Edge, Graph, Node, NodeKind, Slot
from tests.diagnose.test_findings import make_table

NAN, INF, NEGINF = {"nan": 2.0}, {"posinf": 2.0}, {"neginf": 2.0}


def node(name: str, kind: NodeKind = "operation", dtype: str = "float32") -> Node:
    operation = f"{name.rstrip('0123456789')}Backward0" if kind == "operation" else ""
    return Node(name, name, kind, operation, -1, (Slot("", (4,), dtype),), kind != "operation")


def graph_of(text: str) -> Graph:
    """Make a graph of lines ``name = source source ..``; a name with ``:kind`` is no operation."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    index: dict[str, int] = {}
    for line in text.strip().split("\n"):
        name, _, sources = (part.strip() for part in line.partition("="))
        name, _, kind = name.partition(":")
        for nr, source in enumerate(sources.split()):
            edges.append(Edge(index[source], 0, len(nodes), nr))
        index[name] = len(nodes)
        nodes.append(node(name, kind or "operation"))
    return Graph(tuple(nodes), tuple(edges), ())


def found_in(
    text: str,
    bad: Mapping[str, Mapping[str, float]],
    unread: Sequence[str] = (),
    bad_gradients: Sequence[str] = (),
) -> list[Finding]:
    """Return the findings about the forward; values are ordinary but for those that are given."""
    graph = graph_of(text)
    rows = {one.name: row for row, one in enumerate(graph.nodes)}
    table = make_table(graph, {rows[name]: dict(some) for name, some in bad.items()})
    for name in unread:
        table.present[rows[name]] = False
    gradients = make_table(graph, {rows[name]: {"nan": 1} for name in bad_gradients})
    found = findings(graph, gradients, value_table=table)
    return [one for one in found if one.kind in ("nonfinite_value", "nonfinite_weight")]


def briefly(found: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(one.severity, one.node) for one in found]


CHAIN = "x:input\nlin = x\nlog = lin\nout = log\nloss:root = out"


def test_finite_values_have_no_findings():
    assert found_in(CHAIN, {}) == []


def test_the_first_of_a_chain_is_blamed():
    (one,) = found_in(CHAIN, {"log": NEGINF, "out": NAN, "loss": NAN})
    assert (one.severity, one.node, one.row) == ("error", "log", 2)
    assert "2 -inf of 4 elements came out. 1 further value is not finite" in one.text


def test_infinity_that_turns_into_nan_is_blamed_and_not_what_turned_it():
    assert briefly(found_in(CHAIN, {"lin": INF, "log": NAN, "out": NAN, "loss": NAN})) == [
        ("error", "lin")
    ]


def test_of_two_branches_each_has_its_own():
    text = "x:input\nlog = x\nsqrt = x\nadd = log sqrt\nloss:root = add"
    bad = {"log": NEGINF, "sqrt": NAN, "add": NAN, "loss": NAN}
    assert briefly(found_in(text, bad)) == [("error", "log"), ("error", "sqrt")]


def test_a_weight_comes_before_an_operation_and_an_input():
    text = "x:input\nsqrt = x\nw:parameter\nmul = sqrt w\nloss:root = mul"
    bad = {"sqrt": NAN, "w": NAN, "mul": NAN, "loss": NAN}
    found = found_in(text, bad)
    assert briefly(found) == [("error", "w"), ("error", "sqrt")]
    assert found[0].kind == "nonfinite_weight"


def test_what_was_not_read_is_said():
    text = "x:input\nt:constant\nmseloss = x t\nloss:root = mseloss"
    (one,) = found_in(text, {"mseloss": NAN, "loss": NAN}, unread=["t"])
    assert one.node == "mseloss" and one.text.endswith("Not read: t.")


def test_where_nothing_is_known_before_it_nothing_is_claimed():
    (one,) = found_in(CHAIN, {"out": NAN, "loss": NAN}, unread=["x", "lin", "log"])
    assert one.node == "out"
    assert "The first tensor seen to hold it is out" in one.text and "values=True" in one.text


def test_between_values_that_were_read_the_operation_that_can_is_named():
    text = "x:input\nlin = x\nview = lin\nlog = view\nadd = log\nout = add\nloss:root = out"
    unread = ["view", "log", "add"]
    (one,) = found_in(text, {"out": NAN, "loss": NAN}, unread)
    assert one.node == "log" and "likeliest" in one.text
    (one,) = found_in(
        text.replace("log", "relu"), {"out": NAN, "loss": NAN}, ["view", "relu", "add"]
    )
    assert one.node == "out" and "is the last" in one.text


@pytest.mark.parametrize(
    ("operation", "low", "high", "is_blamed"),
    [("log", 0.0, 1.0, True), ("log", 0.1, 1.0, False), ("sqrt", -1.0, 1.0, True)]
    + [("sqrt", 0.0, 1.0, False), ("exp", 0.0, 89.0, True), ("exp", 0.0, 88.0, False)],
)
def test_the_range_of_what_went_in_decides(
    operation: str, low: float, high: float, is_blamed: bool
):
    text = f"x:input\n{operation} = x\nout = {operation}\nloss:root = out"
    bad = {"x": {"min": low, "max": high, "abs_max": high}, "out": NAN, "loss": NAN}
    (one,) = found_in(text, bad, unread=[operation])
    assert one.node == (operation if is_blamed else "out")


MASKED = "x:input\nmask:buffer\nadd = x mask\nview = add\nsoftmax = view\nloss:root = softmax"


@pytest.mark.parametrize("unread", [[], ["mask"], ["view"], ["mask", "view"], ["add", "mask"]])
def test_a_mask_that_a_softmax_takes_away_is_silent(unread: list[str]):
    given = {} if "mask" in unread else {"mask": NEGINF}
    assert found_in(MASKED, {**given, "add": NEGINF, "view": NEGINF}, unread) == []


def test_a_mask_over_a_whole_row_is_blamed_on_the_softmax():
    bad = {"mask": NEGINF, "add": NEGINF, "view": NEGINF, "softmax": NAN, "loss": NAN}
    (one,) = found_in(MASKED, bad)
    assert one.node == "softmax" and "masked out entirely" in one.text
    assert "The mask is in view" in one.text


def test_a_mask_that_reaches_the_loss_is_blamed_itself():
    text = "x:input\nm:constant\nmaskedfill = x m\nmean = maskedfill\nloss:root = mean"
    bad = {"maskedfill": NEGINF, "mean": NEGINF, "loss": NEGINF}
    assert briefly(found_in(text, bad)) == [("error", "maskedfill")]
    assert briefly(found_in(text, {**bad, "mean": NAN, "loss": NAN})) == [("error", "maskedfill")]


def test_other_infinity_that_vanishes_is_silent_and_nan_a_note():
    assert found_in(CHAIN, {"log": NEGINF}) == []
    assert briefly(found_in(CHAIN, {"log": NAN})) == [("note", "log")]
    assert briefly(found_in(CHAIN, {"log": NAN}, bad_gradients=["lin"])) == [("error", "log")]


def test_a_part_that_leads_nowhere_does_no_harm():
    text = CHAIN + "\nsqrt = lin"
    assert briefly(found_in(text, {"sqrt": NAN})) == [("note", "sqrt")]


def test_calls_of_one_line_are_one_finding():
    lines = "\n".join(f"log{nr} = x" for nr in range(6))
    names = " ".join(f"log{nr}" for nr in range(6))
    text = f"x:input\n{lines}\nsum = {names}\nloss:root = sum"
    (one,) = found_in(text, {**{f"log{nr}": NEGINF for nr in range(6)}, "sum": NAN, "loss": NAN})
    assert one.node == "log0" and "5 further calls" in one.text


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int64"])
def test_whole_tensors_are_counted_as_numpy_counts(dtype: str):
    plain = np.array([1, 0, -3, 2]).astype(dtype)
    (value,) = known_values(1, None, {0: plain, 5: plain}).values()
    assert value.is_finite and value.zeros == 0.25
    assert (value.low, value.high) == ((0, 3) if dtype == "complex64" else (-3, 2))
    if dtype != "int64":
        bad = np.array([np.nan, np.inf, -np.inf, 1]).astype(dtype)
        (value,) = known_values(1, None, {0: bad}).values()
        assert (value.nan, value.posinf, value.neginf, value.low) == (1, 1, 1, 1)
        (value,) = known_values(1, None, {0: bad[:1]}).values()
        assert value.nan == 1 and np.isnan(value.low)
    assert known_values(1, None, {0: plain[:0]}) == {}
