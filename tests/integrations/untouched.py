"""Whether a training left anything of ours behind, and whether it was another one for us."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch.nn.modules import module as global_hooks

_BACKWARD = torch.autograd._engine_run_backward
_SCALER_STEP = torch.amp.GradScaler.step
_TOTAL_NORM = torch.nn.utils.clip_grad._get_total_norm


def check_nothing_left(model: torch.nn.Module, optimizers: Iterable[torch.optim.Optimizer]) -> None:
    """Look where a watch puts hooks."""
    assert torch.autograd._engine_run_backward is _BACKWARD
    assert torch.amp.GradScaler.step is _SCALER_STEP
    assert torch.nn.utils.clip_grad._get_total_norm is _TOTAL_NORM
    assert not global_hooks._global_forward_hooks and not global_hooks._global_forward_pre_hooks
    for optimizer in optimizers:
        assert not optimizer._optimizer_step_pre_hooks and not optimizer._optimizer_step_post_hooks
    for module in model.modules():
        assert not module._forward_hooks and not module._forward_pre_hooks
    for parameter in model.parameters():
        assert not parameter._backward_hooks


def state_of(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Return what must be bit-equal with and without the tool."""
    return {
        "model": {name: tensor.clone() for name, tensor in model.state_dict().items()},
        "optimizer": optimizer.state_dict()["state"],
        "random": torch.get_rng_state(),
    }


def check_equal(one: Any, other: Any) -> None:
    """Compare two states bit by bit."""
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    elif isinstance(one, Mapping):
        assert one.keys() == other.keys()
        for key in one:
            check_equal(one[key], other[key])
    else:
        assert one == other
