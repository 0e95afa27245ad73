"""Tensors that several processes hold together, and modules that shard theirs."""

from __future__ import annotations

import torch


def kinds_of(module: torch.nn.Module) -> set[str]:
    """Give the names of a module's classes: those of libraries that we do not import are known by them."""
    return {kind.__name__ for kind in type(module).__mro__}


def is_distributed(tensor: torch.Tensor) -> bool:
    """Whether a tensor is torch's distributed one, over more than one process."""
    mesh = getattr(tensor, "device_mesh", None)
    return mesh is not None and hasattr(tensor, "placements") and mesh.size() > 1
