"""What feeds the graph without gradient is drawn, and stands where it is used."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

import tb_gradgraph
from tb_gradgraph.api.grad_graph import GradGraph
from tests.autograd.models import CASES


def inputs_of(graph: GradGraph, name: str) -> list[str]:
    """Name what enters a node, in the order of its inputs."""
    index = next(i for i, node in enumerate(graph.nodes) if node.name == name)
    return [graph.nodes[edge.source].name for edge in graph.edges if edge.target == index]


def _capture(function: Callable[[nn.Module, torch.Tensor], torch.Tensor]) -> GradGraph:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(self.lin, x)

    return tb_gradgraph.capture(Model(), torch.ones(2, 3))


def test_where_masked_fill_scatter_index_put_and_weights() -> None:
    graph = tb_gradgraph.capture(CASES["inputs without gradient"].make(), torch.ones(2, 3))
    assert inputs_of(graph, "detach") == inputs_of(graph, "detach.1") == ["lin/addmm"]
    assert inputs_of(graph, "where") == ["lin/addmm", "gt", "mul"]
    assert inputs_of(graph, "masked_fill") == ["where", "bitwise_not"]
    assert inputs_of(graph, "scatter") == ["masked_fill", "index", "ones"]
    assert inputs_of(graph, "index_put") == ["scatter", "constant", "zeros"]
    assert inputs_of(graph, "nll_loss") == ["log_softmax", "constant_2", "constant_3"]


def test_batch_norm_and_dropout() -> None:
    model = CASES["batch norm and dropout"].make()
    graph = tb_gradgraph.capture(model, torch.ones(2, 1, 5, 5))
    assert inputs_of(graph, "bn/native_batch_norm") == [
        "conv/convolution", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var",
    ]  # fmt: skip
    assert inputs_of(graph, "drop/mul") == ["relu", "drop/div_"]
    assert inputs_of(graph, "drop/empty_like") == [], "it reads the shape alone"


def test_embedding_bag_and_attention() -> None:
    graph = tb_gradgraph.capture(CASES["embedding bag"].make(), torch.tensor([1, 5, 5]))
    assert inputs_of(graph, "bag/embedding_bag") == ["bag.weight", "tokens", "offsets", "weights"]
    model = nn.MultiheadAttention(4, 2, batch_first=True)
    x, mask = torch.ones(1, 3, 4), torch.ones(3, 3).triu(1).bool()
    graph = tb_gradgraph.capture(model, {"query": x, "key": x, "value": x, "attn_mask": mask})
    assert [n.name for n in graph.nodes if n.kind == "input"] == ["query", "attn_mask"]
    (used,) = [e.target for e in graph.edges if graph.nodes[e.source].name == "attn_mask"]
    assert graph.nodes[used].scope == 0


def test_a_frozen_subnetwork_is_drawn() -> None:
    model = nn.Sequential(nn.Linear(3, 3).requires_grad_(False), nn.ReLU(), nn.Linear(3, 1))
    graph = tb_gradgraph.capture(model, torch.ones(2, 3))
    assert inputs_of(graph, "0/addmm") == ["0.bias", "input", "0/t"]
    assert inputs_of(graph, "2/addmm") == ["2.bias", "1/relu", "2/t"]
    assert not graph["0/addmm"].requires_grad and not graph["0.weight"].requires_grad


def test_convolution_with_a_frozen_weight() -> None:
    conv = nn.Conv2d(1, 1, 3)
    conv.weight.requires_grad_(False)
    graph = tb_gradgraph.capture(conv, torch.ones(1, 1, 4, 4))
    assert inputs_of(graph, "convolution") == ["input", "weight", "bias"]
    assert graph["weight"].status.startswith("Frozen")


def test_a_leaf_made_from_a_detached_tensor_shows_the_cut() -> None:
    def cut(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = lin(x)
        free = y.detach().requires_grad_()
        return (free * free).sum() + y.sum()

    graph = _capture(cut)
    assert inputs_of(graph, "free") == ["detach"] and inputs_of(graph, "detach") == ["lin/addmm"]
    assert graph["free"].is_leaf and graph["free"].status == "ok"


def test_views_of_a_parameter_under_no_grad() -> None:
    def scaled(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            scale = lin.weight.t()[0].abs()
        return (lin(x) * scale).sum()

    graph = _capture(scaled)
    assert inputs_of(graph, "abs") == ["select"] and inputs_of(graph, "select") == ["t"]
    assert inputs_of(graph, "t") == ["lin.weight"]


def test_arguments_of_functions_and_leaves_used_inside() -> None:
    graph = tb_gradgraph.capture(
        CASES["Function with outputs of three kinds"].make(), torch.ones(2, 3)
    )
    assert inputs_of(graph, "SplitOff") == ["lin/addmm", "scale"]
    assert inputs_of(graph, "Halved") == ["SplitOff", "by"]
    assert inputs_of(graph, "gather") == ["SplitOff", "unsqueeze"]
    graph = tb_gradgraph.capture(CASES["reentrant checkpoint"].make(), torch.ones(2, 3))
    assert inputs_of(graph, "CheckpointFunction") == ["lin/addmm", "lin.weight", "lin.bias"]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:.*does not depend on the model's input")
def test_nothing_dangles(name: str) -> None:
    """What needs no gradient is there because something uses it; no detach of autograd's own."""
    case = CASES[name]
    graph = tb_gradgraph.capture(case.make(), case.input, loss_fn=case.loss_fn)
    used = {edge.source for edge in graph.edges}
    for index, node in enumerate(graph.nodes):
        assert index in used or node.kind == "root" or node.note.startswith("Unused"), node
        if node.operation in ("detach", "alias", "lift_fresh"):
            assert name in (
                "gradient penalty", "inputs without gradient", "frozen, detached, no_grad",
                "second derivative", "backward inside the forward",
            )  # fmt: skip


def test_memory_used_anew_is_not_taken_for_the_old() -> None:
    def temporary(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = lin(x)
        for _ in range(20):
            y = y * torch.from_numpy(x.numpy() + 1)  # made without torch seeing it
            (y.detach() * 2).sum()
        return y.sum()

    graph = _capture(temporary)
    into = [inputs_of(graph, n.name)[1] for n in graph.nodes if n.name.startswith("mul")]
    assert all(name.startswith("constant") for name in into) and len(set(into)) == 20


def test_scaled_dot_product_with_dropout_and_cross_entropy_of_probabilities() -> None:
    def attends(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
        q = lin(x)[None, None]
        y = functional.scaled_dot_product_attention(q, q, q, torch.zeros(2, 2))
        goal = torch.full((2, 3), 1 / 3)
        return functional.cross_entropy(y[0, 0], goal)

    graph = _capture(attends)
    assert graph["goal"].node.operation == "full"
    (used,) = [e.target for e in graph.edges if graph.nodes[e.source].name == "full"]
    assert graph.nodes[used].requires_grad
