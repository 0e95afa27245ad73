"""What torch's schemas say of its functions: whether they give a tensor, how arguments are called."""

from __future__ import annotations

import functools
import re
from typing import Any

import torch

_BACKWARD = re.compile(r"Backwards?\d*$")
_TENSORS = frozenset(("Tensor", "Optional[Tensor]", "List[Tensor]", "List[Optional[Tensor]]"))


@functools.lru_cache(maxsize=4096)
def word_of(kind: str) -> str:
    """Return torch's word for a kind of node: ``index_add`` for ``IndexAddBackward0``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", _BACKWARD.sub("", kind)).lower()


@functools.lru_cache(maxsize=4096)
def schemas_of(name: str) -> tuple[Any, ...]:
    """Return the schemas of torch's function ``name``; none if it has none of that name."""
    packet = getattr(torch.ops.aten, name, None)
    overloads = packet.overloads() if hasattr(packet, "overloads") else ()
    return tuple(getattr(packet, overload)._schema for overload in overloads)


@functools.lru_cache(maxsize=4096)
def gives_tensor(name: str, is_method: bool) -> bool:
    """Return whether what Python calls as ``name`` gives one tensor, whatever it is given.

    Of the overloads with the name those count that Python can call: with a tensor, or those
    that make one. Others (``log`` of a number) are of TorchScript.
    """
    schemas = [each for each in schemas_of(name) if _is_called(each, is_method)]
    return bool(schemas) and all(_gives(each) == ["Tensor"] for each in schemas)


@functools.lru_cache(maxsize=4096)
def parameters_of(name: str) -> tuple[str, ...]:
    """Return how the positional arguments of a function that take tensors are called.

    An argument that takes no tensor, or that has several names, is "".
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


def _is_called(schema: Any, is_method: bool) -> bool:
    arguments = schema.arguments
    if is_method:
        return bool(arguments) and str(arguments[0].type) == "Tensor"
    makes = any(argument.name == "dtype" for argument in arguments)
    return makes or any(str(argument.type) in _TENSORS for argument in arguments)


def _gives(schema: Any) -> list[str]:
    return [str(result.type) for result in schema.returns]
