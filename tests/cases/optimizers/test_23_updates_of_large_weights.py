"""Case 23: how far a step moved large weights: exact where a copy fits, else estimated, with a spread."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph import CaptureError
from tb_gradgraph.summarize import native
from tb_gradgraph.training.step.weights import WeightReading
from tests.training.loops import Log, small_net

Step = Callable[[nn.Module, int], torch.Tensor]


def _exact(before: torch.Tensor, after: torch.Tensor) -> float:
    wide = torch.complex128 if before.is_complex() else torch.float64
    return float((after.detach().to(wide) - before.to(wide)).norm())


def _train(
    net: nn.Module,
    optimizers: Any,
    loss: Step,
    logdir: pathlib.Path,
    steps: int = 3,
    **options: Any,
) -> tuple[Log, list[dict[str, float]]]:
    """Train watched; give the log and how far plain torch says that each step moved each weight."""
    optimizers = optimizers if isinstance(optimizers, list) else [optimizers]
    true = []
    with tb_gradgraph.SummaryWriter(str(logdir)) as writer:
        writer.watch(net, optimizer=optimizers, every_n_steps=1, **options)
        for step in range(steps):
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss(net, step).backward()
            before = {name: p.detach().clone() for name, p in net.named_parameters()}
            for optimizer in optimizers:
                optimizer.step()
            true.append({n: _exact(before[n], p) for n, p in net.named_parameters()})
    return Log(logdir), true


def _check(log: Log, true: list[dict[str, float]], rel: float = 1e-6) -> None:
    for step, moved in enumerate(true):
        for name, norm in moved.items():
            found = log.tensor(step, "applied", name).statistics
            assert found.update_norm == pytest.approx(norm, rel=rel, abs=1e-30), (step, name)
            assert found.update_spread is None


def _dense(net: nn.Module, step: int) -> torch.Tensor:
    torch.manual_seed(step)
    kind = next(net.parameters()).dtype
    return net(torch.randn(4, 300, dtype=kind)).float().square().mean()


OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "sgd one by one": lambda p: torch.optim.SGD(p, 0.1, foreach=False),
    "adam foreach": lambda p: torch.optim.Adam(p, 1e-3, eps=1e-3, foreach=True),
    "adam fused": lambda p: torch.optim.Adam(p, 1e-3, eps=1e-3, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3, foreach=False),
    "tiny": lambda p: torch.optim.SGD(p, 1e-7),
}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS.keys())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("compiled", [True, False])
def test_exact_of_every_type_and_optimizer(
    make: Any, dtype: torch.dtype, compiled: bool, tmp_path: pathlib.Path, monkeypatch: Any
) -> None:
    """Updates below a weight's rounding are 0, as they are."""
    if not compiled:
        monkeypatch.setenv(native.SWITCH, "0")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(300, 700), nn.Linear(700, 3)).to(dtype)
    _check(*_train(net, make(net.parameters()), _dense, tmp_path, 2))


@pytest.mark.parametrize("sparse", [True, False])
def test_exact_of_a_few_rows(sparse: bool, tmp_path: pathlib.Path) -> None:
    table = nn.Embedding(100_000, 4, sparse=sparse)
    optimizer = torch.optim.SGD(table.parameters(), 0.1)
    _check(*_train(table, optimizer, lambda t, s: t(torch.tensor([1, 1, 2 + s])).sum(), tmp_path))


