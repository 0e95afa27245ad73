"""Look up attributes of modules as Python does, but without running the user's code."""

from __future__ import annotations

import types
from collections import OrderedDict
from typing import Any

from torch import nn

#: Types of class attributes whose lookup runs no code: neither a property nor another descriptor.
_METHODS = (types.FunctionType, staticmethod, classmethod)
_TABLES = ("_parameters", "_buffers", "_modules")


def attribute_of(owner: Any, name: str) -> Any:
    """Return attribute ``name`` of a module; ``None`` if it may be a property, or does not exist."""
    if not looks_up_plainly(owner, name) or _in_class(type(owner), name):
        return None
    own = object.__getattribute__(owner, "__dict__")
    if name in own:
        return own[name]
    for table in _TABLES:
        found = own.get(table)
        if type(found) in (dict, OrderedDict) and name in found:
            return found[name]
    return None


def looks_up_plainly(owner: Any, name: str) -> bool:
    """Return whether looking up attribute ``name`` of a module runs only torch's code."""
    kind = type(owner)
    if not issubclass(kind, nn.Module) or kind.__getattribute__ is not object.__getattribute__:
        return False
    if getattr(kind, "__getattr__", None) is not nn.Module.__getattr__:
        return False
    if any("__dict__" in vars(each) for each in kind.__mro__ if each not in (nn.Module, object)):
        return False
    return all(type(found) in _METHODS for found in _in_class(kind, name))


def _in_class(kind: type, name: str) -> list[object]:
    return [vars(each)[name] for each in kind.__mro__ if name in vars(each)]
