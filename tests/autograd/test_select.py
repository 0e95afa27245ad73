"""What ``select``, ``exclude`` and ``retain`` take, and what they say of what they cannot take."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.errors import CaptureError

X = torch.ones(2, 3)


def _net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))


def _read(graph: tb_gradgraph.GradGraph) -> set[str]:
    """List the nodes that have a gradient."""
    (found,) = graph.backward_passes
    offsets = graph.graph.slot_offsets.tolist()
    present = found.table.present
    return {node.name for node, row in zip(graph.nodes, offsets) if present[row]}


@pytest.mark.parametrize("argument", ["select", "exclude", "retain"])
@pytest.mark.parametrize("given", [5, 3.5, [None], [3], None])
def test_what_is_no_selector_is_an_error(argument: str, given: Any) -> None:
    with pytest.raises(CaptureError, match=r"^capture\(\): expected a selector to be"):
        tb_gradgraph.capture(_net(), X, **{argument: given})


@pytest.mark.parametrize("argument", ["select", "exclude", "retain"])
@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("0.wieght", " Close names: 0.weight, 2.weight, 0.bias."),
        ("*0.wieght*", " Close names: 0.weight, 2.weight, 0.bias."),
        ("zzz", ""),
    ],
)
def test_a_pattern_for_nothing_warns_with_the_nearest_names(
    argument: str, pattern: str, hint: str
) -> None:
    text = f"capture(): the pattern {pattern!r} matches no node or tensor of this graph.{hint}"
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$") as caught:
        tb_gradgraph.capture(_net(), X, **{argument: [pattern, "0.bias"]})
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("part", "name"),
    [(nn.Linear(2, 2), "module Linear"), (torch.ones(2, 4), "tensor of shape [2, 4]")],
)
def test_a_module_or_tensor_of_something_else_warns(part: Any, name: str) -> None:
    text = f"capture(): the selected {name} has no gradient in this graph."
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$") as caught:
        graph = tb_gradgraph.capture(_net(), X, select=[part, "0.bias"])
    assert len(caught) == 1
    assert _read(graph) == {"0.bias"}


def test_modules_tensors_patterns_and_functions_together() -> None:
    net = _net()
    assert _read(tb_gradgraph.capture(net, X, select=[net[2], net[0].bias])) == {
        "2.weight", "2/t", "2.bias", "2/addmm", "0.bias",
    }  # fmt: skip
    leaves = tb_gradgraph.capture(net, X, select=lambda node: node.is_leaf, exclude="*.bias")
    assert _read(leaves) == {"0.weight", "2.weight"}
    assert tb_gradgraph.capture(net, X, select=[]).backward_passes == []
    assert _read(tb_gradgraph.capture(net, X, exclude=net[0])) == {
        "1/tanh", "2.weight", "2/t", "2.bias", "2/addmm", "output",
    }  # fmt: skip


def test_a_module_behind_a_loss_stands_for_its_parameters() -> None:
    net = _net()
    hidden = net[:2](X)
    loss = net[2](hidden).sum()
    graph = tb_gradgraph.capture(loss, select=[net[2], hidden])
    loss.backward()
    assert _read(graph) == {"net.2.weight", "net.2.bias", "tanh"}
    assert graph["net.2.weight"].gradient.tolist() == net[2].weight.grad.tolist()


def test_a_compiled_part_is_selected_by_its_module() -> None:
    net = _net()
    net[2] = torch.compile(net[2], backend="eager")
    for part in (net[2], net[2]._orig_mod):
        found = _read(tb_gradgraph.capture(net, X, select=part))
        assert found == {"2.weight", "2/t", "2.bias", "2/addmm"}


def test_retain_past_the_limit_says_the_limit_and_keeps_statistics() -> None:
    with pytest.warns(UserWarning, match=r"to have at most 65,536 elements, got weight of shape"):
        graph = tb_gradgraph.capture(nn.Linear(400, 300), torch.ones(1, 400), retain=["weight"])
    assert graph["weight"].gradient is None
    assert graph["weight"].statistics.numel == 120_000
    graph = tb_gradgraph.capture(nn.Linear(256, 256), torch.ones(1, 256), retain=["weight"])
    assert graph["weight"].gradient.shape == (256, 256)
