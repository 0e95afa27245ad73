"""The part of this process in its training: its rank, and what it has of a distributed model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping

import torch
from torch import distributed

from tb_gradgraph.autograd import is_distributed, owned_tensors, placement_in, placement_of
from tb_gradgraph.record import Process


def process_rank() -> int:
    """Return this process's number within the training; 0 for the main one, or the only one."""
    if _has_group():
        return distributed.get_rank()
    told = os.environ.get("RANK", "")  # torchrun sets it before a process joins
    return int(told) if told.isdecimal() else 0


def describe_process(mesh: Mapping[str, tuple[int, int]]) -> Process:
    """Describe this process; ``mesh`` is what ``mesh_of`` returns."""
    size = distributed.get_world_size() if _has_group() else 1
    places = tuple((name, length, at) for name, (length, at) in mesh.items())
    return Process(process_rank(), size, _run_id() if size > 1 else "", places)


def _has_group() -> bool:
    return distributed.is_available() and distributed.is_initialized()


def _run_id() -> str:
    """Return an identifier that all processes of this training share, and no other training has."""
    told = os.environ.get("TORCHELASTIC_RUN_ID", "none")  # "none": torchrun got no id
    if told != "none":
        return told
    return ":".join(os.environ.get(name, "") for name in ("MASTER_ADDR", "MASTER_PORT")).strip(":")


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
