"""Run a model once and leave it, its inputs and the random state as they were."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.parameter import is_lazy

_TABLES = ("_parameters", "_buffers", "_modules")


@contextlib.contextmanager
def preserved(model: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> Iterator[None]:
    """Undo, at the end of the block, what a forward of ``model`` changes.

    Buffers are replaced by copies while the block runs, so that the originals
    are never written. Attributes that a forward sets (counters, caches, hidden
    states) are set back. An input changed in place gets its values back.
    Random state of Python, numpy, the CPU and every device in use is restored.
    Parameters are not copied: a forward that writes to them is not undone. A
    lazily initialised model keeps the parameters that its first forward makes.
    """
    tensors = [*model.parameters(), *model.buffers(), *inputs]
    devices = {tensor.device.index for tensor in tensors if tensor.device.type == "cuda"}
    with (
        torch.random.fork_rng(devices=sorted(devices)),
        _host_random_state(),
        torch.enable_grad(),
        _inputs_kept(inputs),
        _modules_kept(model),
    ):
        torch.clear_autocast_cache()
        try:
            yield
        finally:
            torch.clear_autocast_cache()


@contextlib.contextmanager
def _host_random_state() -> Iterator[None]:
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  the user's code may use it
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


@contextlib.contextmanager
def _inputs_kept(inputs: Sequence[torch.Tensor]) -> Iterator[None]:
    """Give back the values of inputs that the block changes in place."""
    copies = [(tensor, tensor._version, tensor.detach().clone()) for tensor in inputs]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, version, copy in copies:
                if tensor._version != version:
                    tensor.detach().copy_(copy)


@contextlib.contextmanager
def _modules_kept(model: torch.nn.Module) -> Iterator[None]:
    """Give back every attribute of every module, with buffers never written."""
    if any(is_lazy(parameter) for parameter in model.parameters()):
        yield
        return
    saved = [(module, _attributes(module)) for module in model.modules()]
    copies: dict[int, torch.Tensor] = {}
    try:
        for module, _ in saved:
            _lend_buffers(module, copies)
        yield
    finally:
        for module, attributes in saved:
            _restore(module, attributes)


def _attributes(module: torch.nn.Module) -> dict[str, Any]:
    attributes = dict(module.__dict__)
    for table in _TABLES:
        attributes[table] = (module.__dict__[table], dict(module.__dict__[table]))
    return attributes


def _lend_buffers(module: torch.nn.Module, copies: dict[int, torch.Tensor]) -> None:
    """Replace each buffer by a copy, one for a buffer that several modules share."""
    for name, buffer in module._buffers.items():
        if buffer is not None:
            if id(buffer) not in copies:
                copies[id(buffer)] = buffer.detach().clone()
            module._buffers[name] = copies[id(buffer)]


def _restore(module: torch.nn.Module, attributes: dict[str, Any]) -> None:
    for name in [name for name in module.__dict__ if name not in attributes]:
        del module.__dict__[name]
    for name, value in attributes.items():
        if name in _TABLES:
            table, entries = value
            table.clear()
            table.update(entries)
            value = table
        module.__dict__[name] = value
