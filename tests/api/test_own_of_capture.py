"""Statistics of the user's own on one captured graph, against plain torch."""

from __future__ import annotations

import pathlib
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.logged import read_one_run
from tests.training.own.added import Add, add

__all__ = ["add"]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 40), nn.Linear(40, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.a(x).relu()
        scores = self.b(hidden) / 2
        return scores.softmax(-1).square().sum()


def mean_square(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().double().square().mean()


X = torch.linspace(-1, 1, 20).reshape(5, 4)


def expected() -> dict[str, dict[str, float]]:
    """Return values and gradients by plain torch."""
    net = Net()
    hidden = net.a(X).relu()
    scores = net.b(hidden) / 2
    for tensor in (hidden, scores):
        tensor.retain_grad()
    scores.softmax(-1).square().sum().backward()
    named = {"hidden": hidden, "scores": scores}
    parameters = dict(net.named_parameters())
    return {
        "of_value": {name: float(mean_square(t)) for name, t in named.items()},
        "of_weight": {name: float(mean_square(t)) for name, t in parameters.items()},
        "of_gradient": {
            name: float(mean_square(t.grad)) for name, t in {**named, **parameters}.items()
        },
    }


@pytest.mark.parametrize("values", [None, True])
def test_numbers_of_a_captured_graph(values: bool | None, add: Add) -> None:
    for of in ("value", "weight", "gradient"):
        add(f"of_{of}", of=of)(mean_square)
    graph = tb_gradgraph.capture(Net(), X, values=values)
    for name, numbers in expected().items():
        for of, number in numbers.items():
            np.testing.assert_allclose(graph[of].own[name], number, rtol=1e-6)
    assert "of_value" not in graph["a.weight"].own and "of_weight" not in graph["hidden"].own
    assert (graph["a.weight"].value_statistics is None) == (values is None)


def test_they_are_written(add: Add, tmp_path: pathlib.Path) -> None:
    for of in ("value", "weight", "gradient"):
        add(f"of_{of}", of=of, unit="V")(mean_square)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        graph = writer.add_grad_graph(Net(), X)
    run = read_one_run(tmp_path)
    (forward,), (backward,) = run.forwards, run.records
    assert forward.own == graph.own and not forward.table.present.any()
    assert backward.own == graph.backward_passes[0].own and backward.own["of_gradient"]
    assert {
        one.unit for one in (*forward.own_measures.values(), *backward.own_measures.values())
    } == {"V"}


def test_the_graph_of_tensors(add: Add) -> None:
    add("of_gradient", select="hidden")(mean_square)
    net = Net()
    hidden = net.a(X).relu()
    loss = (net.b(hidden) / 2).softmax(-1).square().sum()
    graph = tb_gradgraph.capture(loss)
    assert graph["hidden"].own == {}
    loss.backward()
    number = expected()["of_gradient"]["hidden"]
    assert graph["hidden"].own == {"of_gradient": pytest.approx(number, rel=1e-6)}


def test_a_fault_is_told_once_and_leaves_the_rest(add: Add) -> None:
    add("bad", of="value", select=["hidden", "scores"])(lambda t: t)
    add("good", of="value", select="hidden")(lambda t: 1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        graph = tb_gradgraph.capture(Net(), X)
    (text,) = [str(one.message) for one in told]
    assert "'bad' gave no number of" in text and "got a tensor of shape [5, " in text
    assert graph["hidden"].own == {"good": 1}
    assert "got a tensor" in graph.own_measures["bad"].reason


def test_a_select_that_matches_nothing_is_told_once(add: Add) -> None:
    add("nothing", select="no_such_tensor")(mean_square)
    with pytest.warns(UserWarning, match="'nothing': its select matches nothing that is read"):
        tb_gradgraph.capture(Net(), X)
    tb_gradgraph.capture(Net(), X)


def test_a_select_that_raises_costs_only_its_statistic(add: Add) -> None:
    add("raises", select=lambda node: 1 / 0)(mean_square)
    add("good", of="weight")(mean_square)
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"):
        graph = tb_gradgraph.capture(Net(), X)
    assert graph["a.weight"].own.keys() == {"good"}
