"""Gradient norms of each stage, clip factors and settings of groups, compared with plain torch."""

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
from tb_gradgraph.quantities import series_of, total_of
from tb_gradgraph.record import read_logdir
from tests.training.loops import Bare, run_both, small_net, state_of

Values = dict[str, list[float]]


def values_of(logdir: pathlib.Path) -> Values:
    """Return the numbers of each quantity over the steps."""
    records = [record for run in read_logdir(logdir) for record in run.records]
    return {name: [p.value for p in points] for name, points in series_of(records).items()}


def run(logdir: pathlib.Path, loop: Callable[[Bare], Any], **options: Any) -> Values:
    run_both(loop, logdir, **options)
    return values_of(logdir)


def norm_of(net: nn.Module) -> float:
    """Compute the norm of all gradients together with plain torch."""
    found = [p.grad.double() for p in net.parameters() if p.grad is not None]
    return nn.utils.get_total_norm(found).item()


def test_norms_and_the_clip_factor_are_those_of_torch(tmp_path: pathlib.Path) -> None:
    before, after = [], []

    def loop(told: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        told.watch(net, optimizer=optimizer)
        for step in range(5):
            optimizer.zero_grad()
            (net(torch.randn(4, 3)).square().sum() * (0.01, 10, 0.01, 1, 0.01)[step]).backward()
            before.append(norm_of(net))
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            after.append(norm_of(net))
            optimizer.step()
        return state_of(net)

    found = run(tmp_path, loop)
    before, after = before[:5], after[:5]
    clipped = [step for step in range(5) if after[step] < before[step] * 0.999]
    assert clipped == [1, 3]
    assert found["grad_norm/backward"] == pytest.approx(before, rel=1e-5)
    assert found["grad_norm/applied"] == pytest.approx(after, rel=1e-5)
    assert found["grad_norm/clipped"] == pytest.approx([after[step] for step in clipped], rel=1e-5)
    factors = [after[step] / before[step] for step in range(1, 5)]  # from the first clipped step on
    assert found["clip_factor"] == pytest.approx(factors, rel=1e-4)
    assert [found["clip_factor"][at] for at in (1, 3)] == [1, 1]


def test_a_tied_parameter_counts_once(tmp_path: pathlib.Path) -> None:
    norms = []

    def loop(told: Bare) -> Any:
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
        net[2].weight = net[0].weight
        told.watch(net)
        net(torch.randn(4, 3)).sum().backward()
        norms.append(norm_of(net))
        return state_of(net)

    assert run(tmp_path, loop)["grad_norm/backward"] == pytest.approx(norms[:1], rel=1e-5)


def test_micro_batches_and_what_they_add_up_to(tmp_path: pathlib.Path) -> None:
    parts, sums, losses = [], [], []

    def loop(told: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        told.watch(net, optimizer=optimizer)
        for _ in range(2):
            optimizer.zero_grad()
            for _ in range(3):
                kept = [p.grad.clone() if p.grad is not None else 0 for p in net.parameters()]
                loss = net(torch.randn(4, 3)).square().mean() / 3
                loss.backward()
                added = [p.grad - before for p, before in zip(net.parameters(), kept)]
                parts.append(torch.cat([part.reshape(-1) for part in added]).norm().item())
                losses.append(loss.item())
            sums.append(norm_of(net))
            optimizer.step()
        return state_of(net)

    found = run(tmp_path, loop)
    assert found["grad_norm/backward"] == pytest.approx(parts[:6], rel=1e-4)
    assert found["grad_norm/accumulated"] == pytest.approx(sums[:2], rel=1e-5)
    assert found["grad_norm/applied"] == pytest.approx(sums[:2], rel=1e-5)
    assert found["loss"] == pytest.approx(losses[:6], rel=1e-6)
    assert "clip_factor" not in found


@pytest.mark.parametrize("bad", [(math.nan,), (math.inf,), (-math.inf,), (math.inf, math.nan)])
def test_norms_are_not_finite_where_an_element_is_not_and_there_is_no_clip_factor(
    bad: tuple[float, ...], tmp_path: pathlib.Path
) -> None:
    norms = []

    def loop(told: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        told.watch(net, optimizer=optimizer)
        net(torch.randn(4, 3)).square().sum().backward()
        for column, number in enumerate(bad):
            net[0].weight.grad[0, column] = number
        norms.append(norm_of(net))
        for parameter in net.parameters():
            parameter.grad.mul_(0.01)
        optimizer.step()
        return state_of(net)

    found = run(tmp_path, loop)
    assert not math.isfinite(norms[0])
    for stage in ("applied", "clipped"):
        assert found[f"grad_norm/{stage}"] == pytest.approx(norms[:1], nan_ok=True)
    assert math.isfinite(found["grad_norm/backward"][0])
    assert "clip_factor" not in found


def test_a_scalers_factor_is_divided_out(tmp_path: pathlib.Path) -> None:
    norms, losses = [], []
    torch.manual_seed(0)
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for _ in range(2):
            optimizer.zero_grad()
            loss = net(torch.randn(4, 3)).square().mean()
            losses.append(loss.item())
            scaler.scale(loss).backward()
            norms.append(norm_of(net) / 1024)
            scaler.step(optimizer)
            scaler.update()
    found = values_of(tmp_path)
    assert found["grad_norm/backward"] == pytest.approx(norms, rel=1e-5)
    assert found["grad_norm/unscaled"] == pytest.approx(norms, rel=1e-5)
    assert found["loss"] == pytest.approx(losses, rel=1e-6)


def test_settings_follow_a_scheduler_and_are_named_by_group(tmp_path: pathlib.Path) -> None:
    net = small_net()
    groups = [
        {"params": net[0].parameters(), "name": "first, layer", "momentum": 0.5},
        {"params": net[2].parameters(), "lr": torch.tensor(0.25), "weight_decay": 0.125},
    ]
    optimizer = torch.optim.SGD(groups, lr=0.5)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).sum().backward()
            optimizer.step()
            scheduler.step()
    found = values_of(tmp_path)
    assert found["lr/first_ layer"] == [0.5, 0.25, 0.125]
    assert found["lr/1"] == [0.25, 0.125, 0.0625]
    assert found["weight_decay/first_ layer"] == [0, 0, 0]
    assert found["weight_decay/1"] == [0.125] * 3
    assert (found["momentum/first_ layer"], found["momentum/1"]) == ([0.5] * 3, [0, 0, 0])


def test_settings_of_several_optimizers_begin_with_the_class(tmp_path: pathlib.Path) -> None:
    net = small_net()
    optimizers = [
        torch.optim.Adam(net[0].parameters(), 0.1, betas=(0.75, 0.9)),
        torch.optim.Adam([net[2].weight], 0.2),
        torch.optim.SGD([net[2].bias], 0.3),
    ]
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizers, every_n_steps=1)
        net(torch.randn(4, 3)).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
    found = values_of(tmp_path)
    rates = {name: values for name, values in found.items() if name.startswith("lr/")}
    assert rates == {"lr/Adam/0": [0.1], "lr/Adam#1/0": [0.2], "lr/SGD/0": [0.3]}
    assert found["momentum/Adam/0"] == [0.75]


def test_odd_settings_end_nothing(tmp_path: pathlib.Path) -> None:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    optimizer.param_groups[0].update(name="\n", momentum=0, betas="ab", weight_decay=0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        net(torch.randn(4, 3)).sum().backward()
        optimizer.param_groups[0]["lr"] = torch.tensor(0.5, dtype=torch.bfloat16)
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 10**400
        net(torch.randn(4, 3)).sum().backward()
        with pytest.raises(OverflowError):
            optimizer.step()
        assert watch.failure is None
    assert values_of(tmp_path)["lr/_"] == [0.5]


def test_without_an_optimizer_there_are_norm_and_loss_alone(tmp_path: pathlib.Path) -> None:
    def loop(told: Bare) -> Any:
        net = small_net()
        told.watch(net)
        net(torch.randn(4, 3)).sum().backward()
        net(torch.randn(4, 3)).backward(torch.ones(4, 2))
        return state_of(net)

    found = run(tmp_path, loop)
    assert found.keys() == {"grad_norm/backward", "loss"}
    assert [len(values) for values in found.values()] == [2, 1]


def test_a_captured_graph_has_a_norm(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net, x = small_net(), torch.randn(4, 3)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.add_grad_graph(net, x, loss_fn=lambda y: y.square().sum())
        unowned = torch.ones(2, requires_grad=True).sum()
        writer.add_grad_graph(unowned, tag="tensors")
        unowned.backward()  # no parameter of a model: it has no norm
    net(x).square().sum().backward()
    assert values_of(tmp_path)["grad_norm/backward"] == pytest.approx([norm_of(net)], rel=1e-5)


@pytest.mark.parametrize(
    ("norms", "total"),
    [
        ([3.0, 4.0], 5.0),
        ([3e200, 4e200, math.nan], 5e200),
        ([3e-200, 4e-200], 5e-200),
        ([], 0.0),
        ([math.nan], 0.0),
        ([0.0], 0.0),
        ([math.inf, 1.0], math.inf),
    ],
)
def test_totals_of_any_size(norms: list[float], total: float) -> None:
    assert total_of(np.array(norms)) == pytest.approx(total, rel=1e-15)
