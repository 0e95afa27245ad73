"""No number is read back from a device while a step is recorded."""

from __future__ import annotations

import pathlib

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.logged import read_one_run
from tests.summarize.forbid import ForbidWaiting


@pytest.mark.parametrize("level", ["param", "module", "op"])
def test_recorded_steps_wait_for_nothing(level: str, tmp_path: pathlib.Path) -> None:
    net = nn.Sequential(nn.Linear(300, 500), nn.ReLU(), nn.Linear(500, 2))  # large and small ones
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        net(torch.randn(300, 300)).square().mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.01)
        optimizer.step()

    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level)
        for _ in range(3):
            step()  # builds the graph and compares what is to be shared, once
        with ForbidWaiting():  # which cannot see a copy from CPU to CPU
            for _ in range(10):
                step()
        assert watch.failure is None
    steps = {record.step for record in read_one_run(tmp_path).records}
    assert steps == set(range(13))


def test_nor_where_gradients_are_cleared_to_zero(tmp_path: pathlib.Path) -> None:
    """The place that makes records reads whether a gradient left by another net's loss is zero by now."""
    net, generator = nn.Linear(3, 1), nn.Linear(2, 3)
    optimizer, other = (torch.optim.SGD(part.parameters(), 0.1) for part in (net, generator))

    def step() -> None:
        net(generator(torch.randn(4, 2)).detach()).mean().backward()
        optimizer.step()
        net(generator(torch.randn(4, 2))).mean().backward()
        other.step()
        for each in (optimizer, other):
            each.zero_grad(set_to_none=False)

    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        step()
        with ForbidWaiting():
            for _ in range(4):
                step()
        assert watch.failure is None
    passes = [r.step for r in read_one_run(tmp_path).records if r.stage == "backward"]
    assert passes == list(range(5))
