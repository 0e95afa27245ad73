"""The private parts of torch.autograd that capturing relies on, each named once.

A test calls each of them, so that it fails if a new torch changes one.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import warnings
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils.hooks import RemovableHandle

from tb_gradgraph.autograd.torch_internals.without_numbers import TaskOfThread

try:
    from torch.utils import _python_dispatch as _modes
except ImportError:
    _modes = None  # type: ignore[assignment]  # torch's modules are never None

#: Torch's module of dispatch modes; None if there is none.
modes: Any = _modes
#: Torch's dispatch mode, which sees operations as they are executed; without it, an empty block.
DispatchMode: Any = getattr(modes, "TorchDispatchMode", contextlib.nullcontext)

#: Torch's function mode, which sees calls of torch's functions before autograd does.
FunctionMode: Any = torch.overrides.TorchFunctionMode

#: Whether a function mode can be ended while others are active.
LEAVES_FUNCTION_MODES = all(
    hasattr(torch.overrides, name)
    for name in ("_get_current_function_mode_stack", "_pop_mode", "_push_mode")
)


def enter_function_mode(mode: Any) -> None:
    """Begin a function mode below all others, except that of a default device, which is lowest.

    The user's code ends a mode by taking off the highest one, which must be its own. Its mode may
    be older than ours.
    """
    overrides: Any = torch.overrides
    stack = overrides._get_current_function_mode_stack()
    lowest = int(bool(stack) and type(stack[0]).__name__ == "DeviceContext")
    above = [overrides._pop_mode() for _ in stack[lowest:]]
    for each in (mode, *reversed(above)):
        overrides._push_mode(each)


def leave_function_mode(mode: Any) -> None:
    """End a function mode, even if others have begun after it. Does nothing if it is not active."""
    overrides: Any = torch.overrides
    stack = overrides._get_current_function_mode_stack()
    if mode not in stack:
        return
    above = [overrides._pop_mode() for _ in stack[stack.index(mode) + 1 :]]
    overrides._pop_mode()
    for other in reversed(above):
        overrides._push_mode(other)


#: Whether torch gives sequence numbers of nodes and has dispatch modes. If not, see outputs.py.
HAS_NUMBERS = (
    hasattr(torch.autograd, "_get_sequence_nr")
    and hasattr(torch.autograd.Function, "_sequence_nr")
    and hasattr(modes, "TorchDispatchMode")
)

#: The number that this thread's next autograd node will get; 0 if torch has none.
next_sequence_nr: Callable[[], int] = torch.autograd._get_sequence_nr if HAS_NUMBERS else int


#: A block in which the user's modes and subclasses do not notice that we look at a tensor.
functions_not_overridden: Any = getattr(torch._C, "DisableTorchFunction", contextlib.nullcontext)
#: Blocks in which the user's dispatch modes do not notice operations on plain tensors, and in which
#: autocast does not change them.
modes_paused: Any = getattr(torch._C, "_DisableTorchDispatch", contextlib.nullcontext)
autocast_paused: Any = getattr(torch._C, "_DisableAutocast", contextlib.nullcontext)


def call_after_backward(callback: Callable[[], None]) -> None:
    """Call ``callback`` when the running backward has ended."""
    torch.autograd.Variable._execution_engine.queue_callback(callback)


#: The number of the running backward; -1 if none is running.
current_graph_task: Callable[[], int] = getattr(
    torch._C, "_current_graph_task_id", None
) or TaskOfThread(call_after_backward)


def remove_keyword_hook(handle: RemovableHandle) -> None:
    """Remove a global forward hook ``with_kwargs``. Torch's handle (2.13) leaves an entry behind."""
    handle.remove()
    module = torch.nn.modules.module
    getattr(module, "_global_forward_hooks_with_kwargs", {}).pop(handle.id, None)


def accumulated_leaf(node: AutogradNode) -> torch.Tensor | None:
    """Return the leaf that an AccumulateGrad node belongs to, else ``None``."""
    is_leaf = full_name(node).endswith("AccumulateGrad")
    return getattr(node, "variable", None) if is_leaf else None


# The node of a custom Function is also its ``ctx``. What its forward writes there (``ctx.name =
# ..``) hides the node's own methods, so we use those of the class.


def full_name(node: AutogradNode) -> str:
    """Return autograd's name of ``node``."""
    return type(node).name(node)


def prehook_of(node: AutogradNode) -> Callable[[Any], RemovableHandle]:
    """Return the function that puts a prehook on ``node``."""
    return functools.partial(type(node).register_prehook, node)


def hook_of(node: AutogradNode) -> Callable[[Any], RemovableHandle]:
    """Return the function that puts a hook on ``node``."""
    return functools.partial(type(node).register_hook, node)


def sequence_nr(node: AutogradNode) -> int:
    """Return the sequence number of ``node``; leaves have the greatest. Needs ``HAS_NUMBERS``."""
    return type(node)._sequence_nr(node)


def bounds_of(node: Any) -> tuple[float, float] | None:
    """Return the least and the greatest result of the ``hardtanh`` that made ``node``, if torch has them."""
    low, high = getattr(node, "_saved_min_val", None), getattr(node, "_saved_max_val", None)
    return None if low is None or high is None else (float(low), float(high))


