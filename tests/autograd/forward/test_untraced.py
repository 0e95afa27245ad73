"""What a capture draws is what a training makes, also where torch takes another way under a mode."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.autograd.torch_internals.walk import walk
from tb_gradgraph.autograd.user_code.functions import operation_of
from tests.autograd.expected import OTHERWISE, inputs_of, made, roots_of
from tests.autograd.models import CASES


class Projected(nn.Module):
    """A fixed projection for a whole batch: matmul folds it, or not under a mode."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(13, 13)
        self.register_buffer("proj", torch.randn(1, 13, 6))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        h = self.lin(x)
        return (h @ self.proj).relu().sum()


def _operations(roots: list[torch.Tensor]) -> list[str]:
    return [operation_of(node)[0] for node in walk(roots).nodes if node.next_functions]


def test_the_nodes_of_a_training_win() -> None:
    torch.manual_seed(0)
    model, x = Projected(), torch.randn(8, 5, 13)
    loss = model(x)
    expected = _operations([loss])
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        graph = tb_gradgraph.capture(model, x)
    found = [n.operation for n in graph.nodes if n.kind == "operation" and n.requires_grad]
    assert found == expected
    assert model.calls == 1
    for (name, _), gradient in zip(model.named_parameters(), gradients):
        assert graph[name].statistics.l2_norm == pytest.approx(float(gradient.norm()), rel=1e-6)
    traced = [each for each in warned if "another way" in str(each.message)]
    assert graph["h"].node.source.endswith("in forward") and len(traced) <= 1


@pytest.mark.parametrize("name", sorted(CASES.keys() - OTHERWISE))
def test_operations_are_those_of_a_training(name: str) -> None:
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = tb_gradgraph.capture(made(case), case.input, loss_fn=case.loss_fn)
        args, kwargs = inputs_of(case)
        output = made(case)(*args, **kwargs)
    roots = roots_of(output if case.loss_fn is None else case.loss_fn(output))
    drawn = [n.operation for n in graph.nodes if n.kind == "operation" and n.requires_grad]
    for operation in _operations(roots):  # behind a cut more is drawn
        drawn.remove(operation)
