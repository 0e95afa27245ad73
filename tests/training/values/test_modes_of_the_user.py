"""Modes that the user begins and ends across module calls stay those of the user."""

from __future__ import annotations

import pathlib
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

import tb_gradgraph
from tests.logged import read_one_run


class Noting(TorchFunctionMode):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(func.__name__)
        return func(*args, **(kwargs or {}))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin, self.mode = nn.Linear(4, 3), Noting()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.lin(x)
        self.mode.__exit__(None, None, None)
        return hidden.tanh()


def test_a_mode_that_ends_within_a_forward(tmp_path: pathlib.Path) -> None:
    net = Net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, level="op", values=True, strict=True)
        for _ in range(3):
            x = torch.ones(2, 4)
            net.mode.__enter__()
            loss = net(x).sum()
            assert not _get_current_function_mode_stack()
            loss.backward()
    assert net.mode.calls == ["linear"] * 3
    run = read_one_run(tmp_path)
    for record in run.forwards:
        nodes = run.graphs[record.graph_hash].nodes
        rows = run.graphs[record.graph_hash].slot_offsets
        names = {n.operation for n, row in zip(nodes, rows) if record.table.present[row]}
        assert {"AddmmBackward0", "TanhBackward0"} <= names


def test_a_default_device_within_and_around(tmp_path: pathlib.Path) -> None:
    net = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    net.register_forward_pre_hook(lambda *_: torch.set_default_device("meta"))
    net.register_forward_hook(lambda *_: torch.set_default_device(None))
    x = torch.ones(2, 4)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, level="op", values=True, strict=True)
        with torch.device("cpu"):
            net(x).sum().backward()
        net(x).sum().backward()
    assert not _get_current_function_mode_stack()
