"""The cases run untouched, and what plain torch says of their gradients."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from tb_gradgraph.autograd.model_run.call import split_input
from tests.autograd.models import Case
from tests.oracle import slot_gradients

#: Where autograd.grad, unlike a backward, runs other nodes, refuses, or skips the user's hooks.
OTHERWISE = {
    "user's hooks",
    "scripted part",
    "compiled part",
    "reentrant checkpoint",
    "reentrant checkpoint with dropout",
}


def made(case: Case) -> torch.nn.Module:
    """Make the model of a case, the same each time; its forward may draw random numbers."""
    torch.manual_seed(0)
    model = case.make()
    torch.manual_seed(1)
    return model


def named_parameters(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """Return parameters by their names without wrappers."""
    inner = model.module if isinstance(model, torch.nn.DataParallel) else model
    return {name.replace("_orig_mod.", ""): owned for name, owned in inner.named_parameters()}


def inputs_of(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copy the input of a case, because a model may change it in place."""
    return split_input(copy.deepcopy(case.input))


def roots_of(output: Any) -> list[torch.Tensor]:
    """Find the tensors to differentiate by hand, in the order of the output."""
    loss = getattr(output, "loss", None)
    found = [loss] if loss is not None else tree_leaves(output)
    return [value for value in found if isinstance(value, torch.Tensor) and value.requires_grad]


def expected_slots(case: Case) -> list[list[torch.Tensor | None]]:
    """Run the model untouched and ask autograd for every gradient."""
    model = made(case)
    args, kwargs = inputs_of(case)
    output = model(*args, **kwargs)
    if case.loss_fn is not None:
        output = case.loss_fn(output)
    roots = roots_of(output)
    seeds = [None if root.numel() == 1 else torch.ones_like(root) for root in roots]
    return slot_gradients(roots, seeds)
