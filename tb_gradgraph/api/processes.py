"""The part of this process in its training: its rank, and what it has of a distributed model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import distributed

from tb_gradgraph.autograd import (
    is_distributed,
    is_replicated,
    mesh_of,
    owned_tensors,
    placement_in,
    placement_of,
)
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.ranks import rank_directory
from tb_gradgraph.record import Process


def process_rank() -> int:
    """Return this process's number within the training; 0 for the main one, or the only one."""
    if _has_group():
        return distributed.get_rank()
    told = os.environ.get("RANK", "")  # torchrun sets it before a process joins
    return int(told) if told.isdecimal() else 0


def describe_process(mesh: Mapping[str, tuple[int, int]]) -> Process:
    """Describe this process; ``mesh`` is what ``mesh_of`` returns."""
    rank, size = process_rank(), world_size()
    places = tuple((name, length, at) for name, (length, at) in mesh.items())
    return Process(rank, max(size, rank + 1), _run_id() if size > 1 else "", places)


def world_size() -> int:
    """Return how many processes the training has."""
    if _has_group():
        return distributed.get_world_size()
    told = os.environ.get("WORLD_SIZE", "")
    return int(told) if told.isdecimal() else 1


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
    else:
        return
    warnings.warn(f"{where}: {text} The training is not affected.", UserWarning, stacklevel)


def warn_if_alone(directory: str) -> None:
    """Warn if no other process of a training with distributed parameters has recorded its part."""
    if not os.path.isdir(os.path.dirname(rank_directory(directory, 1))):
        warnings.warn(
            f"watch(): parameters are distributed over {world_size()} processes, and only rank 0 has "
            f"recorded its part in {directory!r}. To record the whole, make the same call in every "
            "process, with the same directory. The training is not affected.",
            UserWarning,
            stacklevel=4,
        )


def check_ranks(ranks: Any, where: str) -> None:
    """Raise CaptureError if ``ranks`` is none of what ``watch`` takes."""
    if ranks in ("shards", "all"):
        return
    some = [] if isinstance(ranks, str) or not isinstance(ranks, Iterable) else list(ranks)
    if not some or not all(type(rank) is int and rank >= 0 for rank in some):
        raise CaptureError(
            f'{where}: expected ranks to be "shards", "all" or numbers of ranks, got {ranks!r}.'
        )


def why_idle(model: torch.nn.Module, ranks: Any) -> str:
    """Return why this process records nothing; "" if it records. Asks no other process."""
    rank = process_rank()
    if ranks == "all" or (ranks == "shards" and rank == 0):
        return ""
    if ranks != "shards":
        return "" if rank in [*ranks] else f"rank {rank} is not one of {[*ranks]}"
    parts = [tensor for _, _, tensor in owned_tensors(model) if is_distributed(tensor)]
    is_copy = not any(map(_is_first, parts)) if parts else is_replicated(model)
    return f"rank {rank} has a copy of what another rank records" if is_copy else ""


def _is_first(tensor: torch.Tensor) -> bool:
    """Return whether this process is the first of those that have the same part of a tensor."""
    hows = dict(how.split(":") for how in placement_of(tensor).split(","))
    return all(at == 0 or hows.get(name) != "R" for name, (_, at) in mesh_of([tensor]).items())
