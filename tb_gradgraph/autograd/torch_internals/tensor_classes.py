"""Wrappers of modules, tensors and optimizers: what is inside, and how it is distributed.

To support a new kind of wrapper, change only this file; all others ask it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeGuard

import torch

from tb_gradgraph.graph import NodeKind
from tb_gradgraph.memory import has_memory
from tb_gradgraph.statistics import WHOLE_LIMIT

#: The attribute in which torch.compile's wrapper keeps the module.
COMPILED = "_orig_mod"
#: The attributes of other wrappers, by the names of their classes, because a submodule of the user
#: may have the same name.
_INNER = {
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "ActivationWrapper": "_checkpoint_wrapped_module",  # torch's checkpoint_wrapper
    "_FabricModule": "_forward_module",  # Lightning's
    "DeepSpeedEngine": "module",
    "GradSampleModule": "_module",  # opacus'
}

#: Modules that distribute parameters over processes, by the names of their classes, with two texts:
#: the name of the method, and the placement of the gradients of plain parameters, as in
#: ``Slot.placement`` ("": each tensor knows). Gradients of FSDP1 are parts of flat tensors.
#: DeepSpeed's ZeRO sums those of all processes later.
_SHARDING = {
    "FSDPModule": ("fully_shard", ""),
    "FullyShardedDataParallel": ("FullyShardedDataParallel", "fsdp:?"),
    "DeepSpeedEngine": ("DeepSpeed", "zero:P"),
    "PipelineEngine": ("DeepSpeed", ""),
}

#: The attributes in which wrappers keep the optimizer: those of Accelerate and Lightning, and of Opacus.
_INNER_OPTIMIZER = ("optimizer", "original_optimizer")

#: Classes of tensors that are no wrappers.
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def is_module_wrapper(module: torch.nn.Module) -> bool:
    """Return whether ``module`` only wraps another."""
    return _inner_name(module) is not None


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """Return the module inside wrappers, however many."""
    while (name := _inner_name(module)) is not None:
        inner = module._modules[name]
        if inner is None:
            break
        module = inner
    return module


def class_name_of(kind: type) -> str:
    """Return the name of a module's class, without what torch's ``fully_shard`` and ``replicate`` add."""
    first, *others = kind.__bases__
    is_changed = first.__name__ in ("FSDPModule", "ReplicateModule") and others
    return (others[0] if is_changed else kind).__name__


def walk_modules(model: torch.nn.Module, name: str = "") -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield every module with its qualified name without wrappers ("": the model), repeats included.

    A wrapper has the name of what it wraps, and comes before it.
    """
    yield name, model
    inner = _inner_name(model)
    for part, child in model._modules.items():
        if child is not None:
            own = name if part == inner else f"{name}.{part}" if name else part
            yield from walk_modules(child, own)


def owned_tensors(
    model: torch.nn.Module,
) -> Iterator[tuple[NodeKind, str, torch.Tensor]]:
    """Yield kind ("parameter", "buffer"), name and tensor of all tensors of a model, repeats included."""
    for name, module in walk_modules(model):
        prefix = f"{name}." if name else ""
        for part, parameter in module._parameters.items():
            if parameter is not None:
                yield "parameter", prefix + part, parameter
        for part, buffer in module._buffers.items():
            if buffer is not None:
                yield "buffer", prefix + part, buffer


def _inner_name(module: torch.nn.Module) -> str | None:
    children = module._modules
    if COMPILED in children:
        return COMPILED
    kind: Any = type(module)  # otherwise mypy checks the wrong ``__hash__``
    name = _inner_of_kind(kind)
    return name if name in children else None


@functools.lru_cache(maxsize=1024)
def _inner_of_kind(kind: type) -> str | None:
    return next((_INNER[base.__name__] for base in kind.__mro__ if base.__name__ in _INNER), None)


_LETTERS = {"_StridedShard": "_S", "Shard": "S", "Replicate": "R", "Partial": "P"}


def _kinds_of(module: torch.nn.Module) -> set[str]:
    """Return the names of a module's classes, by which we recognize libraries without importing them."""
    return {kind.__name__ for kind in type(module).__mro__}


def is_replicated(module: torch.nn.Module) -> bool:
    """Return whether every process has equal parameters, because DistributedDataParallel keeps them so."""
    return "DistributedDataParallel" in _kinds_of(module)


def sharded_by(module: torch.nn.Module) -> str:
    """Return the name of what gathers a module's parameters for its forward; "" if nothing does."""
    kinds = _kinds_of(module)
    return next((called for kind, (called, _) in _SHARDING.items() if kind in kinds), "")


def placement_in(model: torch.nn.Module) -> str:
    """Return the placement of gradients of a model's plain parameters, as in ``Slot.placement``."""
    kinds = {kind for _, module in walk_modules(model) for kind in _kinds_of(module)}
    return next((place for kind, (_, place) in _SHARDING.items() if place and kind in kinds), "")


def is_fully_sharded(module: torch.nn.Module) -> bool:
    """Return whether ``fully_shard`` was applied to a module, so that it may have ``stand_ins``."""
    return "FSDPModule" in _kinds_of(module)


@contextlib.contextmanager
def reducers_off(model: torch.nn.Module) -> Iterator[None]:
    """In the block, make each ``DistributedDataParallel`` only call the module that it wraps."""
    kind = torch.nn.parallel.DistributedDataParallel
    wrappers = [module for module in model.modules() if isinstance(module, kind)]
    for wrapper in wrappers:
        vars(wrapper)["forward"] = _Inner(wrapper.module)
    try:
        yield
    finally:
        for wrapper in wrappers:
            vars(wrapper).pop("forward", None)


