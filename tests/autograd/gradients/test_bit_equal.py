"""Training is bit for bit the same with the tool and without, whatever the model."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch

import tb_gradgraph
from tests.autograd.expected import inputs_of, made, roots_of
from tests.autograd.models import CASES, Case


def train(case: Case, watched: bool) -> list[Any]:
    """Run two steps; give outputs, gradients, parameters, buffers and the random state."""
    model = made(case)
    found: list[Any] = []
    for _ in range(2):
        if watched:
            tb_gradgraph.capture(model, copy.deepcopy(case.input), loss_fn=case.loss_fn)
        args, kwargs = inputs_of(case)
        output = model(*args, **kwargs)
        roots = roots_of(output if case.loss_fn is None else case.loss_fn(output))
        graph = tb_gradgraph.capture(*roots) if watched and len(roots) == 1 else None
        torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
        assert graph is None or len(graph.backward_passes) >= 1
        found += [root.detach().clone() for root in roots]
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    found.append(parameter.grad.to_dense().clone())
                    parameter.sub_(0.01 * parameter.grad)
    tensors = [*model.parameters(), *model.buffers()]
    return [*found, *(tensor.detach() for tensor in tensors), torch.get_rng_state()]


@pytest.mark.parametrize("name", CASES)
def test_two_steps_are_the_same(name: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The .grad attribute of a Tensor that is not a leaf")
        watched, plain = train(CASES[name], True), train(CASES[name], False)
    assert len(watched) == len(plain)
    for ours, theirs in zip(watched, plain):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)


def test_a_lazy_model_is_made_and_trained_the_same() -> None:
    def train_lazy(watched: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.LazyConv1d(2, 1), torch.nn.LazyBatchNorm1d(), torch.nn.LazyLinear(1)
        )
        x = torch.randn(4, 3, 5)
        state = torch.get_rng_state()
        graph = tb_gradgraph.capture(model, x) if watched else None
        torch.set_rng_state(state)
        if graph is None:
            model(x)  # the first forward makes the parameters, with random numbers
        model.load_state_dict({name: torch.ones_like(t) for name, t in model.state_dict().items()})
        graph = tb_gradgraph.capture(model, x) if watched else None
        model(x).sum().backward()
        gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
        for name, gradient in gradients.items() if graph is not None else ():
            assert graph[name].gradient.tolist() == gradient.tolist()
        return list(gradients.values())

    for ours, plain in zip(train_lazy(True), train_lazy(False), strict=True):
        assert torch.equal(ours, plain)
