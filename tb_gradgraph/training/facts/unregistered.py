"""Find tensors that learn but do not belong to the model whose module holds them."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import torch
from torch import nn

from tb_gradgraph.autograd import is_module_wrapper, walk_modules
from tb_gradgraph.training.facts.module_facts import each_once

#: Attributes that every module has.
_OF_TORCH = frozenset(vars(nn.Module()))
#: How many entries of an attribute are looked at.
_MOST_ENTRIES = 256


class UnregisteredAttributes:
    """Attributes with parameters, or tensors that learn, which the model does not have.

    Modules in such an attribute are not moved, saved or given to an optimizer with the model.
    What a wrapper such as DeepSpeed's engine keeps for itself is not looked at.
    """

    def __init__(self, model: nn.Module) -> None:
        """Note, by weak references, the tensors before the forward, which may keep its input."""
        self._leaves: dict[int, weakref.ref[torch.Tensor]] = {}
        with contextlib.suppress(Exception):  # names() fails on the same again, and is heard
            for _, value in _attributes(model):
                if _is_plain_leaf(value):
                    self._leaves[id(value)] = weakref.ref(value)

    def names(self, model: nn.Module, held: Collection[int]) -> Iterator[str]:
        """Yield their names; ``held`` are the tensors that an optimizer has, by ``id``."""
        own = {id(p) for _, module in walk_modules(model) for p in module._parameters.values()}
        for name, value in _attributes(model):
            if _is_plain_leaf(value):
                before = self._leaves.get(id(value))
                learn = [value] if before is not None and before() is value else []
            else:
                learn = [p for p in _parameters(value) if p.requires_grad and id(p) not in own]
            if any(id(tensor) not in held for tensor in learn):
                yield name


def _attributes(model: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, module in each_once(model):
        for attribute, value in list(vars(module).items()):
            if attribute not in _OF_TORCH and not is_module_wrapper(module):
                yield f"{name}.{attribute}" if name else attribute, value


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
