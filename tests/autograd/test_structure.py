"""What is drawn: names, scopes, lines, kinds, keys, and graphs of any length."""

from __future__ import annotations

import os
import sys

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.autograd.build.naming import readable
from tests.autograd.models import CASES, Case

HERE = __file__.removeprefix(os.getcwd() + os.sep)


def _capture(name: str) -> tb_gradgraph.GradGraph:
    case: Case = CASES[name]
    torch.manual_seed(0)
    return tb_gradgraph.capture(case.make(), case.input, loss_fn=case.loss_fn)


class Lines(nn.Module):
    """A forward of which each line is known."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor(2.0))

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        first = sys._getframe().f_lineno
        self.first = first
        l1 = given * self.w
        l2 = l1 + 1
        return (l1 * l2).mean()


def test_source_lines_and_variable_names() -> None:
    line = Lines.forward.__code__.co_firstlineno + 3
    graph = tb_gradgraph.capture(Lines(), torch.ones(2, 2))
    assert graph["l1"].source == f"{HERE}:{line} in forward"
    assert graph["l2"].source == f"{HERE}:{line + 1} in forward"
    assert graph["l1"].node.operation == "MulBackward0"
    assert graph["given"].node.kind == "input"


def test_module_calls_are_scopes_with_an_index() -> None:
    graph = _capture("module called three times")
    calls = [(scope.path, scope.call) for scope in graph.scopes]
    assert calls == [("", 0), ("lin", 0), ("lin", 1), ("lin", 2)]
    assert all(graph.scopes[scope].parent == 0 for scope in (1, 2, 3))
    inside = [node.key for node in graph.nodes if node.scope == 3]
    assert inside == ["lin#2/TBackward0.0", "lin#2/AddmmBackward0.0"]
    assert [node.name for node in graph.nodes].count("lin.weight") == 1


def test_tied_parameter_is_one_node_with_both_names_and_two_uses() -> None:
    graph = _capture("tied weights")
    (index,) = [i for i, node in enumerate(graph.nodes) if node.kind == "parameter"]
    assert graph.nodes[index].name == "emb.weight"
    assert graph.nodes[index].aliases == ("out.weight",)
    assert len([edge for edge in graph.edges if edge.source == index]) == 2
    assert graph["out.weight"].node is graph["emb.weight"].node


def test_custom_functions_carry_their_class() -> None:
    graph = _capture("custom Functions")
    (node,) = [node for node in graph.nodes if node.operation == "Doubled"]
    assert "models.py" in node.note and "Doubled" in node.note


def test_kinds_of_nodes_without_gradient() -> None:
    graph = _capture("frozen, detached, no_grad")
    kinds = {node.name: node.kind for node in graph.nodes}
    assert kinds["x"] == "input" and kinds["scale"] == "buffer"
    assert kinds["frozen.weight"] == "parameter"
    assert not graph["frozen.weight"].requires_grad
    frozen = [node for node in graph.nodes if node.scope >= 0 and not node.requires_grad]
    assert "addmm" in [node.operation for node in frozen]
    into_mask = {graph.nodes[edge.source].name for edge in graph.edges}
    assert "dead/addmm" in into_mask, "what was computed under no_grad is drawn too"


def test_what_torchscript_runs_as_one_is_one_node_with_a_note() -> None:
    graph = _capture("scripted part")
    (node,) = [n for n in graph.nodes if n.operation == "DifferentiableGraphBackward"]
    assert "TorchScript" in node.note
    assert graph["0.0.weight"].status == "ok"


@pytest.mark.parametrize("name", CASES)
def test_keys_are_unique_and_the_same_at_every_capture(name: str) -> None:
    first, second = _capture(name), _capture(name)
    keys = first.graph.row_keys
    assert len(set(keys)) == len(keys)
    assert keys == second.graph.row_keys
    assert first.hash == second.hash


@pytest.mark.parametrize("name", CASES)
def test_edges_run_forward_and_point_at_what_is_there(name: str) -> None:
    graph = _capture(name)
    taken = set()
    for edge in graph.edges:
        assert edge.source != edge.target
        assert edge.source_slot < len(graph.nodes[edge.source].slots)
        assert (edge.target, edge.target_input) not in taken
        taken.add((edge.target, edge.target_input))


def test_hash_knows_structure_and_not_values() -> None:
    def of(width: int, seed: int) -> str:
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(2, width), nn.Linear(width, 1))
        return tb_gradgraph.capture(model, torch.randn(3, 2)).hash

    assert of(3, 0) == of(3, 1) != of(4, 0)


def test_a_chain_longer_than_any_recursion_limit() -> None:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y * 1.0001
    loss = y.sum()
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    assert len(graph.nodes) == 20_003
    assert float(graph["x"].gradient[0]) == float(x.grad[0])


class Loop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = None
        for step in x:
            state = self.cell(step, state)
        return state[0].sum()


def test_a_recurrent_loop_has_one_scope_a_call() -> None:
    graph = tb_gradgraph.capture(Loop(), torch.randn(300, 1, 2))
    assert [scope.call for scope in graph.scopes if scope.path == "cell"] == list(range(300))
    assert len([node for node in graph.nodes if node.kind == "parameter"]) == 4


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("AddmmBackward0", "addmm"),
        ("NativeLayerNormBackward0", "native_layer_norm"),
        ("CopySlices", "CopySlices"),
        ("MyReLU", "MyReLU"),
        ("gt", "gt"),
    ],
)
def test_readable_names(operation: str, expected: str) -> None:
    assert readable(operation) == expected


def test_inputs_are_named_by_the_forwards_parameters() -> None:
    class Many(nn.Module):
        def forward(self, batch: dict, pair: list, *rest: torch.Tensor) -> torch.Tensor:
            return (batch["a"] * pair[1] * rest[0]).sum()

    x = torch.ones(2, requires_grad=True)
    graph = tb_gradgraph.capture(
        Many(), ({"a": x, "b": "text"}, [None, torch.ones(2)], torch.ones(2))
    )
    assert [node.name for node in graph.nodes if node.kind == "input"] == [
        "batch['a']", "pair[1]", "rest[0]",
    ]  # fmt: skip
    assert graph["batch['a']"].gradient.tolist() == [1.0, 1.0]


def test_select_exclude_level_and_retain() -> None:
    model = nn.Sequential(nn.Linear(30, 30), nn.ReLU(), nn.Linear(30, 1))
    x = torch.randn(2, 30)

    def present(**options: object) -> set[str]:
        graph = tb_gradgraph.capture(model, x, **options)
        return {view.name for view in graph if view.statistics is not None}

    everything = present()
    assert present(select="0.*") == {"0.weight", "0.bias"}
    assert present(select=[model[2]]) == {n for n in everything if n.startswith("2")}
    assert present(exclude="2.*") == everything - {"2.weight", "2.bias"}
    assert present(select=lambda node: node.kind == "root") == {"output"}
    assert "1/relu" not in present(level="param") and "2.bias" in present(level="param")
    assert "1/relu" in present(level="module") and "0/t" not in present(level="module")
    kept = tb_gradgraph.capture(model, x, retain="0.weight")
    assert kept["0.weight"].gradient.shape == (30, 30)
    assert tb_gradgraph.capture(model, x)["0.weight"].gradient is None


def test_retain_past_the_limit_says_so_and_keeps_statistics() -> None:
    model = nn.Linear(300, 300)
    with pytest.warns(UserWarning, match="at most 65,536 elements, got weight of shape"):
        graph = tb_gradgraph.capture(model, torch.ones(1, 300), retain=["weight", "bias"])
    assert graph["weight"].gradient is None and graph["weight"].statistics is not None
    assert graph["bias"].gradient.shape == (300,)
