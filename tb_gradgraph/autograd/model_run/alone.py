"""Prevent our own pass from waiting for other processes, if only this process runs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

import torch
from torch import distributed

from tb_gradgraph.autograd.torch_internals.engine import DispatchMode
from tb_gradgraph.autograd.torch_internals.tensor_classes import (
    is_distributed,
    owned_tensors,
    reducers_off,
    sharded_by,
    walk_modules,
)
from tb_gradgraph.errors import CaptureError

#: The namespaces of operations that wait for every process.
_NAMESPACES = frozenset({"c10d", "_c10d_functional", "_c10d_functional_autograd", "symm_mem"})
_WATCH = "Record the training instead, which adds no pass: watch(writer, model, optimizer=...)."


@contextlib.contextmanager
def run_alone(model: torch.nn.Module, all_ranks: bool, where: str) -> Iterator[None]:
    """Run the block, in which ``model`` is called, without waiting for another process.

    Gradients are those of this process (``reducers_off``). A model that cannot do without the
    others is refused before it waits for them.

    Args:
        model: Left as it was.
        all_ranks: Whether every process makes this call, so that they may wait for each other.
        where: The user's call, for messages.

    Raises:
        CaptureError: The model needs the other processes.
    """
    if _world_size() == 1:
        yield
        return
    _check(model, all_ranks, where)
    guard = contextlib.nullcontext() if all_ranks else _Guard(where)
    with reducers_off(model), guard:
        yield


def _world_size() -> int:
    if not (distributed.is_available() and distributed.is_initialized()):
        return 1
    return distributed.get_world_size()


def _check(model: torch.nn.Module, all_ranks: bool, where: str) -> None:
    for name, module in walk_modules(model):
        if what := sharded_by(module):
            _refuse(where, f"{_place(name)} is sharded by {what}", _WATCH)
    if all_ranks:
        return
    for _, name, tensor in owned_tensors(model):
        if is_distributed(tensor):
            _refuse(where, f"{name!r} is distributed over several processes", _cure(where))


def _place(name: str) -> str:
    return f"its part {name!r}" if name else "it"


def _cure(where: str) -> str:
    name = where.partition("(")[0]
    return f"Call it on each of them as {name}(..., all_ranks=True). {_WATCH}"


def _refuse(where: str, why: str, cure: str) -> NoReturn:
    raise CaptureError(
        f"{where}: expected a model that this process can run by itself, got one that would wait for "
        f"the {_world_size() - 1} others: {why}. {cure}"
    )


class _Guard(DispatchMode):
    """Refuses the first operation that would wait for other processes."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False. Otherwise torch would import its compiler (2 s) to exclude this method from it."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, if this process can do so by itself."""
        if func.namespace in _NAMESPACES:
            operation = f"{func.namespace}.{func.overloadpacket.__name__}"
            _refuse(self._where, f"it runs {operation}", _cure(self._where))
        return func(*args, **(kwargs or {}))
