"""Run a model once and leave it, its inputs and the random state as they were."""

from __future__ import annotations

import contextlib
import inspect
import random
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch

from tb_gradgraph.autograd.model_run.attributes import attributes_kept, elements_kept
from tb_gradgraph.autograd.torch_internals.engine import compiled_regions_eager


@contextlib.contextmanager
def preserved(model: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> Iterator[None]:
    """Undo, at the end of the block, the changes that a forward of ``model`` makes.

    Buffers and attributes are restored as ``attributes_kept`` says. An input that was changed in
    place gets its values back. The random state of Python, numpy, the CPU and every device in use
    is restored. Gradients are computed in the block even under the caller's ``no_grad`` or
    ``inference_mode``, and compiled code runs from its eager source. Parameters are not copied: a
    forward that writes to them is not undone.
    """
    tensors = [*model.parameters(), *model.buffers(), *inputs]
    devices = {tensor.device for tensor in tensors}
    with (
        torch.random.fork_rng(devices=[]),
        device_random_state(devices),
        host_random_state(),
        torch.inference_mode(False),
        torch.enable_grad(),
        elements_kept(list(inputs)),
        attributes_kept(model),
        compiled_regions_eager(),
    ):
        torch.clear_autocast_cache()
        try:
            yield
        finally:
            torch.clear_autocast_cache()


@contextlib.contextmanager
def device_random_state(devices: Iterable[torch.device]) -> Iterator[None]:
    """Return the random state of each device, if torch allows reading it."""
    kept = []
    for device in sorted(set(devices), key=str):
        module = getattr(torch, device.type, None)
        read, write = (getattr(module, f"{verb}_rng_state", None) for verb in ("get", "set"))
        if device.type not in ("cpu", "meta") and read is not None and write is not None:
            place = () if device.index is None else (device.index,)
            places = place if len(inspect.signature(read).parameters) else ()
            kept.append((write, read(*places), places))
    try:
        yield
    finally:
        for write, state, places in kept:
            write(state, *places)


@contextlib.contextmanager
def gradients_lent(leaves: Iterable[torch.Tensor]) -> Iterator[None]:
    """In the block, let a backward accumulate into an empty ``.grad``; restore the old one afterwards.

    Post-accumulate hooks do not run in the block, because an optimizer may step in them.
    """
    owned = {id(leaf): leaf for leaf in leaves}.values()
    kept = [(leaf, leaf.grad, dict(leaf._post_accumulate_grad_hooks or {})) for leaf in owned]
    for leaf, _, hooks in kept:
        leaf.grad = None
        if hooks:
            leaf._post_accumulate_grad_hooks.clear()
    try:
        yield
    finally:
        for leaf, gradient, hooks in kept:
            leaf.grad = gradient
            if hooks:
                leaf._post_accumulate_grad_hooks.update(hooks)


@contextlib.contextmanager
def host_random_state() -> Iterator[None]:
    """Restore the random state of Python and numpy at the end of the block."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  the user's code may use it
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