def dim_of(node: Any) -> int:
    """Return the dimension that an operation such as ``softmax`` worked along; negative from the end."""
    dim = int(getattr(node, "_saved_dim", -1))
    return dim if dim < 2**63 else dim - 2**64  # torch keeps it without a sign


def node_name(node: AutogradNode) -> str:
    """Return autograd's name of ``node`` without namespaces."""
    return full_name(node).rpartition("::")[2]


#: The identity of a tensor's memory. While it is held, no other memory gets it.
StorageRef = StorageWeakRef


def storage_ref(tensor: torch.Tensor) -> StorageRef | None:
    """Return the identity of the memory behind ``tensor``; ``None`` if it has none."""
    try:
        return StorageWeakRef(tensor.untyped_storage())
    except (NotImplementedError, RuntimeError):  # sparse, or a subclass without storage
        return None


def input_metadata(node: AutogradNode) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Return shape and dtype of each slot of ``node``, if autograd has them."""
    return tuple(
        [(plain_shape(entry.shape), dtype_name(entry.dtype)) for entry in node._input_metadata]
    )


def plain_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return sizes as plain numbers. A ragged size (of a nested tensor) is given as 0."""
    sizes = tuple(shape)
    return sizes if _INT.issuperset(map(type, sizes)) else tuple(map(_plain_size, sizes))


def shape_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return a tensor's sizes. Of a strided nested one torch gives only the first; the others are 0."""
    if tensor.is_nested and tensor.layout == torch.strided:
        return (tensor.size(0), *[0] * (tensor.dim() - 1))
    return plain_shape(tensor.shape)


#: Returns whether a tensor is a batched tensor of vmap.
_BATCHED: tuple[Callable[[torch.Tensor], bool], ...] = tuple(
    getattr(torch._C._functorch, name)
    for name in ("is_batchedtensor", "is_legacy_batchedtensor")
    if hasattr(getattr(torch._C, "_functorch", None), name)
)


#: Returns the running transform of torch.func; None if there is none.
peek_interpreters: Callable[[], Any] = getattr(
    getattr(torch._C, "_functorch", None), "peek_interpreter_stack", lambda: None
)


def stands_for_many(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is a batched tensor of ``vmap``, which cannot be read."""
    return any(is_of_kind(tensor) for is_of_kind in _BATCHED)


_INT = frozenset([int])


def _plain_size(size: int) -> int:
    try:
        return int(size)
    except (AttributeError, RuntimeError):  # torch's symbol of a ragged dimension
        return 0


@functools.cache
def dtype_name(dtype: torch.dtype) -> str:
    """Return torch's name of ``dtype`` without "torch."."""
    return str(dtype).removeprefix("torch.")


def custom_function(node: AutogradNode) -> type | None:
    """Return the user's torch.autograd.Function that made ``node``, else ``None``."""
    return getattr(type(node), "_forward_cls", None)


#: Whether torch (from 2.9 on) shows if the user's hooks packed what a node saved.
TELLS_PACKED = hasattr(
    getattr(getattr(torch._C, "_autograd", None), "SavedTensor", None), "unpack_hook"
)


def viewed(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor that ``tensor`` is a view of, or itself if it is none."""
    base = tensor._base if tensor._is_view() else None
    return tensor if base is None else base


def saved_tensors(node: AutogradNode, names: Container[str]) -> Iterator[tuple[str, torch.Tensor]]:
    """Return the tensors that ``node`` saved under one of ``names``.

    Tensors that the user's saved_tensors_hooks (checkpointing, offloading) packed are left out,
    because unpacking them could recompute a forward. If torch cannot tell which these are, all are
    left out.
    """
    for name in names_of_saved(type(node)) if TELLS_PACKED else ():
        if name not in names:
            continue
        try:
            raw = getattr(node, "_raw_saved_" + name)
            parts = raw if isinstance(raw, tuple) else (raw,)
            if any(part.unpack_hook is not None for part in parts):
                continue
            found = getattr(node, "_saved_" + name)
        except (RuntimeError, AttributeError):  # it was freed, or changed in place since
            continue
        for tensor in found if isinstance(found, tuple) else (found,):
            if isinstance(tensor, torch.Tensor):
                yield name, tensor


@functools.lru_cache(maxsize=4096)
def names_of_saved(kind: type) -> tuple[str, ...]:
    """Return the names of the tensors that nodes of a kind save; none for a custom Function."""
    prefix = "_raw_saved_"
    if hasattr(kind, "_forward_cls"):
        return ()
    return tuple(name.removeprefix(prefix) for name in dir(kind) if name.startswith(prefix))


@contextlib.contextmanager
def compiled_regions_eager() -> Iterator[None]:
    """In the block, run code made by torch.compile from its eager source; compile nothing.

    If the compiler was not imported, nothing is compiled, and it is not imported for this (2 s).
    Its warning that global module hooks also fire for the wrapper is hidden, because the hooks are
    ours and handle wrappers.
    """
    if "torch._dynamo" not in sys.modules:
        yield
        return
    set_stance = getattr(torch.compiler, "set_stance", None)  # from torch 2.6 on
    eager = set_stance("force_eager") if set_stance else contextlib.nullcontext()
    with eager, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Using `torch.compile.module.` when there are global")
        yield


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause Python's garbage collector in the block.

    Otherwise it would walk the thousands of new hooks and nodes again and again, which is a third
    of their cost.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