class Tied(nn.Module):
    """A weight used twice, a view of a larger tensor, one that lies otherwise, a complex one."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(3000, 40)
        self.out = nn.Linear(40, 3000, bias=False)
        self.out.weight = self.table.weight
        self.part = nn.Parameter(torch.randn(2000, 90)[::2, :80])
        self.image = nn.Parameter(torch.randn(9, 80, 11, 11).to(memory_format=torch.channels_last))
        self.waves = nn.Parameter(torch.randn(300, 300, dtype=torch.complex64))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.out(self.table(tokens)).square().mean() + self.part.square().mean()
        return hidden + self.image.sin().sum() + self.waves.abs().square().mean()


def test_exact_of_tied_and_odd_weights_and_two_optimizers(tmp_path: pathlib.Path) -> None:
    net = Tied()
    first = [net.table.weight, net.part]
    optimizers = [torch.optim.Adam(first, 1e-3), torch.optim.SGD([net.image, net.waves], 1e-2)]
    _check(*_train(net, optimizers, lambda n, s: n(torch.arange(s, 50 + s)), tmp_path))


KINDS = {
    "equal rows": lambda n: torch.ones(n),
    "log-normal rows, sigma 1": lambda n: torch.randn(n).exp(),
    "log-normal rows, sigma 2": lambda n: (2 * torch.randn(n)).exp(),
    "one row in a hundred": lambda n: (torch.rand(n) < 0.01).float(),
}


@pytest.mark.parametrize("scale", KINDS.values(), ids=KINDS.keys())
def test_without_room_an_estimate_says_how_far_off_it_is(scale: Any) -> None:
    """Over forty seeds the error is what the spread says; rows that the gradient names are exact."""
    errors, spreads = [], []
    for seed in range(40):
        torch.manual_seed(seed)
        weight = nn.Parameter(torch.randn(2560, 320))
        weight.grad = torch.randn(2560, 320) * scale(2560)[:, None]
        before = weight.detach().clone()
        reading = WeightReading([weight], 0)
        torch.optim.SGD([weight], 1.0).step()
        moved, spread = _read(reading)
        true = _exact(before, weight)
        errors.append((moved - true) / true)
        spreads.append(spread / true)
    assert np.abs(errors).max() < 0.05
    assert np.abs(np.mean(errors)) < 0.01
    z = np.array(errors) / np.maximum(spreads, 1e-6)
    assert np.sqrt(np.mean(z**2)) < 1.7, "errors are what the spreads say"
    if scale is KINDS["one row in a hundred"]:
        assert np.abs(errors).max() < 1e-5


def _read(reading: WeightReading) -> tuple[float, float]:
    from tb_gradgraph.statistics import STATISTICS, StatisticsTable

    reading.finish([0])
    table = StatisticsTable.empty(1)
    reading.write_to(table)
    return tuple(table.values[0, [STATISTICS.index(n) for n in ("update_norm", "update_spread")]])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("gradient", ["none", "sparse", "dense"])
def test_to_estimate_changes_nothing_and_works_for_every_type(
    dtype: torch.dtype, gradient: str
) -> None:
    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(50_000, 2).to(dtype))
    moved = torch.zeros(50_000, 2).to(dtype)
    moved[[3, 40_000]] = 1
    if gradient == "sparse":
        rows = torch.tensor([[3, 40_000, 3]])
        ones = torch.ones(3, 2).to(dtype)
        weight.grad = torch.sparse_coo_tensor(rows, ones, (50_000, 2), check_invariants=True)
    elif gradient == "dense":
        weight.grad = moved.clone()
    before = weight.detach().clone()
    reading = WeightReading([weight], 0)
    assert weight.detach().view(torch.uint8).equal(before.view(torch.uint8))
    with torch.no_grad():
        weight.add_(moved)
    after = weight.detach().clone()
    norm, spread = _read(reading)
    assert weight.detach().view(torch.uint8).equal(after.view(torch.uint8))
    if gradient != "none":  # the rows are named
        assert norm == pytest.approx(_exact(before, weight), rel=1e-5) and spread == 0
    assert not math.isnan(spread)


def test_the_room_goes_to_the_small_ones_first(tmp_path: pathlib.Path) -> None:
    """And a log says which number is an estimate."""
    net = nn.Sequential(nn.Linear(300, 700), nn.Linear(700, 300))
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    log, true = _train(net, optimizer, _dense, tmp_path, 2, update_memory=4 * (300 * 700 + 1000))
    for step, moved in enumerate(true):
        found = {n: log.tensor(step, "applied", n).statistics for n in moved}
        assert found["0.weight"].update_spread is None
        assert found["0.weight"].update_norm == pytest.approx(moved["0.weight"], rel=1e-6)
        estimate = found["1.weight"]
        assert 0 < estimate.update_spread < 0.05 * estimate.update_norm
        assert abs(estimate.update_norm - moved["1.weight"]) < 5 * estimate.update_spread


def test_an_allocation_that_fails_is_no_fault_of_the_step(monkeypatch: Any) -> None:
    weight = nn.Parameter(torch.randn(300, 300).double())
    monkeypatch.setattr(torch.Tensor, "clone", _fail)
    reading = WeightReading([weight])
    monkeypatch.undo()
    moved, spread = _read(reading)
    assert math.isnan(moved) or spread >= 0


def _fail(*_: Any, **__: Any) -> torch.Tensor:
    raise torch.OutOfMemoryError("no memory")


@pytest.mark.parametrize("given", [-1, 1.5, True, "1 MB"])
def test_the_memory_is_a_number_of_bytes(given: Any, tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(CaptureError, match="expected update_memory to be a number of bytes"):
            writer.watch(small_net(), update_memory=given)
