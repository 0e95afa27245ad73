"""Modules that only stand before another: they are no part of a model's names, nor calls of their own."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

#: Where torch.compile's wrapper of a module keeps it.
COMPILED = "_orig_mod"
#: Where other wrappers keep theirs, by the names of their classes; a user's own submodule may be
#: called the same.
_INNER = {
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "ActivationWrapper": "_checkpoint_wrapped_module",  # torch's checkpoint_wrapper
    "_FabricModule": "_forward_module",  # Lightning's
    "DeepSpeedEngine": "module",
    "GradSampleModule": "_module",  # opacus'
}


def is_wrapper(module: torch.nn.Module) -> bool:
    """Whether ``module`` only stands before another."""
    return _inner_name(module) is not None


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """Give the module that wrappers stand before, however many."""
    while (name := _inner_name(module)) is not None:
        module = module._modules[name]
    return module


def walk_modules(model: torch.nn.Module, name: str = "") -> Iterator[tuple[str, torch.nn.Module]]:
    """Give every module with its qualified name without wrappers, "" for the model, as often as it occurs.

    A wrapper has the name of what it stands before, and comes before that.
    """
    yield name, model
    inner = _inner_name(model)
    for part, child in model._modules.items():
        if child is not None:
            own = name if part == inner else f"{name}.{part}" if name else part
            yield from walk_modules(child, own)


def owned_tensors(
    model: torch.nn.Module,
) -> Iterator[tuple[str, str, torch.Tensor]]:
    """Give kind ("parameter", "buffer"), name and tensor of all that a model owns, as often as it occurs."""
    for name, module in walk_modules(model):
        prefix = f"{name}." if name else ""
        for kind, table in (("parameter", module._parameters), ("buffer", module._buffers)):
            for part, tensor in table.items():
                if tensor is not None:
                    yield kind, prefix + part, tensor


def _inner_name(module: torch.nn.Module) -> str | None:
    children = module._modules
    if COMPILED in children:
        return COMPILED
    name = _inner_of_kind(type(module))
    return name if name in children else None


@functools.lru_cache(maxsize=1024)
def _inner_of_kind(kind: type) -> str | None:
    return next((_INNER[base.__name__] for base in kind.__mro__ if base.__name__ in _INNER), None)


_LETTERS = {"_StridedShard": "_S", "Shard": "S", "Replicate": "R", "Partial": "P"}


def kinds_of(module: torch.nn.Module) -> set[str]:
    """Give the names of a module's classes: those of libraries that we do not import are known by them."""
    return {kind.__name__ for kind in type(module).__mro__}


def is_distributed(tensor: torch.Tensor) -> bool:
    """Whether a tensor is torch's distributed one, over more than one process."""
    mesh = getattr(tensor, "device_mesh", None)
    return mesh is not None and hasattr(tensor, "placements") and mesh.size() > 1


def placement_of(tensor: torch.Tensor) -> str:
    """Say how a distributed tensor lies: ``fsdp:S0,tp:R``; "" where this process has all of it.

    Of each dimension of the mesh that has several processes its name (its number, if
    it has none), and ``S<dimension>``: in parts along that; ``_S<dimension>``: the
    same, in the order of another mesh; ``R``: each has all; ``P``: each has a term
    of a sum.
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
    """Give the dimensions of the meshes of ``tensors`` by name: how long, and where this process is."""
    found: dict[str, tuple[int, int]] = {}
    for mesh in {id(t.device_mesh): t.device_mesh for t in tensors if is_distributed(t)}.values():
        place = mesh.get_coordinate()
        if place is not None:
            for name, size, at in zip(_names(mesh), mesh.shape, place):
                found.setdefault(name, (size, at))
    return found


def stand_ins(modules: Iterable[torch.nn.Module]) -> dict[int, torch.nn.Parameter]:
    """Give the parameters of modules that ``fully_shard`` took in, by the ``id`` of what stands for them.

    While a forward or backward runs, and after it where memory is not given back, a
    gathered tensor is in the place of each. Nothing is given where torch does not tell.
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


def _held_by(module: torch.nn.Module) -> list[Any]:
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
    """Spell a placement, by its class: torch's own questions differ between versions."""
    kind = next((k.__name__ for k in type(how).__mro__ if k.__name__ in _LETTERS), "")
    return _LETTERS.get(kind, "?") + (str(how.dim) if "Shard" in kind else "")
