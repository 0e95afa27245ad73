"""Case 11: gradients at the outputs of a module that returns a dict, a list, or such in each other."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

import tb_gradgraph


@dataclasses.dataclass
class Result:
    """What many libraries return."""

    y: torch.Tensor
    z: torch.Tensor


class Pair(NamedTuple):
    y: torch.Tensor
    z: torch.Tensor


FORMS: dict[str, Any] = {
    "dict": (lambda y, z: {"y": y, "z": z}, lambda found: (found["y"], found["z"])),
    "list": (lambda y, z: [y, z], lambda found: found),
    "tuple": (lambda y, z: (y, z), lambda found: found),
    "named tuple": (Pair, lambda found: found),
    "dataclass": (Result, lambda found: (found.y, found.z)),
    "nested": (
        lambda y, z: {"y": [y, None], "text": "a", "more": ({"z": z}, 3)},
        lambda found: (found["y"][0], found["more"][0]["z"]),
    ),
}


class Inner(nn.Module):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.pack = FORMS[form][0]

    def forward(self, x: torch.Tensor) -> Any:
        y = self.lin(x)
        z = y.sin()
        return self.pack(y, z)


class Outer(nn.Module):
    """``kept`` takes the tensors that came out of the inner module, for the oracle."""

    def __init__(self, form: str, kept: list[torch.Tensor] | None = None) -> None:
        super().__init__()
        self.inner = Inner(form)
        self.unpack = FORMS[form][1]
        self.keep = (lambda tensors: None) if kept is None else kept.extend

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, z = self.unpack(self.inner(x))
        self.keep((y, z))
        return (y.exp() * z).sum()


@pytest.mark.parametrize("level", ["op", "module"])
@pytest.mark.parametrize("form", FORMS)
def test_output_gradients_are_those_of_retain_grad(form: str, level: str) -> None:
    torch.manual_seed(0)
    graph = tb_gradgraph.capture(Outer(form), x := torch.randn(3, 2), level=level)
    torch.manual_seed(0)
    kept: list[torch.Tensor] = []
    loss = Outer(form, kept)(x)
    for tensor in kept:
        tensor.retain_grad()
    loss.backward()
    for name, tensor in zip(("y", "z"), kept):
        assert graph[name].gradient.tolist() == tensor.grad.tolist()
    assert graph["y"].scope.path == "inner.lin" and graph["z"].scope.path == "inner"


@pytest.mark.parametrize("form", FORMS)
def test_whatever_is_returned_is_drawn_the_same(form: str) -> None:
    torch.manual_seed(0)
    plain = tb_gradgraph.capture(Outer("tuple"), torch.ones(3, 2))
    assert tb_gradgraph.capture(Outer(form), torch.ones(3, 2)).hash == plain.hash


@pytest.mark.parametrize("form", FORMS)
def test_the_users_own_backward_is_recorded_too(form: str) -> None:
    torch.manual_seed(0)
    y, z = FORMS[form][1](Inner(form)(torch.ones(3, 2)))
    loss = (y.exp() * z).sum()
    graph = tb_gradgraph.capture(loss)
    y.retain_grad()
    z.retain_grad()
    loss.backward()
    assert graph["y"].gradient.tolist() == y.grad.tolist()
    assert graph["z"].gradient.tolist() == z.grad.tolist()
