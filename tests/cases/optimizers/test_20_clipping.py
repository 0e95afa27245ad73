"""Case 20: gradients before and after clipping, both recorded and labelled."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.loops import Bare, run_both, small_net, state_of, training


def _clipped(clip: Callable[[Any], Any], factor: float = 1.0) -> Any:
    def step_of(run: Bare, step: int, net: nn.Module, _: Any) -> None:
        (net(torch.randn(4, 3)).square().mean() * factor).backward()
        run.note(step, "backward", net)
        clip(net.parameters())
        run.note(step, "clipped", net)
        run.note(step, "applied", net)

    return training(2, step_of, weighs=True)


def _by_norm(parameters: Any) -> None:
    nn.utils.clip_grad_norm_(parameters, 0.01)


def _by_norm_one_by_one(parameters: Any) -> None:
    nn.utils.clip_grad_norm_(parameters, 0.01, foreach=False)


def _by_value(parameters: Any) -> None:
    nn.utils.clip_grad_value_(parameters, 1e-3)


def _by_hand(parameters: Any) -> None:
    for parameter in parameters:
        parameter.grad.clamp_(-1e-3, 1e-3)


def _by_a_new_tensor(parameters: Any) -> None:
    for parameter in parameters:
        parameter.grad = parameter.grad * 0.01


def _behind_torchs_back(parameters: Any) -> None:
    for parameter in parameters:
        parameter.grad.data.clamp_(-1e-3, 1e-3)


@pytest.mark.parametrize("level", ["param", "module", "op"])
@pytest.mark.parametrize(
    "clip",
    [_by_norm, _by_norm_one_by_one, _by_value, _by_hand, _by_a_new_tensor, _behind_torchs_back],
)
def test_before_and_after(clip: Callable[[Any], Any], level: str, tmp_path: pathlib.Path) -> None:
    log = run_both(_clipped(clip), tmp_path, level=level)
    stages = ["backward", "clipped", "applied"]
    assert log.places == [(step, stage, 0) for step in range(2) for stage in stages]


def test_clipping_that_changes_nothing_is_not_called_so(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        net(torch.randn(4, 3)).square().mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1e6)
        run.note(0, "backward", net)
        run.note(0, "applied", net)
        optimizer.step()
        return state_of(net)

    assert run_both(loop, tmp_path).places == [(0, "backward", 0), (0, "applied", 0)]


def test_four_hundred_before_and_one_after(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = nn.Linear(16, 1, bias=False)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer, level="op")
        (net(torch.ones(1, 16)).sum() * 100).backward()
        total = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        assert total == 400.0
        optimizer.step()
        return state_of(net)

    log = run_both(loop, tmp_path)
    norms = {
        stage: log.tensor(0, stage, "weight").statistics.l2_norm
        for stage in ("backward", "clipped", "applied")
    }
    assert norms == {"backward": 400.0, "clipped": pytest.approx(1), "applied": pytest.approx(1)}
    output = log.tensor(0, "backward", "mm")
    assert output.gradient.tolist() == [[100.0]], "node values are the raw backward values"
