"""Find modules that are in evaluation mode, and modules that do not belong to their model."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn

from tb_gradgraph.autograd import walk_modules

_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
_DROPOUTS = (
    *(nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d),
    *(nn.AlphaDropout, nn.FeatureAlphaDropout),
)
#: Attributes that every module has.
_OF_TORCH = frozenset(vars(nn.Module()))
#: How many entries of an attribute are looked at.
_MOST_ENTRIES = 256


class Modes:
    """Counts batch normalizations and dropouts in evaluation mode, again and again."""

    def __init__(self, model: nn.Module) -> None:
        """Find the modules once. They are not kept alive."""
        modules = (module for _, module in _each_once(model))
        self._modules = [
            weakref.ref(module)
            for module in modules
            if _is_fixed_norm(module) or _is_idle_dropout(module)
        ]

    def evaluating(self) -> int:
        """Return how many are in evaluation mode now."""
        modules = (of() for of in self._modules)
        return sum(1 for module in modules if module is not None and not module.training)


def batch_dependent_in_evaluation(model: nn.Module) -> Iterator[str]:
    """Yield the batch normalizations and dropouts that evaluation mode has changed."""
    for name, module in _each_once(model):
        if not module.training and (_is_fixed_norm(module) or _is_idle_dropout(module)):
            yield name


def _is_fixed_norm(module: nn.Module) -> bool:
    return isinstance(module, _NORMS) and module.running_mean is not None


def _is_idle_dropout(module: nn.Module) -> bool:
    return isinstance(module, _DROPOUTS) and getattr(module, "p", 0) > 0


def outer_in_evaluation(model: nn.Module) -> Iterator[str]:
    """Yield the modules in evaluation mode that a module in training mode holds."""
    modes = {name: module.training for name, module in walk_modules(model)}
    for name, module in _each_once(model):
        if name and not module.training and modes.get(name.rpartition(".")[0], False):
            yield name


def unregistered_attributes(model: nn.Module) -> Iterator[str]:
    """Yield the attributes with parameters, or tensors that learn, which the model does not have.

    Modules in such an attribute are not moved, saved or given to an optimizer with the model.
    """
    owned = {id(p) for _, module in walk_modules(model) for p in module._parameters.values()}
    for name, module in _each_once(model):
        for attribute, value in list(vars(module).items()):
            if attribute in _OF_TORCH:
                continue
            if _is_plain_leaf(value) or any(id(p) not in owned for p in _parameters(value)):
                yield f"{name}.{attribute}" if name else attribute


def _is_plain_leaf(value: Any) -> bool:
    """Return whether a value is a tensor that learns but is no Parameter, so that the model lacks it."""
    if not isinstance(value, torch.Tensor) or isinstance(value, nn.Parameter):
        return False
    return value.requires_grad and value.is_leaf


def _parameters(value: Any) -> Iterator[torch.Tensor]:
    """Yield the parameters in a list, tuple or dict, and those of the modules in it."""
    entries: Iterable[Any] = ()
    if isinstance(value, (list, tuple)):
        entries = value
    elif isinstance(value, dict):
        entries = value.values()
    for entry in itertools.islice(entries, _MOST_ENTRIES):
        if isinstance(entry, nn.Parameter):
            yield entry
        elif isinstance(entry, nn.Module):
            for _, module in walk_modules(entry):
                yield from (p for p in module._parameters.values() if p is not None)


def _each_once(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    seen: set[int] = set()
    for name, module in walk_modules(model):
        if id(module) not in seen:
            seen.add(id(module))
            yield name, module
