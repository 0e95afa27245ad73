"""Describe the process that wrote a session, and the part of tensors that it has."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from tb_gradgraph.record.format.encode import shorten
from tb_gradgraph.record.format.limits import MAX_TAG_BYTES


@dataclasses.dataclass(frozen=True, slots=True)
class Process:
    """One process of a training.

    Attributes:
        rank: Its number, from 0.
        world_size: The number of processes.
        run_id: An identifier that all processes share; "" if unknown.
        mesh: For each dimension over which tensors are distributed: its name, its length, and
            this process's place along it.
    """

    rank: int = 0
    world_size: int = 1
    run_id: str = ""
    mesh: tuple[tuple[str, int, int], ...] = ()


def tell_part(placement: str, process: Process | None) -> str:
    """Return which part of a tensor a process has, such as ``shard 1 of 2``; "" if it has all of it.

    Args:
        placement: As in ``Slot.placement``.
        process: The process; None if it is unknown.
    """
    split = [how.rpartition(":") for how in placement.split(",") if how]
    parts = [(name, how) for name, _, how in split if how != "R"]
    if not parts:
        return ""
    kinds = {how.strip("_")[:1] for _, how in parts}
    word = "shard" if kinds == {"S"} else "term" if kinds == {"P"} else "part"
    known = {name: (size, at) for name, size, at in (process.mesh if process else ())}
    if not all(name in known for name, _ in parts):
        return f"a {word} ({placement})"
    at = 0
    for name, _ in parts:
        at = at * known[name][0] + known[name][1]
    count = math.prod(known[name][0] for name, _ in parts)
    return f"{word} {at + 1} of {count}"


def columns_of(process: Process) -> dict[str, Any]:
    """Return the columns of the manifest; none if there is only one process."""
    if process == Process():
        return {}
    names, sizes, places = zip(*process.mesh) if process.mesh else ((), (), ())
    return {
        "rank": process.rank,
        "world_size": process.world_size,
        "run_id": shorten(process.run_id, MAX_TAG_BYTES),
        "mesh_name": names,
        "mesh_size": sizes,
        "mesh_place": places,
    }
