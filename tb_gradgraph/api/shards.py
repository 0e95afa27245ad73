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
            "the model is sharded by FullyShardedDataParallel, which computes with parts of flat tensors "
            "in place of its parameters: nothing is recorded of a parameter, or only this process's part "
            "of it. For a model that fully_shard has taken in, this process's part is recorded."
        )
    elif place.startswith("zero"):
        text = (
            "DeepSpeed sums gradients over the processes after backward, into its own tensors: what is "
            "recorded is this process's own gradients before that sum, and no updates."
        )
    elif parts:
        text = (
            f"{parts} of {len(tensors)} parameters are distributed over several processes. Only this "
            "process's part is recorded, and marked as a part: its numbers are in no total, and only "
            "NaN and infinity in it lead to findings. Watch on every process, each with its own writer "
            "and directory, to have all parts."
        )
    else:
        return
    warnings.warn(f"{where}: {text} The training is not affected.", UserWarning, stacklevel)


def _hows(tensor: torch.Tensor) -> list[str]:
    return placement_of(tensor).split(",") if is_distributed(tensor) else []
