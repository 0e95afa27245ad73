"""The gradient of every slot of every node equals what torch.autograd.grad says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tb_gradgraph
from tb_gradgraph.api.grad_graph import GradGraph
from tb_gradgraph.summarize import StatisticsBatch
from tb_gradgraph.summarize.arithmetic.end_to_end import whole_arrays
from tests.autograd.expected import (
    OTHERWISE,
    expected_slots,
    inputs_of,
    made,
    named_parameters,
    roots_of,
)
from tests.autograd.models import CASES


def _differentiable(graph: GradGraph) -> list[int]:
    """List the operations with a backward, in order."""
    return [
        index
        for index, node in enumerate(graph.nodes)
        if node.kind == "operation" and node.requires_grad
    ]


#: Autograd makes the nodes of a view anew, and with later numbers than what they came before;
#: test_without_numbers.py compares these in whatever order.
ANEW = {"views of views"}


@pytest.mark.parametrize("name", [name for name in CASES if name not in OTHERWISE | ANEW])
def test_every_slot_has_the_gradient_that_autograd_gives(name: str) -> None:
    case = CASES[name]
    graph = tb_gradgraph.capture(made(case), case.input, loss_fn=case.loss_fn)
    expected = expected_slots(case)
    operations = _differentiable(graph)
    assert len(operations) == len(expected)
    (found,) = graph.backward_passes
    for index, gradients in zip(operations, expected):
        for nr, gradient in enumerate(gradients):
            row = int(graph.graph.slot_offsets[index]) + nr
            assert bool(found.table.present[row]) == (gradient is not None), graph.nodes[index]
            if gradient is not None:
                _assert_same(graph, row, gradient)


def _assert_same(graph: GradGraph, row: int, gradient: torch.Tensor) -> None:
    (found,) = graph.backward_passes
    batch = StatisticsBatch(1)  # checked against its own oracle elsewhere
    batch.add(0, gradient)
    np.testing.assert_array_equal(found.table.values[row], batch.finish()[0].values[0])
    if gradient.numel() <= 16:
        np.testing.assert_array_equal(found.gradients[row], whole_arrays({0: gradient})[0])


def test_users_hooks_count_as_they_do_for_retain_grad() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda gradient: gradient.clamp(max=0.5))
    y.retain_grad()
    loss = (y * y).sum()
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    assert graph["y"].gradient.tolist() == y.grad.tolist() == [0.5, 0.5]
    assert graph["x"].gradient.tolist() == x.grad.tolist() == [1.5, 1.5]
    assert graph["y"].retains_grad and not graph["x"].retains_grad


@pytest.mark.parametrize("name", CASES)
def test_every_leaf_has_the_gradient_that_backward_accumulates(name: str) -> None:
    case = CASES[name]
    graph = tb_gradgraph.capture(made(case), case.input, loss_fn=case.loss_fn)
    model = made(case)
    args, kwargs = inputs_of(case)
    output = model(*args, **kwargs)
    roots = roots_of(output if case.loss_fn is None else case.loss_fn(output))
    torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
    named = named_parameters(model)
    in_graph = [node.name for node in graph.nodes if node.kind == "parameter"]
    assert set(in_graph) >= {name for name, tensor in named.items() if tensor.grad is not None}
    for parameter in in_graph:
        gradient = named[parameter].grad
        view = graph[parameter]
        assert (view.statistics is not None) == (gradient is not None)
        if gradient is not None:
            batch = StatisticsBatch(1)
            batch.add(0, gradient)
            assert view.statistics == batch.finish()[0].row(0)


@pytest.mark.parametrize("name", CASES)
def test_shares_of_a_slot_add_up_to_its_gradient(name: str) -> None:
    case = CASES[name]
    graph = tb_gradgraph.capture(made(case), case.input, loss_fn=case.loss_fn)
    (found,) = graph.backward_passes
    shares: dict[int, list[np.ndarray]] = {}
    for edge, row in zip(graph.edges, graph.graph.edge_rows.tolist()):
        if row >= graph.graph.slot_count and row in found.gradients:
            slot = int(graph.graph.slot_offsets[edge.source]) + edge.source_slot
            shares.setdefault(slot, []).append(found.gradients[row])
    tolerance = 1e-2 if name == "autocast" else 1e-5
    for slot, parts in shares.items():
        if (
            name not in OTHERWISE
        ):  # a hook changes the sum on its way, a reentrant backward adds to it
            np.testing.assert_allclose(sum(parts), found.gradients[slot], tolerance, 1e-6)


def test_a_reentrant_checkpoint_gives_the_gradients_that_are_without_it() -> None:
    case = CASES["reentrant checkpoint"]
    graph = tb_gradgraph.capture(made(case), case.input)
    (node,) = [node for node in graph.nodes if node.operation == "CheckpointFunction"]
    assert "reentrant checkpoint" in node.note
    model = made(case)
    inside = model.lin(model.lin(case.input))
    inside.retain_grad()
    model.lin(inside).square().sum().backward()
    np.testing.assert_allclose(graph[node.name].gradient, inside.grad, rtol=1e-6)
    np.testing.assert_allclose(graph["lin.weight"].gradient, model.lin.weight.grad, rtol=1e-6)


def test_what_was_compiled_is_drawn_from_its_eager_source() -> None:
    compiled = tb_gradgraph.capture(made(CASES["compiled part"]), torch.ones(2, 3))
    eager = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    plain = tb_gradgraph.capture(
        torch.nn.Sequential(eager, torch.nn.Linear(3, 1)), torch.ones(2, 3)
    )
    assert compiled.hash == plain.hash
    assert [scope.path for scope in compiled.scopes] == [scope.path for scope in plain.scopes]


def test_capture_of_a_compiled_model_compiles_nothing() -> None:
    compiled: list[object] = []

    def backend(graph: torch.fx.GraphModule, _inputs: object) -> object:
        compiled.append(graph)
        return graph.forward

    model = torch.compile(torch.nn.Linear(3, 3), backend=backend)
    model(torch.ones(2, 3))
    tb_gradgraph.capture(model, torch.ones(5, 3))
    model(torch.ones(2, 3))
    assert len(compiled) == 1


def test_shares_are_each_use_of_a_tensor() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    y1 = x + 1
    y2 = 2 * x
    loss = (y1 - y2) ** 2
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    found = {
        (graph.nodes[edge.source].name, graph.nodes[edge.target].name): row
        for edge, row in zip(graph.edges, graph.graph.edge_rows.tolist())
    }
    gradients = graph.backward_passes[0].gradients
    assert gradients[found["x", "add"]] == -4.0
    assert gradients[found["x", "mul"]] == 8.0
    assert {name: float(graph[name].gradient) for name in ("loss", "y1", "y2", "x")} == {
        "loss": 1.0, "y1": -4.0, "y2": 4.0, "x": 4.0,
    }  # fmt: skip
    assert {name: float(graph[name].value) for name in ("loss", "y1", "y2", "x")} == {
        "loss": 4.0, "y1": 4.0, "y2": 6.0, "x": 3.0,
    }  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_kept_whole_are_those_of_the_forward(name: str) -> None:
    """A second capture of the same model sees the same values; roots are compared with the model's."""
    case = CASES[name]
    first = tb_gradgraph.capture(made(case), case.input, loss_fn=case.loss_fn)
    model = made(case)
    args, kwargs = inputs_of(case)
    torch.manual_seed(1)
    output = model(*args, **kwargs)
    roots = roots_of(output if case.loss_fn is None else case.loss_fn(output))
    nodes = [index for index, node in enumerate(first.nodes) if node.kind == "root"]
    for index, root in zip(nodes, roots, strict=True):
        value = first.values.get(int(first.graph.slot_offsets[index]))
        assert (value is not None) == (root.numel() <= 16)
        if value is not None:
            np.testing.assert_array_equal(value, whole_arrays({0: root})[0])
