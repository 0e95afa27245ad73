"""What really vanishes, explodes or is zero is told, however usual the rest of the net is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.diagnose.fresh_nets import loss


def _sigmoids(depth: int = 10) -> nn.Module:
    layers = [layer for _ in range(depth) for layer in (nn.Linear(12, 12), nn.Sigmoid())]
    return nn.Sequential(nn.Linear(12, 12), *layers, nn.Linear(12, 5))


class Scaled(nn.Module):
    """A deep net whose output is multiplied by a parameter, as a temperature."""

    def __init__(self) -> None:
        super().__init__()
        self.deep, self.temperature = _sigmoids(), nn.Parameter(torch.ones(1) * 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.deep(x) * self.temperature


class Recurrent(nn.Module):
    """A recurrent net without a gate, whose state is read at the end."""

    def __init__(self, gain: float) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(12, 12), nn.Linear(12, 5)
        self.state = nn.Linear(12, 12)
        nn.init.orthogonal_(self.state.weight, gain)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.first(x)
        for _ in range(40):
            h = self.state(h)
        return self.head(h)


class Waves(nn.Module):
    """Layers with bounded values and steep slopes."""

    def __init__(self) -> None:
        super().__init__()
        self.layers, self.head = (
            nn.ModuleList(nn.Linear(12, 12) for _ in range(20)),
            nn.Linear(12, 5),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.sin(12 * layer(x))
        return self.head(x)


WRONG: dict[str, tuple[Callable[[], nn.Module], str, str]] = {
    "sigmoids": (_sigmoids, "vanishing", "0."),
    "sigmoids with a temperature": (Scaled, "vanishing", "deep.0."),
    "recurrent": (lambda: Recurrent(3.0), "exploding", "state."),
    "waves": (Waves, "exploding", "layers.0."),
    "recurrent, too little": (lambda: Recurrent(0.5), "vanishing", "first."),
}


@pytest.mark.parametrize("level", ["param", "op"])
@pytest.mark.parametrize("name", WRONG)
def test_it_is_a_warning_at_the_place_farthest_from_the_loss(name: str, level: str) -> None:
    torch.manual_seed(0)
    make, kind, node = WRONG[name]
    net, x = make(), torch.randn(16, 12)
    gradients = torch.autograd.grad(loss(net(x)), list(net.parameters()))
    sizes = [g.square().mean().sqrt().item() for g in gradients]
    assert max(sizes) > 1e4 * min(sizes), "says torch"
    found = tb_gradgraph.capture(net, x, loss_fn=loss, level=level).findings()
    (one,) = (one for one in found if one.severity != "note")
    assert (one.severity, one.kind) == ("warning", kind) and one.node.startswith(node)


class Clamped(nn.Module):
    """Everything before the last layer is beyond the limits of a clamp."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(12, 8), nn.Linear(8, 8), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.second(self.first(x)).add(99).clamp(-1, 1))


@pytest.mark.parametrize("level", ["param", "op"])
def test_zeros_of_a_clamp_are_a_warning(level: str) -> None:
    torch.manual_seed(0)
    found = tb_gradgraph.capture(
        Clamped(), torch.randn(16, 12), loss_fn=loss, level=level
    ).findings()
    assert [one.severity for one in found if one.kind.startswith("zero")] == ["warning"]
    assert [one.kind for one in found if one.severity != "note"] == (
        ["zero_origin"] if level == "op" else ["zero_gradient"]
    )


def test_a_factor_that_is_zero_and_does_not_learn_is_a_warning() -> None:
    torch.manual_seed(0)

    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(12, 5), nn.Linear(12, 5)
            self.register_buffer("gate", torch.zeros(5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.first(x) * self.gate + self.last(x)

    found = tb_gradgraph.capture(Gated(), torch.randn(16, 12), loss_fn=loss).findings()
    assert [(one.severity, one.kind) for one in found] == [("warning", "zero_origin")]
