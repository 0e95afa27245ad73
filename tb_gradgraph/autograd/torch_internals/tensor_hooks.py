"""Notice hooks that the user puts on tensors, and put ours where those of tensors are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tb_gradgraph.autograd.torch_internals.replaced import Replaced


def listen_for_hooks(listener: Callable[[], None]) -> Callable[[], None]:
    """Call ``listener`` for every ``register_hook`` on a tensor with history; return a function to end this.

    Such a hook may change a gradient between two operations that do not. Autograd does not report
    it, so ``Tensor.register_hook`` is replaced while there is a listener.
    """
    return _replaced.listen(listener)


def _told(register_hook: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(register_hook)
    def told_register_hook(tensor: torch.Tensor, hook: Callable[..., Any]) -> Any:
        if tensor.grad_fn is not None:
            for listener in tuple(_replaced.listeners):
                listener()
        return register_hook(tensor, hook)

    return told_register_hook


_replaced: Replaced[Callable[[], None]] = Replaced(torch.Tensor, "register_hook", _told)


def _carriers() -> tuple[torch.Tensor, ...]:
    with torch.inference_mode(False), torch.enable_grad():
        return torch.zeros(_SLOTS, device="cpu", requires_grad=True).unbind()


_SLOTS = 8
#: Tensors that carry a table of hooks to the slot of their own number, when they are given to
#: ``Node._register_hook_dict``. ``Tensor.register_hook`` gives it the tensor itself.
CARRIERS = _carriers()
