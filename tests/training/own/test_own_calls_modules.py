"""A statistic may call modules with gradient: it is not run on what they put out."""

from __future__ import annotations

import pathlib

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.logged import read_one_run
from tests.training.own.added import Add


@pytest.mark.parametrize("level", ["module", "op"])
def test_a_module_within_a_statistic(level: str, add: Add, tmp_path: pathlib.Path) -> None:
    probe = nn.Linear(2, 1)
    calls = []

    def number(tensor: torch.Tensor) -> float:
        calls.append(tensor)
        with torch.enable_grad():
            probe(torch.ones(3, 2)).sum().backward()
        return 1.0

    add("probed", of="value")(number)
    net = nn.Linear(4, 3)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, level=level, values=True, strict=True)
        net(torch.randn(5, 4)).sum().backward()
    assert 0 < len(calls) < 10
    assert len(read_one_run(tmp_path).forwards) == 1
