"""Look up torch's schemas of functions: whether they return a tensor, and the names of arguments."""

from __future__ import annotations

import functools
import re
from typing import Any

import torch

_BACKWARD = re.compile(r"Backwards?\d*$")
_TENSORS = frozenset(("Tensor", "Optional[Tensor]", "List[Tensor]", "List[Optional[Tensor]]"))


@functools.lru_cache(maxsize=4096)
def word_of(kind: str) -> str:
    """Return torch's name for a kind of node: ``index_add`` for ``IndexAddBackward0``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", _BACKWARD.sub("", kind)).lower()


@functools.lru_cache(maxsize=4096)
def schemas_of(name: str) -> tuple[Any, ...]:
    """Return the schemas of torch's function ``name``; none if there is no such function."""
    packet: Any = getattr(torch.ops.aten, name, None)
    overloads = packet.overloads() if hasattr(packet, "overloads") else ()
    return tuple(getattr(packet, overload)._schema for overload in overloads)


@functools.lru_cache(maxsize=4096)
def gives_tensor(name: str, is_method: bool) -> bool:
    """Return whether the function ``name`` always returns one tensor, for any arguments.

    Only overloads that Python can call count: those that take a tensor, or make one. Others
    (``log`` of a number) belong to TorchScript.
    """
    schemas = [each for each in schemas_of(name) if _is_called(each, is_method)]
    return bool(schemas) and all(_gives(each) == ["Tensor"] for each in schemas)


@functools.lru_cache(maxsize=4096)
def parameters_of(name: str) -> tuple[str, ...]:
    """Return the names of a function's positional arguments that take tensors.

    The name is "" for an argument that takes no tensor, or that has different names.
    """
    schemas = [each for each in schemas_of(name) if _is_called(each, False)]
    places: list[set[str]] = []
    for schema in schemas:
        for place, argument in enumerate(schema.arguments):
            if argument.kwarg_only:
                break
            places += [set()] if place == len(places) else []
            if str(argument.type) in _TENSORS:
                places[place].add(argument.name)
    return tuple(next(iter(names)) if len(names) == 1 else "" for names in places)


@functools.lru_cache(maxsize=4096)
def takes_tensors(name: str, is_method: bool) -> bool:
    """Return whether Python can give a function tensors, beside the one whose method it is."""
    schemas = [each for each in schemas_of(name) if _is_called(each, is_method)]
    rest = [argument for each in schemas for argument in each.arguments[1 if is_method else 0 :]]
    return any(str(each.type) in _TENSORS and each.alias_info is None for each in rest)


def _is_called(schema: Any, is_method: bool) -> bool:
    arguments = schema.arguments
    if is_method:
        return bool(arguments) and str(arguments[0].type) == "Tensor"
    makes = any(argument.name == "dtype" for argument in arguments)
    return makes or any(str(argument.type) in _TENSORS for argument in arguments)


def _gives(schema: Any) -> list[str]:
    return [str(result.type) for result in schema.returns]
