"""Norms of Adam's moments, and the gradient noise scale of micro-batches, compared with plain torch."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.record import read_logdir
from tb_gradgraph.summarize import SWITCH, native_norms
from tb_gradgraph.training.quantities import noise_scale as noise
from tests.training.loops import Bare, run_both, small_net, state_of
from tests.training.quantities.test_norms_and_settings import run, values_of

MOMENTS = ("exp_avg", "exp_avg_sq")


def norms_of(optimizer: torch.optim.Optimizer, tensors: Any) -> dict[str, list[float]]:
    """Compute the norms of the moments of each tensor with plain torch."""
    return {
        f"{name}_norm": [optimizer.state[t][name].double().norm().item() for t in tensors]
        for name in MOMENTS
    }


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.AdamW, torch.optim.RAdam])
def test_moments_by_parameter_and_in_total(
    make: Any, is_native: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, "1" if is_native else "0")
    expected: list[dict[str, list[float]]] = []

    def loop(told: Bare) -> Any:
        net = small_net()
        net.extra = nn.Linear(2, 2).half() if make is torch.optim.Adam else nn.Linear(2, 2)
        optimizer = make(net.parameters(), lr=0.01)
        told.watch(net, optimizer=optimizer)
        for _ in range(3):
            optimizer.zero_grad()
            (net[:3](torch.randn(4, 3)).square().sum() * 100).backward()
            net.extra.weight.grad = torch.full_like(net.extra.weight, 0.5)
            optimizer.step()
            expected.append(norms_of(optimizer, [net[0].weight, net[2].bias]))
            whole = norms_of(optimizer, optimizer.state)
            expected[-1] |= {f"{of}/all": [math.hypot(*norms)] for of, norms in whole.items()}
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path)
    found = values_of(tmp_path)
    for step, norms in enumerate(expected[:3]):
        tensors = [log.tensor(step, "applied", name).statistics for name in ("0.weight", "2.bias")]
        for name in ("exp_avg_norm", "exp_avg_sq_norm"):
            assert [getattr(t, name) for t in tensors] == pytest.approx(norms[name], rel=1e-5)
            assert found[name][step] == pytest.approx(norms[f"{name}/all"][0], rel=1e-3)


def test_sgd_has_none(tmp_path: pathlib.Path) -> None:
    def loop(told: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
        told.watch(net, optimizer=optimizer)
        net(torch.randn(4, 3)).sum().backward()
        optimizer.step()
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path)
    assert "exp_avg_norm" not in values_of(tmp_path)
    found = log.tensor(0, "applied", "0.weight").statistics
    assert (found.exp_avg_norm, found.exp_avg_sq_norm) == (None, None)


def test_two_optimizers_have_one_total(tmp_path: pathlib.Path) -> None:
    net = small_net()
    optimizers = [torch.optim.Adam(part.parameters(), 0.01) for part in (net[0], net[2])]
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizers, every_n_steps=1)
        net(torch.randn(4, 3)).square().sum().backward()
        for optimizer in optimizers:
            optimizer.step()
    whole = [norms_of(optimizer, optimizer.state) for optimizer in optimizers]
    for name in ("exp_avg_norm", "exp_avg_sq_norm"):
        total = math.hypot(*(norm for part in whole for norm in part[name]))
        assert values_of(tmp_path)[name] == [pytest.approx(total, rel=1e-5)]


def test_a_moment_with_nan_has_no_norm_and_its_total_is_nan(tmp_path: pathlib.Path) -> None:
    net = small_net()
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        net(torch.randn(4, 3)).square().sum().backward()
        net[0].bias.grad[0] = math.nan
        optimizer.step()
    assert math.isnan(values_of(tmp_path)["exp_avg_norm"][0])


@pytest.mark.parametrize("state", [None, {}, {"exp_avg": 3}, {"exp_avg": torch.ones(0)}])
def test_odd_states_end_nothing(state: Any, tmp_path: pathlib.Path) -> None:
    class Odd(torch.optim.SGD):
        def step(self, closure: Any = None) -> None:
            for parameter in self.param_groups[0]["params"]:
                self.state[parameter] = state

    net = small_net()
    optimizer = Odd(net.parameters(), 0.1)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        net(torch.randn(4, 3)).sum().backward()
        optimizer.step()
        assert watch.failure is None
    assert values_of(tmp_path).get("exp_avg_norm", [0.0]) == [0.0]


@pytest.mark.parametrize("size", [(), (0,), (1,), (7, 3), (1000, 130)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.half])
def test_compiled_norms(size: tuple[int, ...], dtype: torch.dtype) -> None:
    tensors = [torch.randn(size).to(dtype), torch.ones(2, dtype=torch.float64), torch.ones(3)]
    found, left = native_norms(tensors)
    for place in {0, 1, 2} - {*left}:
        assert found[place] == pytest.approx(tensors[place].double().norm().item(), rel=1e-6)
    assert 1 in left
    assert np.isnan(found[left]).all()


def accumulate(told: Bare, micro_batches: int, before: list[list[torch.Tensor]]) -> Any:
    """Train with micro-batches; keep the gradient of each one in float64."""
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    told.watch(net, optimizer=optimizer)
    for _ in range(3):
        optimizer.zero_grad()
        before.append([])
        for _ in range(micro_batches):
            x = torch.randn(8, 3)
            loss = (net(x) - x[:, :2]).square().mean() / micro_batches
            if type(told) is Bare:  # a watch would take it for another pass
                parts = torch.autograd.grad(loss, list(net.parameters()), retain_graph=True)
                before[-1].append(torch.cat([part.reshape(-1) for part in parts]).double())
            loss.backward()
        optimizer.step()
    return state_of(net)


@pytest.mark.parametrize("micro_batches", [2, 5, 8])
def test_the_noise_scale_of_micro_batches(micro_batches: int, tmp_path: pathlib.Path) -> None:
    gradients: list[list[torch.Tensor]] = []
    run_both(lambda told: accumulate(told, micro_batches, gradients), tmp_path)
    expected = [estimate(parts) for parts in gradients[:3]]
    (run,) = read_logdir(tmp_path)
    applied = [record for record in run.records if record.stage == "applied"]
    assert any(number > 0 for number in expected)
    for record, number in zip(applied, expected):
        if number > 0:
            assert record.quantities["noise_scale"] == pytest.approx(number, rel=1e-3)
        else:
            assert record.quantity_reasons == {"noise_scale": noise.TOO_NOISY}


def estimate(parts: list[torch.Tensor]) -> float:
    """Compute the estimator in the form of the paper; negative if there is no estimate.

    ``|G|^2 = (B |g_B|^2 - b |g_b|^2) / (B - b)`` and ``S = (|g_b|^2 - |g_B|^2) / (1/b - 1/B)``.
    """
    b, big = 1, len(parts)
    mean = torch.stack(parts).mean(0).square().sum()
    each = torch.stack([part.square().sum() for part in parts]).mean()
    signal = (big * mean - b * each) / (big - b)
    covariance = (each - mean) / (1 / b - 1 / big)
    return (covariance / signal).item()


def test_the_estimators_have_no_bias() -> None:
    """Average both parts over many steps of known noise: 40 numbers, G = 1, S = 4 * identity."""
    torch.manual_seed(0)
    signal, covariance = [], []
    for _ in range(2000):
        parts = 1 + 2 * torch.randn(4, 40, dtype=torch.float64)
        mean, each = parts.mean(0).square().sum(), parts.square().sum(1).mean()
        signal.append((4 * mean - each) / 3)
        covariance.append(4 * (each - mean) / 3)
    assert np.mean(signal) == pytest.approx(40, rel=0.02)
    assert np.mean(covariance) == pytest.approx(160, rel=0.02)


def reasons(logdir: pathlib.Path, loop: Any) -> list[str | None]:
    run(logdir, loop)
    (found,) = read_logdir(logdir)
    last = [record for record in found.records if record.stage == "applied"]
    assert all("noise_scale" not in record.quantities for record in last)
    return [record.quantity_reasons.get("noise_scale") for record in last]


def test_two_losses_are_no_micro_batches(tmp_path: pathlib.Path) -> None:
    def loop(told: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.01)
        told.watch(net, optimizer=optimizer)
        x = torch.randn(4, 3)
        first = net(x).square().mean()
        first.backward()
        second = net(x).abs().sum()
        second.backward()
        optimizer.step()
        return state_of(net)

    assert reasons(tmp_path, loop) == [noise.DIFFERENT]


def test_gradients_that_were_left_are_no_part_of_the_step(tmp_path: pathlib.Path) -> None:
    def loop(told: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.01)
        net(torch.ones(4, 3)).sum().backward()
        told.watch(net, optimizer=optimizer)
        for _ in range(2):
            net(torch.randn(4, 3)).sum().backward()
        optimizer.step()
        return state_of(net)

    assert reasons(tmp_path, loop) == [noise.NOT_CLEARED]


def test_gradients_that_are_not_finite(tmp_path: pathlib.Path) -> None:
    def loop(told: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.01)
        told.watch(net, optimizer=optimizer)
        for factor in (1.0, math.inf):
            (net(torch.ones(4, 3)).sum() * factor).backward()
        optimizer.step()
        return state_of(net)

    assert reasons(tmp_path, loop) == [noise.NOT_FINITE]


def test_zeroed_gradients_count_as_cleared(tmp_path: pathlib.Path) -> None:
    def loop(told: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 1e-6)
        told.watch(net, optimizer=optimizer)
        for _ in range(2):
            optimizer.zero_grad(set_to_none=False)
            for _ in range(2):
                net(torch.rand(64, 3)).square().sum().backward()
            optimizer.step()
        return state_of(net)

    assert len(run(tmp_path, loop)["noise_scale"]) == 2


def test_one_pass_says_nothing(tmp_path: pathlib.Path) -> None:
    def loop(told: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.01)
        told.watch(net, optimizer=optimizer)
        net(torch.randn(4, 3)).sum().backward()
        optimizer.step()
        return state_of(net)

    assert reasons(tmp_path, loop) == [None]
