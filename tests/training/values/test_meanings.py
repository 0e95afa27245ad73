"""Which values have further statistics, and that ``watch`` and ``capture`` agree about them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

import tb_gradgraph
from tb_gradgraph.statistics import OF_VALUES, Statistics
from tests.logged import read_one_run


class Net(nn.Module):
    """Computes with a layer, and then with a function."""

    def __init__(self, layer: nn.Module, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.layer, self.function = layer, function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(self.layer(x)).square()


def _two_dead(layer: nn.Module) -> nn.Module:
    with torch.no_grad():
        layer.weight[:2] = 0
        layer.bias[:2] = -1
    return layer


CASES = {
    "features": (_two_dead(nn.Linear(3, 8)), torch.relu, (200, 3), {"zero_units": None}),
    "features of a sequence": (_two_dead(nn.Linear(3, 8)), torch.relu, (50, 7, 3), {"zero_units": None}),
    "channels": (_two_dead(nn.Conv2d(1, 8, 3)), torch.relu, (50, 1, 9, 9), {"zero_units": None}),
    "channels of a series": (
        nn.Sequential(nn.Conv1d(1, 8, 3), _two_dead(nn.BatchNorm1d(8))),
        functional.relu6,
        (50, 1, 9),
        {"zero_units": None, "saturated": None},
    ),
    "sigmoid": (nn.Linear(3, 40), lambda x: torch.sigmoid(40 * x), (50, 3), {"saturated": None}),
    "tanh": (nn.Linear(3, 40), lambda x: torch.tanh(9 * x), (50, 3), {"saturated": None}),
    "hardtanh": (
        nn.Linear(3, 40),
        lambda x: functional.hardtanh(x, -0.2, 0.3),
        (50, 3),
        {"saturated": None},
    ),
    "softmax": (
        nn.Linear(3, 40),
        lambda x: torch.softmax(9 * x, -1),
        (5, 6, 3),
        {"saturated": None, "entropy": None},
    ),
    "softmax along another dimension": (
        nn.Linear(3, 40),
        lambda x: torch.softmax(9 * x, 1),
        (5, 6, 3),
        {"saturated": None},
    ),
    "softmax of classes": (
        nn.Linear(3, 40),
        lambda x: torch.softmax(x, -1),
        (6, 3),
        {"saturated": None},
    ),
}  # fmt: skip
_ENDS = {"sigmoid": (0, 1), "tanh": (-1, 1), "hardtanh": (-0.2, 0.3), "softmax": (0, 1),
         "softmax along another dimension": (0, 1), "softmax of classes": (0, 1),
         "channels of a series": (0, 6)}  # fmt: skip


def _zero_units(values: torch.Tensor) -> float:
    units = values.movedim(1 if values.shape[1] == 8 else -1, 0)
    dead = sum(not unit.any() for unit in units)
    assert len(units) == 8 and dead >= 2
    return dead / 8


def _saturated(values: torch.Tensor, low: float, high: float) -> float:
    margin = 0.01 * (high - low)
    near = [x <= low + margin or x >= high - margin for x in values.reshape(-1).tolist()]
    return sum(near) / len(near)


def _entropy(values: torch.Tensor) -> float:
    rows = values.reshape(-1, values.shape[-1]).double()
    return float(torch.special.entr(rows).sum(-1).mean() / torch.tensor(values.shape[-1]).log())


@pytest.mark.parametrize("name", CASES)
def test_both_ways_know_them(name: str, tmp_path: pathlib.Path) -> None:
    layer, function, shape, expected = CASES[name]
    torch.manual_seed(0)
    net, x = Net(layer, function), torch.randn(shape)
    made = function(layer(x)).detach()
    captured = tb_gradgraph.capture(net, x, values=True)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, level="op", values=True, strict=True)
        net(x).sum().backward()
    run = read_one_run(tmp_path)
    (record,) = run.forwards
    graph = run.graphs[record.graph_hash]
    rows = [int(row) for row in graph.slot_offsets]
    watched = {node.key: record.table.row(row) for node, row in zip(graph.nodes, rows)}
    found = {node.key: view.value_statistics for node, view in zip(captured.nodes, captured)}
    known = {key for key, each in found.items() if each is not None and _further(each)}
    assert len(known) == 1 or name == "channels of a series"
    assert known == {key for key, each in watched.items() if each is not None and _further(each)}
    for key in known:
        both = found[key], watched[key]
        assert _further(both[0]) == pytest.approx(_further(both[1]), rel=1e-6)
    numbers = _further(found[next(iter(known))])
    assert ("entropy" in numbers) == ("entropy" in expected)
    for statistic in expected:
        number = {
            "zero_units": lambda: _zero_units(made),
            "saturated": lambda: _saturated(made, *_ENDS[name]),
            "entropy": lambda: _entropy(made),
        }[statistic]()
        assert numbers[statistic] == pytest.approx(number, rel=1e-4)


def _further(found: Statistics | None) -> dict[str, float]:
    numbers = {name: getattr(found, name) for name in OF_VALUES}
    return {name: number for name, number in numbers.items() if number is not None}


def test_gradients_have_none_of_them() -> None:
    graph = tb_gradgraph.capture(Net(nn.Linear(3, 4), torch.relu), torch.ones(2, 3))
    found = [_further(view.statistics) for view in graph if view.statistics]
    assert len(found) > 4 and not any(found)
