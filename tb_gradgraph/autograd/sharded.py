"""Tensors that several processes hold together, and modules that shard theirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

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
