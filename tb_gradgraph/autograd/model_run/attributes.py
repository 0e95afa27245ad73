"""Save the attributes of modules, and restore them after a forward has changed them."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from tb_gradgraph.memory import is_freed

_TABLES = ("_parameters", "_buffers", "_modules")
_CONTAINERS = (list, dict, set, collections.OrderedDict, collections.defaultdict, collections.deque)


@contextlib.contextmanager
def attributes_kept(model: torch.nn.Module) -> Iterator[None]:
    """Restore, at the end of the block, every attribute of every module of ``model``.

    In the block the model uses copies of its buffers. A replaced attribute gets its old value back.
    A changed list, dict, set or deque gets its old content back, and a tensor changed in place its
    old elements. Changes inside objects of other libraries or of C++ (TorchScript attributes) are
    not undone. A lazy module keeps the parameters that its first forward creates.
    """
    modules = [module for module in model.modules() if not _is_uninitialized(module)]
    saved = [_SavedModule(module) for module in modules]
    containers = _SavedContainers(saved)
    copies: dict[int, torch.Tensor] = {}
    try:
        for module in saved:
            module.lend_buffers(copies)
        yield
    finally:
        containers.restore()
        for module in saved:
            module.restore()


@contextlib.contextmanager
def elements_kept(tensors: list[torch.Tensor]) -> Iterator[None]:
    """Restore, at the end of the block, tensors that it changed in place.

    Inference tensors have no version counter; they are not restored.
    """
    copies = [
        (tensor, tensor._version, tensor.detach().clone())
        for tensor in tensors
        if not (tensor.is_inference() or is_freed(tensor))
    ]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, version, copy in copies:
                if tensor._version != version:
                    tensor.detach().copy_(copy)


def _is_uninitialized(module: torch.nn.Module) -> bool:
    own = (*module._parameters.values(), *module._buffers.values())
    return any(tensor is not None and is_lazy(tensor) for tensor in own)


class _SavedModule:
    """Attributes of one module: its instance dictionary, the tables in it, and slots."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.values = dict(module.__dict__)
        self.slots = {name: getattr(module, name) for name in _slots(module)}
        self._module = module
        self._tables = [
            (table, dict(table)) for table in _tables(module) if isinstance(table, dict)
        ]
        self._buffers = dict(module._buffers.items())

    def lend_buffers(self, copies: dict[int, torch.Tensor]) -> None:
        """Replace each buffer by a copy. Modules that share a buffer share the copy."""
        for name, buffer in self._buffers.items():
            if buffer is not None:
                if id(buffer) not in copies:
                    copies[id(buffer)] = buffer if is_freed(buffer) else buffer.detach().clone()
                self._module._buffers[name] = copies[id(buffer)]

    def restore(self) -> None:
        """Restore everything."""
        attributes = self._module.__dict__
        for name in [name for name in attributes if name not in self.values]:
            del attributes[name]
        attributes.update(self.values)
        for name, value in self.slots.items():
            object.__setattr__(self._module, name, value)
        for table, entries in self._tables:
            table.clear()
            table.update(entries)
        for name, buffer in self._buffers.items():  # a ScriptModule's table is not a dict
            if self._module._buffers[name] is not buffer:
                self._module._buffers[name] = buffer


class _SavedContainers:
    """The contents of plain containers on modules, however deeply nested."""

    def __init__(self, modules: list[_SavedModule]) -> None:
        self._copies: dict[int, tuple[Any, Any]] = {}
        tensors: dict[int, torch.Tensor] = {}
        pending = [v for m in modules for v in (*m.values.values(), *m.slots.values())]
        seen = {id(m.values[name]) for m in modules for name in _TABLES if name in m.values}
        while pending:
            value = pending.pop()
            if isinstance(value, torch.Tensor):
                tensors[id(value)] = value
            elif type(value) in _CONTAINERS and id(value) not in seen:
                seen.add(id(value))
                self._copies[id(value)] = (value, value.copy())
                pending += value.values() if isinstance(value, dict) else value
        self._elements = contextlib.ExitStack()
        self._elements.enter_context(elements_kept(list(tensors.values())))

    def restore(self) -> None:
        """Refill each changed container."""
        for value, copy in self._copies.values():
            value.clear()
            if isinstance(value, (list, collections.deque)):
                value.extend(copy)
            else:
                value.update(copy)
        self._elements.close()


def _tables(module: torch.nn.Module) -> list[Any]:
    return [getattr(module, name) for name in _TABLES]


def _slots(module: torch.nn.Module) -> list[str]:
    """List the attributes that the module's classes keep outside its dictionary."""
    names = []
    for cls in type(module).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name != "__dict__" and hasattr(module, name)]
