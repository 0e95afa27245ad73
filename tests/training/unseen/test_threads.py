"""Backward passes of several threads at once: over one model they are left out, over two recorded."""

from __future__ import annotations

import contextlib
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.training.loops import Log, assert_gradient, small_net

LONGEST = 60  # seconds that a thread is waited for


class _Waiting(torch.autograd.Function):
    """Says that its backward runs, and waits there."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, begun: Any, may_end: Any) -> torch.Tensor:
        ctx.begun, ctx.may_end = begun, may_end
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        ctx.begun.set()
        assert ctx.may_end.wait(LONGEST)
        return gradient, None, None


@contextlib.contextmanager
def _running_backward(net: nn.Module) -> Iterator[None]:
    """Have another thread be in the midst of a backward through ``net`` in the block."""
    begun, may_end = threading.Event(), threading.Event()

    def run() -> None:
        _Waiting.apply(net(torch.ones(4, 3)), begun, may_end).sum().backward()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert begun.wait(LONGEST)
        yield
    finally:
        may_end.set()
        thread.join(LONGEST)
    assert not thread.is_alive()


def _backward(net: nn.Module) -> None:
    net(torch.ones(2, 3)).sum().backward()


def _twice(net: nn.Module) -> list[torch.Tensor | None]:
    """Return the sum of the gradients of both passes."""
    net.zero_grad()
    (net(torch.ones(4, 3)).sum() + net(torch.ones(2, 3)).sum()).backward()
    return [parameter.grad for parameter in net.parameters()]


def test_a_pass_that_another_thread_joins_is_left_out(tmp_path: pathlib.Path) -> None:
    net = small_net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        found = writer.watch(net, every_n_steps=1)
        with _running_backward(net):
            _backward(net)
        assert all(parameter._backward_hooks is None for parameter in net.parameters())
        grads = [parameter.grad for parameter in net.parameters()]
        with pytest.warns(
            UserWarning, match="1 backward passes were left out, because another thread"
        ):
            found.close()
    for own, expected in zip(grads, _twice(net), strict=True):
        torch.testing.assert_close(own, expected)


def test_a_pass_that_begins_while_another_thread_runs_is_left_out(tmp_path: pathlib.Path) -> None:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=2)
        _backward(net)
        optimizer.step()
        optimizer.zero_grad()
        with _running_backward(net):  # of step 1, which is not recorded
            optimizer.step()
            _backward(net)
        optimizer.step()
        optimizer.step()
        _backward(net)
        optimizer.step()
    assert [place[0] for place in Log(tmp_path).places if place[1] == "backward"] == [0, 4]


def test_hooks_of_a_leaf_are_taken_away_when_no_thread_runs_over_it(tmp_path: pathlib.Path) -> None:
    net = small_net()
    _backward(net)  # gradients there are: those to come are read by hooks on the leaves
    weight = net[0].weight
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        found = writer.watch(net, every_n_steps=1)
        loss = net(torch.ones(2, 3)).sum()
        others: list[Any] = []

        def join(_: torch.Tensor) -> None:
            """From within our backward, have another thread begin one that outlasts it."""
            context = _running_backward(net)
            context.__enter__()
            others.append(context)

        loss.register_hook(join)
        loss.backward()
        assert weight._backward_hooks is not None and not weight._backward_hooks
        others.pop().__exit__(None, None, None)
        assert weight._backward_hooks is None
        with pytest.warns(UserWarning, match="left out"):
            found.close()


def test_threads_with_a_net_each_are_both_recorded(tmp_path: pathlib.Path) -> None:
    nets = [small_net(), small_net()]
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        for place, net in enumerate(nets):
            writer.watch(net, every_n_steps=1, tag=str(place))
        with _running_backward(nets[0]):
            _backward(nets[1])
    for place, net in enumerate(nets):
        log = Log(tmp_path, str(place))
        assert log.places == [(0, "backward", 0)]
        for name, parameter in net.named_parameters():
            assert_gradient(log.tensor(0, "backward", name), parameter.grad, name)
