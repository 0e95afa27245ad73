"""The graph as the standard Graphs dashboard gets it."""

from __future__ import annotations

import re

from tensorboard.compat.proto.config_pb2 import RunMetadata

from tb_gradgraph.graph import UNKNOWN_DTYPE, Graph, Node, Scope, Slot
from tb_gradgraph.record.exchange.graph_def import (
    dashboard_names,
    encode_run_metadata,
    to_graph_def,
)
from tests.record.samples import make_graph, make_slots


def make_node(name: str, scope: int = -1, kind: str = "operation") -> Node:
    return Node(name, name, kind, "Op", scope, make_slots(), False)


def test_names_are_nested_by_scope():
    assert dashboard_names(make_graph()) == [
        "Net/lin/w",
        "x",
        "Net/lin/mm",
        "Net/split",
        "Net/mul",
        "loss",
    ]


def test_calls_of_one_module_are_told_apart():
    scopes = (Scope("", 0, "Net", -1), *(Scope("a.lin", call, "Linear", 0) for call in range(3)))
    graph = Graph(tuple(make_node("a.lin/mm", scope) for scope in (1, 2, 3)), (), scopes)
    assert dashboard_names(graph) == ["Net/a.lin/mm", "Net/a.lin_1/mm", "Net/a.lin_2/mm"]


def test_names_are_safe_and_unique():
    names = ["a b", "a_b", "a b", "_x", "größe", "", "x/y", "lin.w"]
    graph = Graph(tuple(make_node(name) for name in names), (), ())
    got = dashboard_names(graph)
    assert len(set(got)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*", name) for name in got)


def test_parameters_outside_any_scope_nest_by_their_qualified_names():
    graph = Graph((make_node("a.lin.w", kind="parameter"), make_node("mul.1")), (), ())
    assert dashboard_names(graph) == ["a/lin/w", "mul.1"]


def test_edges_become_inputs_in_their_order():
    nodes = {node.name: node for node in to_graph_def(make_graph()).node}
    assert list(nodes["Net/lin/mm"].input) == ["x", "Net/lin/w"]
    assert list(nodes["Net/mul"].input) == ["Net/split", "Net/split:1", "Net/lin/mm"]
    assert nodes["Net/lin/mm"].op == "MmBackward0"
    assert nodes["Net/lin/mm"].attr["source"].s == b"net.py:7"
    assert nodes["x"].op == "input"
    shapes = nodes["Net/split"].attr["_output_shapes"].list.shape
    assert [[dim.size for dim in shape.dim] for shape in shapes] == [[4, 1], [4, 2]]


def test_run_metadata_holds_the_graph():
    metadata = RunMetadata.FromString(encode_run_metadata(make_graph()))
    (function,) = metadata.function_graphs
    assert function.pre_optimization_graph == to_graph_def(make_graph())


def test_a_tensor_of_unknown_shape_is_no_scalar():
    nodes = tuple(
        Node(dtype, dtype, "operation", "Op", -1, (Slot("", (), dtype, False),), True)
        for dtype in ("float32", UNKNOWN_DTYPE)
    )
    shapes = [
        node.attr["_output_shapes"].list.shape[0]
        for node in to_graph_def(Graph(nodes, (), ())).node
    ]
    assert [shape.unknown_rank for shape in shapes] == [False, True]
