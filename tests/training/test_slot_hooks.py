"""Hooks on slots, from the second pass over a graph on, read what hooks on nodes read at the first."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.summarize.native import NativeReducer, is_available
from tests.logged import read_one_run, read_tensor
from tests.training.loops import Bare, Log, run_both

pytestmark = pytest.mark.skipif(not is_available(), reason="needs compiled code")


class Net(nn.Module):
    """Nodes of one slot and of several, a slot that is not used, and a custom Function."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.last = nn.LSTMCell(3, 4), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.cell(x)
        low, _, high = hidden.sort(dim=1).values.split([1, 1, 2], dim=1)
        return Double.apply(self.last(hidden)) + low.exp() * high.cos()


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return 2 * gradient


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many hooks on slots each pass put."""
    counts = []
    original = NativeReducer.hook_slots

    def counted(*arguments: Any) -> Any:
        found = original(*arguments)
        counts.append(len(found[0]))
        return found

    monkeypatch.setattr(NativeReducer, "hook_slots", counted)
    return counts


def _loop(run: Bare, add_hooks: Any, **backward: Any) -> Any:
    net = Net()
    x = torch.randn(5, 3)
    run.watch(net)
    kept = []
    for _ in range(4):
        out = net(x)
        add_hooks(out)
        loss = out.square().mean()
        loss.backward(**backward)
        kept.append(loss)
        net.zero_grad()
    return [parameter.detach() for parameter in net.parameters()], kept


def _assert_alike(log: Log) -> None:
    first, *later = [record for record in log.records if record.stage == "backward"]
    assert first.table.present.sum() > 10 and len(later) == 3
    for record in later:
        assert record.table.present.tolist() == first.table.present.tolist()
        np.testing.assert_allclose(record.table.values, first.table.values, 1e-6)
        assert record.table.histogram.tolist() == first.table.histogram.tolist()


@pytest.mark.parametrize("retain_graph", [False, True])
def test_every_pass_gives_the_same_numbers(
    retain_graph: bool, put: list[int], tmp_path: pathlib.Path
) -> None:
    def loop(run: Bare) -> Any:
        return _loop(run, lambda _: None, retain_graph=retain_graph)

    _assert_alike(run_both(loop, tmp_path, level="op"))
    assert len(put) == 3 and min(put) > 10


def test_hooks_of_the_user_have_run_before(put: list[int], tmp_path: pathlib.Path) -> None:
    """Of a tensor, of a node, and of a module, whose hook torch calls at the node of a Function."""

    def loop(run: Bare) -> Any:
        def add(out: torch.Tensor) -> None:
            out.register_hook(lambda gradient: 3 * gradient)
            (product,) = [node for node, _ in out.grad_fn.next_functions if "Mul" in node.name()]
            product.register_prehook(lambda gradients: (5 * gradients[0],))

        return _loop(run, add)

    log = run_both(loop, tmp_path, level="op")
    _assert_alike(log)
    assert len(put) == 3
    record = log.records[-1]
    graph = log.graph(record)
    last = {node.operation[:3]: row for node, row in zip(graph.nodes, graph.slot_offsets.tolist())}
    norms = {name: record.table.row(last[name]).l2_norm for name in ("Add", "Mul")}
    assert norms["Mul"] == pytest.approx(5 * norms["Add"])


def test_a_mode_of_the_user_notices_nothing(put: list[int], tmp_path: pathlib.Path) -> None:
    seen: list[Any] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, level="op", every_n_steps=1)
        for _ in range(3):
            loss = net(torch.ones(2, 3)).sum()
            with Mode():
                loss.backward()
            net.zero_grad()
    assert len(put) == 2 and "__set__" not in seen and "_backward_hooks" not in " ".join(seen)


def test_a_graph_that_is_kept_has_no_hooks_left(put: list[int], tmp_path: pathlib.Path) -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    losses = []
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, level="op", every_n_steps=1)
        for _ in range(3):
            losses.append(net(torch.ones(2, 3)).sum())
            losses[-1].backward(retain_graph=True)
            net.zero_grad()
    before = read_one_run(tmp_path)
    for loss in losses:
        loss.backward()
    after = read_one_run(tmp_path)
    assert len(put) == 2 and len(before.records) == len(after.records)
    assert read_tensor(after, after.records[-1], "0.weight").statistics is not None
