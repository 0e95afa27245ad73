"""Modules that only stand before another: they are no part of a model's names, nor calls of their own."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch

#: Where torch.compile's wrapper of a module keeps it.
COMPILED = "_orig_mod"
#: Where other wrappers keep theirs, by the names of their classes; a user's own submodule may be
#: called the same.
_INNER = {
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "ActivationWrapper": "_checkpoint_wrapped_module",  # torch's checkpoint_wrapper
    "_FabricModule": "_forward_module",  # Lightning's
    "DeepSpeedEngine": "module",
    "GradSampleModule": "_module",  # opacus'
}


def is_wrapper(module: torch.nn.Module) -> bool:
    """Whether ``module`` only stands before another."""
    return _inner_name(module) is not None


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """Give the module that wrappers stand before, however many."""
    while (name := _inner_name(module)) is not None:
        module = module._modules[name]
    return module


def walk_modules(model: torch.nn.Module, name: str = "") -> Iterator[tuple[str, torch.nn.Module]]:
    """Give every module with its qualified name without wrappers, "" for the model, as often as it occurs.

    A wrapper has the name of what it stands before, and comes before that.
    """
    yield name, model
    inner = _inner_name(model)
    for part, child in model._modules.items():
        if child is not None:
            own = name if part == inner else f"{name}.{part}" if name else part
            yield from walk_modules(child, own)


def owned_tensors(
    model: torch.nn.Module,
) -> Iterator[tuple[str, str, torch.Tensor]]:
    """Give kind ("parameter", "buffer"), name and tensor of all that a model owns, as often as it occurs."""
    for name, module in walk_modules(model):
        prefix = f"{name}." if name else ""
        for kind, table in (("parameter", module._parameters), ("buffer", module._buffers)):
            for part, tensor in table.items():
                if tensor is not None:
                    yield kind, prefix + part, tensor


def _inner_name(module: torch.nn.Module) -> str | None:
    children = module._modules
    if COMPILED in children:
        return COMPILED
    name = _inner_of_kind(type(module))
    return name if name in children else None


@functools.lru_cache(maxsize=1024)
def _inner_of_kind(kind: type) -> str | None:
    return next((_INNER[base.__name__] for base in kind.__mro__ if base.__name__ in _INNER), None)
