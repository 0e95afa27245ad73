"""Case 17: activation checkpointing, reentrant and not, with a shared weight."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import tb_gradgraph
from tests.training.loops import Bare, run_both, state_of


class Twice(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.kind = kind

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.kind == "none":
            return self.lin(self.lin(x)).square().sum()
        inside = checkpoint(self.lin, x, use_reentrant=self.kind == "reentrant")
        return self.lin(inside).square().sum()


@pytest.mark.parametrize("kind", ["reentrant", "not reentrant"])
def test_the_numbers_are_those_without_checkpointing(kind: str) -> None:
    found = {}
    for each in ("none", kind):
        torch.manual_seed(0)
        model = Twice(each)
        x = torch.ones(2, 3, requires_grad=True)
        found[each] = tb_gradgraph.capture(model, x)
        assert model.lin.weight.grad is None and x.grad is None
    assert [scope.call for scope in found[kind].scopes if scope.path == "lin"] == [0, 1]
    for name in ("lin.weight", "lin.bias", "x", "lin#1/addmm", "output"):
        ours, plain = found[kind][name].gradient, found["none"][name].gradient
        np.testing.assert_allclose(ours, plain, rtol=1e-6)


def test_accumulated_gradients_and_their_hooks_are_as_before() -> None:
    model = Twice("reentrant")
    fired: list[torch.Tensor] = []
    model.lin.weight.register_post_accumulate_grad_hook(fired.append)
    model.lin.weight.grad = given = torch.full((3, 3), 5.0)
    tb_gradgraph.capture(model, torch.ones(2, 3, requires_grad=True))
    assert model.lin.weight.grad is given and given.tolist() == torch.full((3, 3), 5.0).tolist()
    assert model.lin.bias.grad is None and not fired
    assert len(model.lin.weight._post_accumulate_grad_hooks) == 1


@pytest.mark.parametrize("kind", ["none", "reentrant", "not reentrant"])
@pytest.mark.parametrize("level", ["param", "module", "op"])
def test_a_training_with_checkpoints(kind: str, level: str, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = Twice(kind)
        optimizer = torch.optim.SGD(net.parameters(), 0.01)
        run.watch(net, optimizer=optimizer)
        for step in range(3):
            optimizer.zero_grad()
            net(torch.ones(2, 3, requires_grad=True)).backward()
            run.note(step, "backward", net)
            run.note(step, "applied", net)
            optimizer.step()
        return state_of(net)

    log = run_both(loop, tmp_path, level=level)
    assert log.places == [(s, stage, 0) for s in range(3) for stage in ("backward", "applied")]
    calls = [scope.call for scope in log.graph(log.records[0]).scopes if scope.path == "lin"]
    assert calls == [0, 1]
