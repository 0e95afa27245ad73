"""Every step that is asked of a GradScaler, and which losses one has multiplied."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import torch

from tb_gradgraph.autograd.engine import saved_tensors
from tb_gradgraph.autograd.replaced import Replaced
from tb_gradgraph.memory import has_memory

_SEARCHED = 64  # nodes behind a loss among which its multiplication by a scaler is looked for


class ScalerListener(Protocol):
    """What is told of a scaler's steps. Must not raise."""

    def before_scaled_step(self, scaler: Any, optimizer: Any) -> None:
        """``scaler.step(optimizer)`` begins."""

    def after_scaled_step(self, scaler: Any, optimizer: Any) -> None:
        """It has ended well; the optimizer has stepped, or not."""


def listen_to_scalers(listener: ScalerListener) -> Callable[[], None]:
    """Have ``listener`` told of the steps of every scaler; give what ends that.

    ``GradScaler.step`` is replaced in the class for as long as anyone listens, so that
    nothing is put on a scaler and one that nobody has named is found.
    """
    return _replaced.listen(listener)


def _told(step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def told_step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        listeners = tuple(_replaced.listeners)
        for listener in listeners:
            listener.before_scaled_step(scaler, optimizer)
        result = step(scaler, optimizer, *args, **kwargs)
        for listener in listeners:
            listener.after_scaled_step(scaler, optimizer)
        return result

    return told_step


_replaced: Replaced[ScalerListener] = Replaced(torch.amp.GradScaler, "step", _told)


def loss_scale(scaler: Any) -> torch.Tensor | None:
    """Give a copy of what ``scaler`` multiplies losses with now; None where it does not."""
    if scaler is None or not scaler.is_enabled():
        return None
    scale = getattr(scaler, "_scale", None)  # get_scale() would wait for the device
    return scale.detach().clone() if _is_readable(scale) else None


def scaler_of(roots: Sequence[Any], variables: Iterable[Any]) -> Any:
    """Give the scaler among ``variables`` that has multiplied ``roots``, if one has."""
    scalers = (value for value in variables if isinstance(value, torch.amp.GradScaler))
    return next((scaler for scaler in scalers if _has_multiplied(scaler, roots)), None)


def _is_readable(scale: Any) -> bool:
    return isinstance(scale, torch.Tensor) and has_memory(scale)


def _has_multiplied(scaler: Any, roots: Sequence[Any]) -> bool:
    scale = getattr(scaler, "_scale", None)
    if not _is_readable(scale):
        return False
    nodes = [root.grad_fn for root in roots if isinstance(root, torch.Tensor)]
    for node in nodes:  # grows as it is read
        if node is None or len(nodes) > _SEARCHED:
            continue
        if type(node).__name__ == "MulBackward0":
            factors = (factor for _, factor in saved_tensors(node) if has_memory(factor))
            if any(factor.data_ptr() == scale.data_ptr() for factor in factors):
                return True
        nodes += [source for source, _ in node.next_functions]
    return False
