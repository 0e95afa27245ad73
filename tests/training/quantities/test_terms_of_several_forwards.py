"""Terms of a loss that come from several forwards meet in the parameters alone."""

from __future__ import annotations

import pathlib

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.training.quantities.test_norms_and_settings import values_of


def _terms(model: nn.Module, differentiates: bool) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(16, 1, requires_grad=True)
    given = model(x)
    if differentiates:
        (given,) = torch.autograd.grad(given.sum(), x, create_graph=True)
    return (given - torch.cos(3 * x)).square().mean(), (model(torch.zeros(1, 1)) - 1).square().sum()


def _gradient(term: torch.Tensor, model: nn.Module) -> torch.Tensor:
    parameters = list(model.parameters())
    found = torch.autograd.grad(term, parameters, retain_graph=True, allow_unused=True)
    pairs = [
        (parameter, gradient)
        for parameter, gradient in zip(parameters, found)
        if gradient is not None
    ]
    return torch.cat([gradient.double().reshape(-1) for _, gradient in pairs])


def _record(directory: pathlib.Path, level: str, weight: float, differentiates: bool):
    """Return what was recorded, and the gradients of both terms, each differentiated by itself."""
    model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    torch.manual_seed(3)
    inside, ends = _terms(model, differentiates)
    first, second = _gradient(inside, model), _gradient(weight * ends, model)
    with tb_gradgraph.SummaryWriter(directory) as writer:
        writer.watch(model, level=level, every_n_steps=1)
        torch.manual_seed(3)
        inside, ends = _terms(model, differentiates)
        (inside + weight * ends).backward()
    return {name: of[-1] for name, of in values_of(directory).items()}, first, second


@pytest.mark.parametrize("level", ["module", "op"])
@pytest.mark.parametrize("weight", [0.5, 1e4])
def test_shares_are_those_of_all_parameters(level: str, weight: float, tmp_path: pathlib.Path):
    values, first, second = _record(tmp_path, level, weight, differentiates=False)
    norms = first.norm().item(), second.norm().item()
    assert values["loss_share/inside"] == pytest.approx(norms[0] / sum(norms), rel=1e-5)
    assert values["loss_share/ends"] == pytest.approx(norms[1] / sum(norms), rel=1e-5)
    cosine = (first @ second).item() / norms[0] / norms[1]
    assert values["loss_cosine/inside/ends"] == pytest.approx(cosine, rel=1e-4, abs=1e-6)


def test_a_term_that_differentiates_a_forward(tmp_path: pathlib.Path):
    values, first, second = _record(tmp_path, "op", 1e3, differentiates=True)
    share = second.norm() / (first.norm() + second.norm())
    assert values["loss_share/ends"] == pytest.approx(share.item(), rel=1e-2)
