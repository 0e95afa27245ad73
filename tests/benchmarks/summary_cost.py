"""What the statistics of all tensors of a step cost, against those of an earlier commit.

``python -m tests.benchmarks.summary_cost [--against COMMIT]``: medians of process CPU time on
one thread, contenders in turn, over tensors that are not in cache.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tb_gradgraph.summarize import StatisticsBatch
from tests.benchmarks.measure import measure_in_turn

ROOT = pathlib.Path(__file__).parents[2]
BEFORE = "7b9746e"  # before anything was read back later than at the end of a step
BUDGET = 2**18
_CACHE = 2**26  # elements that no cache holds

Tensors = Sequence[torch.Tensor]


def resnet_sizes() -> list[int]:
    """Return the sizes of ResNet-18's 62 parameters."""
    sizes = [64 * 3 * 9, 64, 64]
    for width, before in ((64, 64), (128, 64), (256, 128), (512, 256)):
        for place in range(4):
            sizes += [width * (before if place == 0 else width) * 9, width, width]
        if width != before:
            sizes += [width * before, width, width]
    return [*sizes, 512 * 10, 10]


def transformer_sizes() -> list[int]:
    """Return the sizes of the 148 parameters of a GPT-2 shape: 12 layers, 256 wide."""
    layer = [256, 256, 256 * 768, 768, 256 * 256, 256, 256, 256, 256 * 1024, 1024, 256 * 1024, 256]
    return [50_257 * 256, 128 * 256, *(layer * 12), 256, 256]


SIZES = {
    "15,000 of 64 to 256": [64, 128, 256] * 5000,
    "1,206 of 1,024 or 32": [1024, 1024, 32, 1024, 32, 1024] * 201,
    "ResNet-18, 62 of 11 M": resnet_sizes(),
    "8 M in one": [2**23],
    "GPT-2, 148 of 22 M": transformer_sizes(),
}


def reduce_now(tensors: Tensors) -> object:
    """Take the statistics as ``watch`` does."""
    batch = StatisticsBatch(len(tensors), BUDGET)
    batch.add_many(range(len(tensors)), tensors)
    return batch.reduce().collect()


def adding(batch_of: Callable[[int], Any]) -> Callable[[Tensors], object]:
    """Take the statistics tensor by tensor, as a hook does."""

    def reduce(tensors: Tensors) -> object:
        batch = batch_of(len(tensors))
        for row, tensor in enumerate(tensors):
            batch.add(row, tensor)
        return batch.finish()

    return reduce


def norms_alone(tensors: Tensors) -> object:
    """Take the l2 norm alone: what reading everything once costs in torch."""
    return torch._foreach_norm(tensors)


def earlier_batch(commit: str, directory: str) -> Callable[[int], Any]:
    """Return ``StatisticsBatch`` as it was at a commit, from a copy under another name."""
    archive = subprocess.run(
        ["git", "archive", commit, "tb_gradgraph/summarize", "tb_gradgraph/statistics.py"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    subprocess.run(["tar", "-x", "-C", directory], input=archive.stdout, check=True)
    package = pathlib.Path(directory, "earlier_gradgraph")
    pathlib.Path(directory, "tb_gradgraph").rename(package)
    for path in package.rglob("*.py"):
        path.write_text(path.read_text().replace("tb_gradgraph.", "earlier_gradgraph."))
    sys.path.insert(0, directory)
    return importlib.import_module("earlier_gradgraph.summarize").StatisticsBatch


def measure(
    sizes: Sequence[int], contenders: dict[str, Callable[[Tensors], object]], repetitions: int
) -> dict[str, float]:
    """Return the median milliseconds of each contender, each time over other tensors."""
    generator = torch.Generator().manual_seed(0)
    copies = max(2, _CACHE // sum(sizes)) if len(sizes) < 5000 else 2
    made = [
        [torch.randn(size, generator=generator) for size in sizes] for _ in range(min(copies, 8))
    ]
    turn = itertools.cycle(made)
    calls = {
        name: lambda contender=contender: contender(next(turn))
        for name, contender in contenders.items()
    }
    with torch.no_grad():
        times = measure_in_turn(calls, repetitions)
    return {name: 1e3 * statistics.median(found) for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", default=BEFORE, metavar="COMMIT")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as directory:
        contenders = {
            "norms alone": norms_alone,
            arguments.against: adding(earlier_batch(arguments.against, directory)),
            "add": adding(lambda rows: StatisticsBatch(rows, BUDGET)),
            "add_many": reduce_now,
        }
        print("| ms |", " | ".join(contenders), "|")
        print("| --- |", " | ".join("---" for _ in contenders), "|")
        for name, sizes in SIZES.items():
            found = measure(sizes, contenders, arguments.repetitions)
            print(f"| {name} |", " | ".join(f"{found[key]:.2f}" for key in contenders), "|")


if __name__ == "__main__":
    main()
