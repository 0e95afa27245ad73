"""After add_grad_graph on a module everything is as it was, bit by bit."""

from __future__ import annotations

import pathlib
import random
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.modules import module as torch_module

import tb_gradgraph
from tests.autograd.models import CASES


def _hooks(holder: Any) -> list[Any]:
    tables = {name: table for name, table in vars(holder).items() if name.endswith("_hooks")}
    return [(name, list(table)) for name, table in tables.items()]


def _state(model: torch.nn.Module) -> dict[str, Any]:
    """Note everything that a run could change; tensors as bytes with identity and version."""

    def tensor(value: torch.Tensor) -> Any:
        content = value.detach().clone().reshape(-1).view(torch.uint8).tolist()
        return id(value), value._version, content, value.requires_grad

    tensors = [*model.named_parameters(), *model.named_buffers()]
    return {
        "tensors": {name: tensor(value) for name, value in tensors},
        "grad": {name: value.grad for name, value in tensors},
        "tensor hooks": {name: (value._backward_hooks, value._post_accumulate_grad_hooks)
                         for name, value in tensors},
        "module hooks": [_hooks(module) for module in model.modules()],
        "global hooks": [
            list(table) for name, table in vars(torch_module).items()
            if name.startswith("_global_") and isinstance(table, dict)
        ],
        "mode": [module.training for module in model.modules()],
        "attributes": [sorted(module.__dict__) for module in model.modules()],
        "plain": [
            {k: v for k, v in module.__dict__.items() if isinstance(v, (int, float, str))}
            for module in model.modules()
        ],
        "random": (random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()),
        "grad enabled": torch.is_grad_enabled(),
    }  # fmt: skip


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", CASES)
def test_model_and_process_are_as_before(name: str, training: bool, tmp_path: pathlib.Path) -> None:
    case = CASES[name]
    model = case.make().train(training)
    before = _state(model)
    hooked = {n: list(p._backward_hooks or ()) for n, p in model.named_parameters()}
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.add_grad_graph(model, case.input, loss_fn=case.loss_fn)
        after = _state(model)
    assert before == after
    assert hooked == {n: list(p._backward_hooks or ()) for n, p in model.named_parameters()}


def test_accumulated_gradients_and_post_accumulate_hooks_are_not_touched() -> None:
    model = torch.nn.Linear(2, 1)
    model.weight.grad = torch.full((1, 2), 7.0)
    seen: list[torch.Tensor] = []
    model.weight.register_post_accumulate_grad_hook(seen.append)
    tb_gradgraph.capture(model, torch.ones(1, 2))
    assert model.weight.grad.tolist() == [[7.0, 7.0]] and model.bias.grad is None
    assert not seen


def test_an_input_changed_in_place_gets_its_values_back() -> None:
    x = torch.tensor([[-1.0, 2.0]])
    model = torch.nn.Sequential(torch.nn.ReLU(inplace=True), torch.nn.Linear(2, 1))
    tb_gradgraph.capture(model, x)
    assert x.tolist() == [[-1.0, 2.0]]


def test_works_under_no_grad_and_leaves_it_on() -> None:
    with torch.no_grad():
        graph = tb_gradgraph.capture(torch.nn.Linear(2, 1), torch.ones(1, 2))
        assert not torch.is_grad_enabled()
    assert graph["weight"].status == "ok"


def test_a_forward_that_raises_leaves_nothing() -> None:
    class Fails(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = torch.nn.Linear(2, 2)
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            self.lin(x)
            raise ZeroDivisionError("the user's own")

    model = Fails()
    before = _state(model)
    with pytest.raises(ZeroDivisionError, match="the user's own"):
        tb_gradgraph.capture(model, torch.ones(1, 2))
    assert _state(model) == before


def test_leaf_hooks_go_with_the_graph_of_a_loss() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    loss = (x * 2).sum()
    graph = tb_gradgraph.capture(loss)
    assert x._backward_hooks
    loss.backward()
    del loss
    assert x._backward_hooks is None
    assert graph["x"].statistics.mean == 2.0


def test_two_captures_of_one_loss_go_together() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    loss = x * 2
    first, second = tb_gradgraph.capture(loss), tb_gradgraph.capture(loss)
    loss.backward()
    assert first["x"].statistics == second["x"].statistics
    del loss
    assert x._backward_hooks is None


def test_variables_of_the_calling_function_are_not_kept_alive() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    held = torch.zeros(3)
    alive = weakref.ref(held)
    loss = x * 2
    tb_gradgraph.capture(loss)
    del held
    assert alive() is None


def test_a_dict_that_the_user_got_from_locals_is_not_emptied() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    loss = x * 2
    mine = locals()
    tb_gradgraph.capture(loss)
    assert mine["x"] is x and mine["loss"] is loss
