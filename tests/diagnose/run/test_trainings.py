"""Small trainings that went wrong in ways that single steps do not show."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import tb_gradgraph
from tb_gradgraph import RunFinding


def trained(
    logdir: pathlib.Path,
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    steps: Callable[[], Iterator[None]],
    **options: Any,
) -> list[RunFinding]:
    with tb_gradgraph.SummaryWriter(str(logdir)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, strict=True, **options)
        for _ in steps():
            pass
    return tb_gradgraph.findings(logdir)


def test_a_spike_names_the_parameter_that_has_it(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.GELU()) for _ in range(6)]
    net = nn.Sequential(*layers, nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)

    def steps() -> Iterator[None]:
        for step in range(30):
            x = torch.randn(16, 16)
            optimizer.zero_grad()
            loss = cross_entropy(net(x), x[:, :4].argmax(-1))
            if step == 25:
                hook = layers[2][0].weight.register_hook(lambda gradient: gradient * 1500)
            loss.backward()
            if step == 25:
                hook.remove()
            optimizer.step()
            yield

    (found,) = (one for one in trained(tmp_path, net, optimizer, steps) if one.severity != "note")
    assert (found.kind, found.node, found.first_step) == ("gradient_spike", "2.0.weight", 25)


@pytest.mark.parametrize("clips", ["before", "after", "next round"])
def test_a_clip_before_the_backward(tmp_path: pathlib.Path, clips: str) -> None:
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 1e-9)

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        return (net(torch.randn(8, 4)) * 100).pow(2).mean()

    def before() -> Iterator[None]:
        for _ in range(3):
            one = loss()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            one.backward()
            optimizer.step()
            yield

    def after() -> Iterator[None]:
        for _ in range(3):
            loss().backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            yield

    def next_round() -> Iterator[None]:
        for _ in range(3):
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            loss().backward()
            yield

    loops = {"before": before, "after": after, "next round": next_round}
    kinds = {one.kind for one in trained(tmp_path, net, optimizer, loops[clips])}
    assert ("clip_before_backward" in kinds) == (clips == "before")


def test_an_update_that_is_lost_in_bfloat16(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4)).bfloat16()
    optimizer = torch.optim.AdamW(net.parameters(), 6e-4, weight_decay=0.0)

    def steps() -> Iterator[None]:
        for _ in range(20):
            x = torch.randn(32, 16).bfloat16()
            optimizer.zero_grad()
            cross_entropy(net(x).float(), x[:, :4].argmax(-1)).backward()
            optimizer.step()
            yield

    found = trained(tmp_path, net, optimizer, steps)[0]
    assert (net[1].weight == 1).all()
    assert (found.kind, found.node) == ("lost_update", "1.weight") and "bfloat16" in found.text


def test_evaluation_mode_that_is_not_left(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)

    def steps() -> Iterator[None]:
        for step in range(30):
            x = torch.randn(16, 4)
            if step == 12:
                net.eval()
            optimizer.zero_grad()
            (net(x) - x[:, :1]).square().mean().backward()
            optimizer.step()
            yield

    found = trained(tmp_path, net, optimizer, steps)[0]
    assert (found.kind, found.node, found.first_step) == ("batch_norm", "1.weight", 12)
    assert found.measure == "evaluating_modules" and dict(found.numbers)[12] == 1


class OfPixels(nn.Module):
    """Converts pictures of bytes, and forgets to scale them."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale
        self.conv = nn.Conv2d(3, 4, 3)
        self.head = nn.Linear(4, 2)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        x = pictures.float()
        x = x if self.scale == 1 else x * self.scale
        return self.head(self.conv(x).relu().mean((2, 3)))


@pytest.mark.parametrize("scale", [1, 1 / 255])
def test_bytes_that_are_not_scaled(tmp_path: pathlib.Path, scale: float) -> None:
    torch.manual_seed(0)
    net = OfPixels(scale)
    optimizer = torch.optim.SGD(net.parameters(), 1e-5)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, level="op", values=True)
        for _ in range(12):
            pictures = torch.randint(256, (8, 3, 9, 9), dtype=torch.uint8)
            optimizer.zero_grad()
            cross_entropy(net(pictures), pictures[:, 0, 0, 0].long() % 2).backward()
            optimizer.step()
    kinds = {one.kind: one for one in tb_gradgraph.findings(tmp_path)}
    assert ("input_scale" in kinds) == (scale == 1)


def test_a_state_that_begins_at_zero_is_no_blank_input(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    into, cell = nn.Linear(2, 16), nn.Linear(16, 16, bias=False)
    nn.init.orthogonal_(cell.weight, 1.6)

    class Recurrence(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.into, self.cell, self.readout = into, cell, nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            state = x.new_zeros(len(x), 16)
            for moment in self.into(x).unbind(1):
                state = self.cell(state) + moment
            return self.readout(state)

    net = Recurrence()
    optimizer = torch.optim.SGD(net.parameters(), 1e-12)

    def steps() -> Iterator[None]:
        for _ in range(12):
            optimizer.zero_grad()
            net(torch.randn(8, 40, 2)).square().mean().backward()
            optimizer.step()
            yield

    kinds = [found.kind for found in trained(tmp_path, net, optimizer, steps)]
    assert "input_scale" not in kinds and kinds[0] == "exploding"


def test_a_scale_that_collapses_is_told_with_the_origin(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), 1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)

    def steps() -> Iterator[None]:
        for _ in range(30):
            optimizer.zero_grad()
            y = net(torch.randn(4, 3))
            rough = (y - y.detach()).abs().sqrt().sum()
            scaler.scale(y.square().mean() + rough).backward()
            scaler.step(optimizer)
            scaler.update()
            yield

    found = trained(tmp_path, net, optimizer, steps, level="op")[0]
    assert (found.kind, found.node) == ("scale_collapse", "sqrt")
    assert "skipped 30 of 30" in found.text and "the gradient came in finite" in found.text
