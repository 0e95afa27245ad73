"""Memory of weights and gradients that is given back, swapped or resized while they are watched."""

from __future__ import annotations

import functools
import pathlib
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.loops import Bare, run_both, small_net

reduced_by = pytest.mark.parametrize("native", ["1", "0"], ids=["compiled", "torch"])


def _shard(optimizer: torch.optim.Optimizer, weight: torch.Tensor) -> None:
    """Give back a weight's memory whenever the optimizer has stepped, and take it again before."""
    kept: list[torch.Tensor] = []

    def give(*_: Any) -> None:
        kept.append(weight.detach().clone())
        weight.untyped_storage().resize_(0)

    def take(*_: Any) -> None:
        if kept:
            weight.untyped_storage().resize_(kept[-1].untyped_storage().nbytes())
            weight.detach().copy_(kept.pop())

    optimizer.register_step_pre_hook(take)
    optimizer.register_step_post_hook(give)


@reduced_by
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_weight_whose_memory_is_given_back(
    native: str, dtype: torch.dtype, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_GRADGRAPH_NATIVE", native)

    def loop(at: Bare) -> Any:
        net = small_net().to(dtype)
        extra, unused = (nn.Parameter(torch.ones(300, dtype=dtype)) for _ in range(2))
        unused.untyped_storage().resize_(0)
        optimizer = torch.optim.SGD([extra, unused, *net.parameters()], 0.1)
        _shard(optimizer, extra)
        at.watch(net, optimizer=optimizer)
        for step in range(2):
            optimizer.zero_grad()
            net(torch.randn(2, 3, dtype=dtype)).sum().backward()
            at.note(step, "applied", net)
            with at.stepping(step, net):
                optimizer.step()
        return list(net.parameters())

    assert [place[:2] for place in run_both(loop, tmp_path).places] == [
        (step, stage) for step in (0, 1) for stage in ("backward", "applied")
    ]


@reduced_by
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_gradient_whose_memory_is_given_back(
    native: str, dtype: torch.dtype, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as it was used, and ``.grad`` when the optimizer has stepped."""
    monkeypatch.setenv("TB_GRADGRAPH_NATIVE", native)

    def free(_: Any, given: Any) -> None:
        given[0].untyped_storage().resize_(0)

    def loop(at: Bare) -> Any:
        net = nn.Sequential(nn.Linear(30, 200), nn.Tanh(), nn.Linear(200, 300)).to(dtype)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        at.watch(net, optimizer=optimizer)
        for step in range(3):
            hidden = net[1](net[0](torch.randn(40, 30, dtype=dtype)))
            hidden.grad_fn.register_hook(free)
            net[2](hidden).square().sum().backward()
            at.note(step, "backward", net)
            with at.stepping(step, net):
                optimizer.step()
            for parameter in net.parameters():
                parameter.grad.untyped_storage().resize_(0)
            optimizer.zero_grad()
        return list(net.parameters())

    run_both(loop, tmp_path)


@reduced_by
def test_a_weight_that_is_replaced_by_one_of_another_shape(
    native: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_GRADGRAPH_NATIVE", native)

    def grow(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        weight = optimizer.param_groups[0]["params"][0]
        weight.data = torch.cat([weight.data, weight.data])

    def loop(at: Bare) -> Any:
        net = nn.Module()
        net.weight = nn.Parameter(torch.ones(5))
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        optimizer.register_step_post_hook(grow)
        at.watch(net, optimizer=optimizer)
        for _ in range(3):
            optimizer.zero_grad()
            net.weight.square().sum().backward()
            optimizer.step()
        return net.weight

    log = run_both(loop, tmp_path)
    for step in range(3):
        found = log.tensor(step, "applied", "weight").statistics
        assert found is not None and found.weight_norm and found.update_norm is None


def test_passes_within_vmap_are_left_out(tmp_path: pathlib.Path) -> None:
    def loop(at: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        at.watch(net, optimizer=optimizer)
        found = []
        for step in range(2):
            optimizer.zero_grad()
            output, weights = net(torch.randn(3)), list(net.parameters())
            found += torch.autograd.grad(
                output, weights, torch.eye(2), is_grads_batched=True, retain_graph=True
            )
            grad = functools.partial(torch.autograd.grad, output, weights, retain_graph=True)
            found += torch.vmap(grad)(torch.eye(2))
            output.sum().backward()
            at.note(step, "backward", net)
            optimizer.step()
        return found

    assert run_both(loop, tmp_path).places == [
        (step, stage, 0) for step in (0, 1) for stage in ("backward", "applied")
    ]
