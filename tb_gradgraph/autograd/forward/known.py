"""Find names of the tensors that a model owns or gets as inputs."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tb_gradgraph.autograd.forward.forward import KnownTensor
from tb_gradgraph.autograd.forward.named_tensors import named_tensors
from tb_gradgraph.autograd.torch_internals.tensor_classes import (
    owned_tensors,
    unwrapped,
    walk_modules,
)
from tb_gradgraph.graph import NO_SCOPE, NodeKind, Scope


def names_of_modules(model: torch.nn.Module) -> Mapping[int, str]:
    """Return the qualified name of each module by ``id``; "" is the model itself."""
    found: dict[int, str] = {}
    for name, module in walk_modules(model):
        found.setdefault(id(module), name)
    return found


def known_tensors(
    model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Mapping[int, KnownTensor]:
    """Return kind and names of parameters, buffers and inputs by ``id`` of the tensor.

    A tied parameter has several names. The first one is that of ``named_parameters``.
    """
    owned: dict[int, tuple[NodeKind, list[str]]] = {}
    for kind, name, tensor in owned_tensors(model):
        owned.setdefault(id(tensor), (kind, []))[1].append(name)
    for name, tensor in _named_inputs(model, args, kwargs):
        owned.setdefault(id(tensor), ("input", []))[1].append(name)
    return {identity: KnownTensor(kind, tuple(names)) for identity, (kind, names) in owned.items()}


def in_scopes(known: Mapping[int, KnownTensor], scopes: Sequence[Scope]) -> dict[int, KnownTensor]:
    """Place each parameter and buffer in the first call of the module that owns it."""
    first: dict[str, int] = {}
    for index, scope in enumerate(scopes):
        first.setdefault(scope.path, index)

    def place(tensor: KnownTensor) -> KnownTensor:
        if tensor.kind == "input" or not tensor.is_owned:
            return tensor
        owners = (name.rpartition(".")[0] for name in tensor.names)
        scope = next((first[owner] for owner in owners if owner in first), NO_SCOPE)
        return tensor if scope == tensor.scope else dataclasses.replace(tensor, scope=scope)

    return {identity: place(tensor) for identity, tensor in known.items()}


def _named_inputs(
    model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[str, torch.Tensor]]:
    try:
        bound = inspect.signature(unwrapped(model).forward).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # the call of the model will raise a better error
        bound = {f"input{nr}": value for nr, value in enumerate(args)} | dict(kwargs)
    return [found for name, value in bound.items() for found in named_tensors(value, name)]
