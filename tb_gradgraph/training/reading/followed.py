"""Find the object whose steps to follow, among the kinds of objects that users pass as an optimizer."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from tb_gradgraph.autograd import attribute_of, inner_optimizer

_DEPTH_LIMIT = 8


def followed(optimizer: Any) -> Any:
    """Return the optimizer within a wrapper, such as Accelerate's, if only the optimizer takes hooks.

    Other wrappers are returned themselves, because what they do around the inner step belongs to
    the step.
    """
    for _ in range(_DEPTH_LIMIT):
        if takes_hooks(optimizer):
            return optimizer
        inner = inner_optimizer(optimizer)
        if inner is None or inner is optimizer:
            return optimizer
        optimizer = inner
    return optimizer


def takes_hooks(optimizer: Any) -> bool:
    """Return whether it is a torch optimizer that was initialized. Some skip ``super().__init__()``."""
    is_torchs = isinstance(optimizer, torch.optim.Optimizer)
    return is_torchs and hasattr(optimizer, "_optimizer_step_pre_hooks")


def why_not_followed(optimizer: Any) -> str:
    """Say why an optimizer cannot be followed; "" if it can."""
    if isinstance(optimizer, torch.optim.lr_scheduler.LRScheduler):
        return "a scheduler"
    if isinstance(optimizer, type):
        return "a class"
    if not callable(attribute_of(optimizer, "step")):
        return "has no step()"
    groups = attribute_of(optimizer, "param_groups")
    if not isinstance(groups, list) or not all(_is_group(group) for group in groups):
        return 'has no param_groups, a list of dicts with "params"'
    return ""


def reference_to(optimizer: Any) -> Callable[[], Any]:
    """Return a weak reference to an optimizer, if its class allows one."""
    try:
        return weakref.ref(optimizer)
    except TypeError:
        return lambda: optimizer


def _is_group(group: Any) -> bool:
    return isinstance(group, dict) and isinstance(group.get("params"), (list, tuple))
