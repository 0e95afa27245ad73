"""The value of an input is that of the tensor that the backward's forward got, whatever ran before."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.logged import read_one_run


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last, self.fails = nn.Linear(4, 8), nn.Linear(8, 3), False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x).relu()
        if self.fails:
            raise ValueError("as the user wants")
        return self.last(hidden)


def _other() -> torch.Tensor:
    return torch.randn(5, 4) + 100


def _fails(net: Net) -> None:
    net.fails = True
    with contextlib.suppress(ValueError):
        net(_other())
    net.fails = False


def _evaluates(net: Net) -> None:
    net(_other())


def _keeps(net: Net) -> object:
    return net(_other())


def _calls_another(_net: Net) -> object:
    return nn.Linear(4, 4)(_other())


@pytest.mark.parametrize("level", ["module", "op"])
@pytest.mark.parametrize("before", [_fails, _evaluates, _keeps, _calls_another])
def test_what_ran_before_is_not_taken_for_it(
    before: Callable[[Net], object], level: str, tmp_path: pathlib.Path
) -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    means = []
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(
            net, optimizer=optimizer, every_n_steps=1, level=level, values=True, strict=True
        )
        for step in range(4):
            kept = before(net) if step else None  # so the input is at another place than before
            x = torch.randn(5 + step, 4)
            optimizer.zero_grad()
            net(x).square().sum().backward()
            optimizer.step()
            means.append(x.mean().item())
            del kept
    found = []
    run = read_one_run(tmp_path)
    for record in run.forwards:
        graph = run.graphs[record.graph_hash]
        rows = (int(r) for n, r in zip(graph.nodes, graph.slot_offsets) if n.name == "x")
        found.append([s.mean for s in map(record.table.row, rows) if s is not None])
    assert found[0] == [pytest.approx(means[0], rel=1e-5, abs=1e-6)]
    assert found[1] == []  # not known where it is
    assert found[2:] == [[pytest.approx(mean, rel=1e-5, abs=1e-6)] for mean in means[2:]]
