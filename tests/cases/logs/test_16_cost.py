"""Case 16: steps that are not recorded do nothing; what is kept and written does not grow."""

from __future__ import annotations

import gc
import pathlib

import pytest
import torch
from torch import nn
from torch.nn.modules import module as torch_module

import tb_gradgraph
from tb_gradgraph.training import step_counter


def _net() -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    return net, torch.optim.SGD(net.parameters(), 0.01)


def _step(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    net(torch.randn(2, 3)).square().mean().backward()
    optimizer.step()


@pytest.mark.parametrize("level", ["param", "module", "op"])
def test_on_other_steps_nothing_is_read_and_nothing_hooked(
    level: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, optimizer = _net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=100, level=level)
        _step(net, optimizer)
        monkeypatch.setattr(step_counter, "RecordedStep", None)  # cannot be made
        for _ in range(50):
            assert not torch_module._global_forward_hooks
            assert not torch_module._global_forward_pre_hooks
            _step(net, optimizer)
        assert watch.step == 51 and watch.failure is None


def test_four_thousand_steps_leave_what_a_thousand_leave(tmp_path: pathlib.Path) -> None:
    net, optimizer = _net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=10, level="op")
        objects, sizes = [], []
        for steps in (1000, 3000):
            for _ in range(steps):
                _step(net, optimizer)
            writer.flush()
            gc.collect()
            objects.append(len(gc.get_objects()))
            sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
        assert watch.failure is None
    assert objects[1] < objects[0] + 300
    per_recorded_step = (sizes[1] - sizes[0]) / 300
    assert per_recorded_step < 5000  # bytes, of some 20 rows in two stages
