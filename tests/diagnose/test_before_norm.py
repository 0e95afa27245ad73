"""A bias that a batch norm takes out again: that it hardly has a gradient is no vanishing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import tb_gradgraph

BIASES = {"0.bias", "3.bias"}
CONV, LINEAR = torch.Size([16, 3, 9, 9]), torch.Size([64, 9])


def _convolutions(norm: Callable[[int], nn.Module]) -> nn.Sequential:
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 6, 3), norm(6), nn.ReLU(), nn.Conv2d(6, 6, 3), norm(6), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(150, 4), nn.Tanh(), nn.Linear(4, 2))


def _linears(norm: Callable[[int], nn.Module]) -> nn.Sequential:
    torch.manual_seed(0)
    layers = [nn.Linear(9, 6), norm(6), nn.ReLU(), nn.Linear(6, 6), norm(6), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2))


def _kinds(net: nn.Module, x: torch.Tensor, level: str) -> dict[str, set[str]]:
    """Return the names of the nodes that each kind of finding is of."""
    graph = tb_gradgraph.capture(net, x, level=level, loss_fn=lambda y: (y**2).mean() * 7)
    found: dict[str, set[str]] = {}
    for finding in graph.findings():
        names = {finding.node}
        if finding.kind == "cancelled":  # one for all
            names = set(finding.text.split(":")[0].split(", "))
        assert finding.kind not in found
        found[finding.kind] = names
    return found


def _sizes(net: nn.Module, x: torch.Tensor) -> dict[str, float]:
    """Return the root mean square of each gradient, by plain torch."""
    named = dict(net.named_parameters())
    gradients = torch.autograd.grad((net(x) ** 2).mean() * 7, list(named.values()))
    return {name: g.square().mean().sqrt().item() for name, g in zip(named, gradients)}


@pytest.mark.parametrize("level", ["param", "module", "op"])
@pytest.mark.parametrize(
    ("make", "norm", "shape"),
    [
        (_convolutions, nn.BatchNorm2d, CONV),
        (_convolutions, nn.InstanceNorm2d, CONV),
        (_linears, nn.BatchNorm1d, LINEAR),
    ],
)
def test_a_bias_before_a_batch_norm_is_a_note(
    make: Callable[[Callable[[int], nn.Module]], nn.Module],
    norm: Callable[[int], nn.Module],
    shape: torch.Size,
    level: str,
) -> None:
    net, x = make(norm), torch.randn(shape)
    sizes = _sizes(net, x)
    assert max(sizes["0.bias"], sizes["3.bias"]) < 1e-4 * sizes["0.weight"], "rounding, says torch"
    assert _kinds(net, x, level) == {"cancelled": BIASES}


@pytest.mark.parametrize("level", ["param", "op"])
@pytest.mark.parametrize(
    ("make", "norm", "shape"),
    [
        (_convolutions, nn.Identity, CONV),
        (_convolutions, lambda width: nn.GroupNorm(1, width), CONV),
        (_convolutions, lambda width: nn.BatchNorm2d(width).eval(), CONV),
        (_linears, nn.LayerNorm, LINEAR),
    ],
    ids=["none", "group", "batch, not training", "layer"],
)
def test_other_biases_have_a_gradient_and_no_note(
    make: Callable[[Callable[[int], nn.Module]], nn.Module],
    norm: Callable[[int], nn.Module],
    shape: torch.Size,
    level: str,
) -> None:
    net, x = make(norm), torch.randn(shape)
    sizes = _sizes(net, x)
    assert min(sizes["0.bias"], sizes["3.bias"]) > 1e-2 * sizes["0.weight"], "says torch"
    assert _kinds(net, x, level) == {}


class Skipping(nn.Module):
    """Uses what a convolution gives twice: normalized and as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.last = nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.conv(x)
        return self.last((self.norm(h) + h).mean((2, 3)))


def test_a_bias_that_also_goes_past_the_norm_is_none_of_these() -> None:
    torch.manual_seed(0)
    net, x = Skipping(), torch.randn(CONV)
    sizes = _sizes(net, x)
    assert sizes["conv.bias"] > 1e-2 * sizes["conv.weight"], "says torch"
    assert _kinds(net, x, "op") == {}


@pytest.mark.parametrize("level", ["param", "op"])
def test_what_really_vanishes_before_a_norm_is_found(level: str) -> None:
    """A bias is left out, its weight is not."""
    net = _convolutions(nn.BatchNorm2d)
    with torch.no_grad():
        net[7].weight *= 1e-7  # hardly any gradient goes further back
    x = torch.randn(CONV)
    sizes = _sizes(net, x)
    assert sizes["0.weight"] < 1e-4 * sizes["9.weight"], "says torch"
    found = _kinds(net, x, level)
    smallest = min((size, name) for name, size in sizes.items() if name not in BIASES)[1]
    assert found["vanishing"] == {smallest} and found["cancelled"] == BIASES


def test_a_bias_whose_gradient_is_exactly_zero_is_a_note_too() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1), nn.Linear(1, 1))
    x = torch.tensor([[-1.0], [1.0]])
    assert _sizes(net, x)["0.bias"] == 0, "says torch"
    assert "0.bias" in _kinds(net, x, "op")["cancelled"]
    assert "0.bias" not in _kinds(net, x, "op").get("zero_gradient", set())
