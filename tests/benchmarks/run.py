"""Measure everything and print one table: ``python -m tests.benchmarks.run`` (``make bench``).

``--write`` also puts the table into docs/performance.md, with date, machine and versions.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

import torch

from tests.benchmarks.capture_cost import (
    measure_chain,
    measure_recurrent_loop,
    measure_transformer,
)
from tests.benchmarks.measure import HEADER, Figure
from tests.benchmarks.page import PAGE, put_into_page
from tests.benchmarks.write_cost import measure_enqueueing

MEASUREMENTS: dict[str, Callable[[], list[Figure]]] = {
    "transformer": measure_transformer,
    "loop": measure_recurrent_loop,
    "chain": measure_chain,
    "enqueue": measure_enqueueing,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.run", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="|".join(MEASUREMENTS))
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # idle threads of a pool spin, and would be counted as work
    print(HEADER, flush=True)
    lines, broken = [], []
    for figure in _measure(arguments.only or list(MEASUREMENTS)):
        print(figure.format(), flush=True)
        lines.append(figure.format())
        if not figure.kept:
            broken.append(figure.name)
    if arguments.write:
        put_into_page("figures", [HEADER, *lines])
    for name in broken:
        print(f"not kept: {name}", file=sys.stderr)
    return 1 if broken else 0


def _measure(names: list[str]) -> Iterator[Figure]:
    for name in names:
        yield from MEASUREMENTS[name]()


if __name__ == "__main__":
    sys.exit(main())
