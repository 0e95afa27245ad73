"""Warnings of a watch on a model that is distributed over several processes."""

from __future__ import annotations

import warnings

import torch

from tb_gradgraph.autograd import (
    is_distributed,
    owned_tensors,
    placement_in,
    placement_of,
)


def warn_of_parts(model: torch.nn.Module, where: str, stacklevel: int) -> None:
    """Warn if only the part of this process will be recorded."""
    place = placement_in(model)
    tensors = [tensor for kind, _, tensor in owned_tensors(model) if kind == "parameter"]
    parts = sum(any(how[-1] != "R" for how in _hows(tensor)) for tensor in tensors)
    if place.startswith("fsdp"):
        text = (
            "the model is sharded by FullyShardedDataParallel, which replaces parameters by parts of flat "
            "tensors. Of a parameter, only this process's part is recorded, or nothing. With fully_shard "
            "instead, this process's part of every parameter is recorded."
        )
    elif place.startswith("zero"):
        text = (
            "DeepSpeed sums gradients over the processes after backward, into its own tensors. The gradients "
            "of this process before that sum are recorded, and no updates."
        )
    elif parts:
        text = (
            f"{parts} of {len(tensors)} parameters are distributed over several processes. Only this "
            "process's part is recorded, and marked as a part. Its numbers are not included in totals. "
            "Only NaN and infinity in it lead to findings. To record all parts, call watch() in every "
            "process, each with its own writer and directory."
        )
    else:
        return
    warnings.warn(f"{where}: {text} The training is not affected.", UserWarning, stacklevel)


def _hows(tensor: torch.Tensor) -> list[str]:
    return placement_of(tensor).split(",") if is_distributed(tensor) else []
