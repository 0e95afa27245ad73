"""What is told of a model that several processes hold together, when its watch begins."""

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
    """Say it where what will be recorded is this process's part."""
    place = placement_in(model)
    tensors = [tensor for kind, _, tensor in owned_tensors(model) if kind == "parameter"]
    parts = sum(any(how[-1] != "R" for how in _hows(tensor)) for tensor in tensors)
    if place.startswith("fsdp"):
        text = (
            "the model is sharded by FullyShardedDataParallel, which computes with parts of flat "
            "tensors in the place of its parameters: of parameters nothing is recorded, or this "
            "process's part of it. Of what fully_shard takes in this process's part is."
        )
    elif place.startswith("zero"):
        text = (
            "DeepSpeed sums gradients over the processes after backward, into tensors of its own: what "
            "is recorded are this process's own before that, and no updates."
        )
    elif parts:
        text = (
            f"{parts} of {len(tensors)} parameters are distributed over several processes. Recorded is "
            "the part that this process has, marked as that: its numbers are in no total, and no "
            "finding but of NaN and infinity. Watch on every process, each with a writer and a "
            "directory of its own, to have all parts."
        )
    else:
        return
    warnings.warn(f"{where}: {text} The training is not affected.", UserWarning, stacklevel)


def _hows(tensor: torch.Tensor) -> list[str]:
    return placement_of(tensor).split(",") if is_distributed(tensor) else []
