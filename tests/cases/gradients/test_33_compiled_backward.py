"""Case 33: a backward that is compiled itself takes nothing of ours in; what it hides is said."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.diagnose import findings
from tests.training.loops import Bare, assert_bit_equal, run_both, state_of

torch_compiler = pytest.importorskip("torch._dynamo.compiled_autograd")
UNREAD = "not read: the backward was compiled"

# torch's own, of what it saves for the backward that it compiles.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")


class Counted:
    """Compiles each backward as one graph, and counts."""

    def __init__(self) -> None:
        self.graphs: list[int] = []

    def __call__(self, graph: torch.fx.GraphModule) -> Any:
        def note(module: torch.fx.GraphModule, _inputs: Any) -> Any:
            self.graphs.append(len(module.graph.nodes))
            return module.forward

        return torch.compile(graph, backend=note, fullgraph=True)

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        enable = getattr(torch_compiler, "_enable", None) or torch_compiler.enable
        with enable(self):
            yield


@pytest.fixture(autouse=True)
def compiled_anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 2))


@pytest.mark.parametrize("level", ["param", "module", "op"])
def test_training_under_a_compiled_backward(level: str, tmp_path: pathlib.Path) -> None:
    compiled: list[Counted] = []

    def loop(run: Bare) -> Any:
        torch._dynamo.reset()
        net, backward = _net(), Counted()
        compiled.append(backward)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        watch = run.watch(net, optimizer=optimizer, level=level)
        for step in range(3):
            optimizer.zero_grad()
            with backward.on():
                net(torch.randn(3, 4)).square().mean().backward()
            run.note(step, "backward", net)
            run.note(step, "applied", net)
            with run.stepping(step, net):
                optimizer.step()
        assert watch is None or watch.failure is None
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path, level=level)
    assert compiled[0].graphs == compiled[1].graphs and compiled[0].graphs
    record = log.record(0, "backward")
    graph = log.graph(record)
    unread = {
        node.name
        for node, first, end in zip(graph.nodes, graph.slot_offsets, graph.slot_offsets[1:])
        if any(row in record.unread for row in range(first, end))
    }
    assert set(record.unread.values()) <= {UNREAD}
    assert bool(unread) == (level != "param")
    assert not unread & {node.name for node in graph.nodes if node.kind == "parameter"}
    kinds = [one.kind for one in findings(graph, record.table, unread=record.unread)]
    assert kinds.count("not_read") == bool(unread) and "no_gradient" not in kinds


def test_what_adds_up_is_read_and_what_one_pass_gave_is_said_to_be_unknown(
    tmp_path: pathlib.Path,
) -> None:
    def loop(run: Bare) -> Any:
        net = _net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer, level="op")
        optimizer.zero_grad()
        with Counted().on():
            for _ in range(2):
                net(torch.randn(3, 4)).square().mean().backward()
        run.note(0, "accumulated", net, number=1)
        with run.stepping(0, net):
            optimizer.step()
        net(torch.randn(3, 4)).square().mean().backward()  # and as it is, it is read again
        optimizer.step()
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path)
    second = log.record(0, "backward", 1)
    row = next(
        int(first)
        for node, first in zip(log.graph(second).nodes, log.graph(second).slot_offsets)
        if node.name == "0.weight"
    )
    assert second.unread[row] == UNREAD and not second.table.present[row]
    assert not log.record(1, "backward").unread
    assert log.record(1, "backward").table.present.sum() > second.table.present.sum()


def test_an_autograd_grad_is_recorded_as_one_that_was_not_read(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = _net()
        run.watch(net, level="op")
        with Counted().on():
            return torch.autograd.grad(net(torch.ones(3, 4)).sum(), list(net.parameters()))

    (record,) = run_both(loop, tmp_path).records
    assert not record.table.present.any() and set(record.unread.values()) == {UNREAD}


def test_hooks_on_a_loss_make_way(tmp_path: pathlib.Path) -> None:
    grads = []
    for captures in (False, True):
        torch._dynamo.reset()
        net, backward = _net(), Counted()
        loss = net(torch.ones(3, 4)).square().sum()
        if captures:
            graph = tb_gradgraph.capture(loss)
        expected = pytest.warns(UserWarning, match="the backward is compiled")
        with expected if captures else contextlib.nullcontext(), backward.on():
            loss.backward()
        grads.append([backward.graphs, [parameter.grad for parameter in net.parameters()]])
    assert_bit_equal(grads[1], grads[0])
    assert graph.backward_passes == []


def test_a_capture_runs_its_own_backward_uncompiled() -> None:
    net, backward = _net(), Counted()
    expected = tb_gradgraph.capture(net, torch.ones(3, 4))
    with backward.on():
        graph = tb_gradgraph.capture(net, torch.ones(3, 4))
    assert backward.graphs == []
    assert_bit_equal(
        torch.from_numpy(graph.backward_passes[0].table.values),
        torch.from_numpy(expected.backward_passes[0].table.values),
    )


def test_listening_ends_with_the_first_backward():
    """Although the graph lives on, and no other backward begins."""
    before = torch.autograd._engine_run_backward
    net = nn.Linear(2, 1)
    loss = net(torch.ones(1, 2)).sum()
    graph = tb_gradgraph.capture(loss)
    assert torch.autograd._engine_run_backward is not before
    loss.backward(retain_graph=True)
    assert torch.autograd._engine_run_backward is before
    assert graph["net.bias"].gradient.tolist() == [1]
