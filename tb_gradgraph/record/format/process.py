"""Describe the process that wrote a session, and the part of tensors that it has."""

from __future__ import annotations

import dataclasses
import math


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
