"""add_grad_graph(loss) among everything else that a user does between forward and backward."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.api.grad_graph import GradGraph


def _scalar(graph: GradGraph, name: str, number: int = -1) -> float | None:
    rows = graph._rows_by_name()
    gradient = graph.view(rows[name], number).gradient
    return None if gradient is None else float(gradient)


def _two() -> torch.Tensor:
    return torch.tensor(2.0, requires_grad=True)


class Holder:
    """A method whose locals and attributes hold the tensors."""

    def __init__(self) -> None:
        self.w = _two()

    def run(self) -> GradGraph:
        y = self.w * 3
        loss = y * y
        graph = tb_gradgraph.capture(loss)
        loss.backward()
        return graph


def test_in_a_method_a_closure_and_a_loop() -> None:
    graph = Holder().run()
    assert (_scalar(graph, "loss"), _scalar(graph, "y")) == (1.0, 12.0)

    w = _two()

    def closure() -> GradGraph:
        found = w * 3
        graph = tb_gradgraph.capture(found)
        found.backward()
        return graph

    assert _scalar(closure(), "w") == 3.0
    hashes = set()
    for factor in range(3):
        loss = w * factor
        graph = tb_gradgraph.capture(loss)
        loss.backward()
        assert _scalar(graph, "w") == factor
        hashes.add(graph.hash)
    assert len(hashes) == 1


def test_at_module_level_as_in_a_notebooks_cell() -> None:
    cell = """
