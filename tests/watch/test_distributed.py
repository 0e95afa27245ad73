"""Trainings of several processes: bit-equal to those without a watch, nobody waits for anybody."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch

from tests import warm
from tests.logged import read_tensor
from tests.watch.distributed_process import STEPS
from tests.watch.loops import Log, assert_bit_equal, assert_gradient

Seen = tuple[dict[str, Any], dict[str, Any]]

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="this torch was built without distributed"
)


def _run(kind: str, world: int, directory: pathlib.Path, parts: int) -> list[Seen]:
    """Run a process a rank; give what each has seen, bare and watched."""
    program = ("-W", "error::UserWarning", "-m", "tests.watch.distributed_process")
    ranks = [(kind, str(rank), str(world), str(directory), str(parts)) for rank in range(world)]
    for ended in warm.run_together([(*program, *rank) for rank in ranks], limit_s=120):
        assert ended.returncode == 0, ended.stderr
    return [torch.load(directory / f"rank{rank}.pt") for rank in range(world)]


@pytest.mark.parametrize(("world", "parts"), [(1, 1), (2, 1), (2, 3)])
def test_data_parallel(world: int, parts: int, tmp_path: pathlib.Path) -> None:
    """What is accumulated and applied is ``.grad`` after the reduction over the processes."""
    seen = _run("ddp", world, tmp_path, parts)
    for rank, (bare, watched) in enumerate(seen):
        assert watched.pop("warned") == []
        assert_bit_equal(watched, bare)
        log = Log(tmp_path / f"rank{rank}")
        each = [("backward", part) for part in range(parts)]
        each += [("accumulated", parts - 1)] * (parts > 1)
        each += [("clipped", parts - 1), ("applied", parts - 1)]
        assert log.places == [(step, *place) for step in range(STEPS) for place in each]
        for step in range(STEPS):
            before = log.record(step, "accumulated" if parts > 1 else "backward")
            for record, stage in (
                (before, "accumulated"),
                (log.record(step, "applied"), "applied"),
            ):
                for name, gradient in bare[f"{stage} {step}"].items():
                    found = read_tensor(log.run, record, name)
                    assert_gradient(found, gradient, f"{name} {stage} {step} of rank {rank}")
    if world > 1:  # and that is one for all: the reduction has been
        assert_bit_equal(seen[0][0]["accumulated 0"], seen[1][0]["accumulated 0"])


def test_sharded(tmp_path: pathlib.Path) -> None:
    """Of what fully_shard has split nothing is recorded, and that is said once."""
    for bare, watched in _run("fsdp", 2, tmp_path, 2):
        (text,) = watched.pop("warned")
        assert "sharded by fully_shard" in text and "nothing is recorded" in text
        assert_bit_equal(watched, bare)
