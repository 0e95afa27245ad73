"""The rank of this process in its training."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torch import distributed

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