import torch, tb_gradgraph
w = torch.tensor(2.0, requires_grad=True)
y = w * 3
loss = y * y
graph = tb_gradgraph.capture(loss)
loss.backward()
"""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(cell, "<ipython-input-3-abc>", "exec"), namespace)
    assert float(namespace["graph"]["y"].gradient) == 12.0
    assert namespace["loss"].item() == 36.0


def test_overlapping_graphs_that_share_leaves_and_nodes() -> None:
    w = _two()
    shared = w * 3
    first, second = shared * shared, shared + w
    one, two = tb_gradgraph.capture(first), tb_gradgraph.capture(second)
    first.backward(retain_graph=True)
    assert _scalar(one, "w") == 36.0
    # The shared part ran, so it was seen as a backward from the middle of the second graph.
    assert two["second"].status == "not reached by the backward"
    second.backward()
    assert _scalar(two, "w") == 4.0 and _scalar(two, "shared") == 1.0


def test_two_threads_running_backward_at_once() -> None:
    w = torch.ones(1000, requires_grad=True)
    graphs: dict[int, GradGraph] = {}
    losses = {}
    for number in range(4):
        y = w * number
        for _ in range(50):
            y = y + w
        losses[number] = y.sum()
        graphs[number] = tb_gradgraph.capture(losses[number])
    start = threading.Barrier(4)

    def run(number: int) -> None:
        start.wait()
        torch.autograd.grad(losses[number], w)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        assert len(graphs[number].backward_passes) == 1
        assert graphs[number]["w"].statistics.mean == number + 50


def test_double_backward_is_another_graph() -> None:
    x, y = torch.tensor(0.5, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    inner = x * y
    z = inner.exp()
    graph = tb_gradgraph.capture(z)
    (dx,) = torch.autograd.grad(z, x, create_graph=True)
    second = tb_gradgraph.capture(dx)
    (ddx,) = torch.autograd.grad(dx, x)
    e = z.item()
    assert _scalar(graph, "x", 0) == pytest.approx(2 * e) == dx.item()
    assert _scalar(second, "x") == pytest.approx(4 * e) == ddx.item()
    orders = {node.name: node.order for node in second.nodes if node.kind == "operation"}
    assert orders["exp"] == 1 and second["inner"].order == 1 and second["dx"].order == 2
    assert {node.order for node in graph.nodes} == {1}
    # The second backward ran through z too: that is a pass of its own, the first is as it was.
    assert len(graph.backward_passes) == 2
    assert (_scalar(graph, "z", 0), _scalar(graph, "z", 1)) == (1.0, 2.0)


def test_second_order_of_a_captured_model_is_marked() -> None:
    w = _two()
    loss = w.pow(3)
    (dw,) = torch.autograd.grad(loss, w, create_graph=True)
    graph = tb_gradgraph.capture(dw)
    assert {node.order for node in graph.nodes if node.operation} <= {1, 2}
    (ddw,) = torch.autograd.grad(dw, w)
    assert _scalar(graph, "w") == float(ddw) == 12.0


def test_backward_with_inputs() -> None:
    w, v = _two(), _two()
    y = w * v
    loss = y * y
    graph = tb_gradgraph.capture(loss)
    loss.backward(inputs=[v])
    assert _scalar(graph, "v") == float(v.grad) == 16.0
    assert graph["w"].status == "not reached by the backward" and w.grad is None
    assert _scalar(graph, "y") == 8.0


def test_grad_of_a_tensor_in_the_middle() -> None:
    w = _two()
    y = w * 3
    loss = y * y
    graph = tb_gradgraph.capture(loss)
    (dy,) = torch.autograd.grad(loss, y, retain_graph=True)
    assert _scalar(graph, "loss") == 1.0
    assert float(dy) == 12.0
    assert graph["w"].status == "not reached by the backward"
    loss.backward()
    assert _scalar(graph, "y") == 12.0 and _scalar(graph, "w") == 36.0


@pytest.mark.parametrize("at", ["operation", "leaf", "post"])
def test_a_users_hook_that_raises_ends_its_pass_only(at: str) -> None:
    w = _two()
    y = w * 3
    loss = y * y
    broken = [True]

    def hook(_gradient: torch.Tensor) -> None:
        if broken[0]:
            raise ZeroDivisionError("of the user")

    if at == "post":
        w.register_post_accumulate_grad_hook(hook)
    else:
        (y if at == "operation" else w).register_hook(hook)
    graph = tb_gradgraph.capture(loss)
    with pytest.raises(ZeroDivisionError, match="of the user"):
        loss.backward(retain_graph=True)
    assert not graph.backward_passes
    broken[0] = False
    w.grad = None
    for number in range(2):
        loss.backward(retain_graph=True)
        assert len(graph.backward_passes) == number + 1
        assert _scalar(graph, "w") == 36.0 and _scalar(graph, "loss") == 1.0


def test_raising_passes_do_not_pile_up() -> None:
    w = _two()

    def refuse(_gradient: torch.Tensor) -> None:
        raise ZeroDivisionError

    w.register_hook(refuse)
    loss = w * torch.ones(1000)
    tb_gradgraph.capture(loss)
    (*_, hook) = w._backward_hooks.values()
    for _ in range(50):
        with pytest.raises(ZeroDivisionError):
            loss.sum().backward(retain_graph=True)
    assert not hook._observer()._active


def test_a_graph_freed_before_its_backward() -> None:
    w = _two()
    loss = (w * w).exp()
    torch.autograd.grad(loss, w)
    graph = tb_gradgraph.capture(loss)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    assert all(view.status != "ok" or view.name in ("loss", "exp") for view in graph)


def test_a_loss_that_is_thrown_away() -> None:
    w = _two()
    graph = tb_gradgraph.capture(w * w)
    assert not w._backward_hooks, "its hooks went with it"
    assert graph["w"].status == "backward has not run yet"


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_deepcopy_and_pickle_while_attached(clone: Callable[[nn.Module], nn.Module]) -> None:
    net = nn.Linear(2, 1)
    loss = net(torch.ones(1, 2)).sum()
    graph = tb_gradgraph.capture(loss)
    twin = clone(net)
    assert not twin.weight._backward_hooks
    twin(torch.ones(1, 2)).sum().backward()
    assert not graph.backward_passes
    loss.backward()
    assert graph["net.weight"].gradient.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad_in_between(set_to_none: bool) -> None:
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(3):
        loss = net(torch.ones(1, 2)).sum()
        graph = tb_gradgraph.capture(loss)
        optimizer.zero_grad(set_to_none=set_to_none)
        loss.backward()
        optimizer.step()
        assert graph["net.weight"].gradient.tolist() == net.weight.grad.tolist() == [[1.0, 1.0]]