class _Inner:
    """Calls a module; a separate object, because a module as an attribute would become a child."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._module(*args, **kwargs)


def inner_optimizer(optimizer: Any) -> torch.optim.Optimizer | None:
    """Return the optimizer in a wrapper: from its attributes, or the owner of its step. ``None`` if none."""
    held = [attribute_of(optimizer, name) for name in _INNER_OPTIMIZER]
    held.append(getattr(attribute_of(optimizer, "step"), "__self__", None))
    return next((one for one in held if isinstance(one, torch.optim.Optimizer)), None)


def attribute_of(value: Any, name: str) -> Any:
    """Return an attribute of the user's object; ``None`` if there is none, or if reading it raises."""
    try:
        return getattr(value, name, None)
    except Exception:  # the user's property may raise
        return None


def is_small(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is kept whole: it is small and its elements can simply be read."""
    return (
        tensor.numel() <= WHOLE_LIMIT
        and (type(tensor) in _PLAIN or not is_tensor_wrapper(tensor))
        and not (tensor.is_nested or tensor.is_quantized)
        and has_memory(tensor)
    )


def small_copy(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a copy of a tensor that is kept whole; None for others, and for one that cannot be copied."""
    try:
        return tensor.detach().clone() if is_small(tensor) else None
    except Exception:  # an unusual class, or memory that was freed
        return None


def is_tensor_wrapper(tensor: torch.Tensor) -> bool:
    """Return whether a tensor's class runs operations itself, on tensors that it holds."""
    return type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def elements_of(gradient: torch.Tensor) -> torch.Tensor | None:
    """Return a plain tensor of the elements of ``gradient``; ``None`` if they cannot be read.

    Of a distributed tensor these are the elements that this process has. Of a nested one they are
    the elements without their structure. Some wrappers give no access to theirs, and some tensors
    have no memory.
    """
    if not has_memory(gradient):
        return None
    if gradient.is_nested:
        return gradient.values()
    if not is_tensor_wrapper(gradient):
        return gradient
    with torch.no_grad():  # otherwise it would be added to the user's graph
        local: Any = gradient.to_local() if hasattr(gradient, "to_local") else None
    return local.wait() if hasattr(local, "wait") else local


def local_part(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a plain tensor itself, with or without memory. Of other tensors return the elements."""
    return tensor if type(tensor) in _PLAIN else elements_of(tensor)


def is_distributed(tensor: torch.Tensor) -> TypeGuard[Any]:
    """Return whether a tensor is distributed by torch over more than one process."""
    mesh = getattr(tensor, "device_mesh", None)
    return mesh is not None and hasattr(tensor, "placements") and mesh.size() > 1


def placement_of(tensor: torch.Tensor) -> str:
    """Describe the placement of a distributed tensor: ``fsdp:S0,tp:R``; "" if this process has all of it.

    There is one item for each dimension of the mesh that has several processes: its name (or its
    number) and a code. ``S<dimension>``: the tensor is split along that dimension.
    ``_S<dimension>``: the same, in the order of another mesh. ``R``: each process has all of it.
    ``P``: each process has one term of a sum.
    """
    if not is_distributed(tensor):
        return ""
    mesh = tensor.device_mesh
    return ",".join(
        f"{name}:{_letter(how)}"
        for name, size, how in zip(_names(mesh), mesh.shape, tensor.placements)
        if size > 1
    )


def mesh_of(tensors: Iterable[torch.Tensor]) -> dict[str, tuple[int, int]]:
    """Return, for each mesh dimension of ``tensors`` by name, its length and the place of this process."""
    found: dict[str, tuple[int, int]] = {}
    for mesh in {id(t.device_mesh): t.device_mesh for t in tensors if is_distributed(t)}.values():
        place = mesh.get_coordinate()
        if place is not None:
            for name, size, at in zip(_names(mesh), mesh.shape, place):
                found.setdefault(name, (size, at))
    return found


def stand_ins(modules: Iterable[torch.nn.Module]) -> dict[int, torch.nn.Parameter]:
    """Return the parameters of modules under ``fully_shard``, by the ``id`` of their stand-ins.

    While a forward or backward runs, a gathered tensor replaces each parameter. It stays afterwards
    if its memory is not freed. Nothing is returned if torch does not give access to them.
    """
    found: dict[int, torch.nn.Parameter] = {}
    for module in modules:
        for held in _held_by(module):
            parameter, place = held.sharded_param, held._module_info
            others = (
                getattr(held, "_unsharded_param", None),
                place.module._parameters.get(place.param_name),
            )
            found.update({id(t): parameter for t in others if t is not None and t is not parameter})
    return found


def _held_by(module: Any) -> list[Any]:
    try:
        state = module._get_fsdp_state()
        groups = getattr(state, "_fsdp_param_groups", None)  # several from torch 2.12 on
        if groups is None:
            groups = [] if state._fsdp_param_group is None else [state._fsdp_param_group]
        return [held for group in groups for held in group.fsdp_params]
    except AttributeError:
        return []


def _names(mesh: Any) -> Sequence[str]:
    return mesh.mesh_dim_names or [str(dim) for dim in range(mesh.ndim)]


def _letter(how: Any) -> str:
    """Return the code of a placement, by its class, because torch's methods differ between versions."""
    kind = next((k.__name__ for k in type(how).__mro__ if k.__name__ in _LETTERS), "")
    return _LETTERS.get(kind, "?") + (str(how.dim) if "Shard" in kind else "")
