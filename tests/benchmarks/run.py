"""Measure everything and print one table: ``python -m tests.benchmarks.run`` (``make bench``).

``--write`` also puts the table into docs/performance.md, with date, machine and versions.
"""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import platform
import sys
from collections.abc import Callable, Iterator

import tensorboard.version
import torch

import tb_gradgraph
from tests.benchmarks.capture_cost import (
    measure_chain,
    measure_recurrent_loop,
    measure_transformer,
)
from tests.benchmarks.measure import HEADER, Figure
from tests.benchmarks.panel_cost import measure_panel
from tests.benchmarks.write_cost import measure_enqueueing

MEASUREMENTS: dict[str, Callable[[], list[Figure]]] = {
    "transformer": measure_transformer,
    "loop": measure_recurrent_loop,
    "chain": measure_chain,
    "enqueue": measure_enqueueing,
    "panel": measure_panel,
}
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "performance.md"


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
        PAGE.write_text(_make_page(lines), encoding="utf-8")
    for name in broken:
        print(f"not kept: {name}", file=sys.stderr)
    return 1 if broken else 0


def _measure(names: list[str]) -> Iterator[Figure]:
    for name in names:
        yield from MEASUREMENTS[name]()


def _make_page(lines: list[str]) -> str:
    machine = f"{os.cpu_count()} cores, {_processor()}, {platform.system()} {platform.machine()}"
    versions = (
        f"tb_gradgraph {tb_gradgraph.__version__}, Python {platform.python_version()}, "
        f"torch {torch.__version__}, TensorBoard {tensorboard.version.VERSION}"
    )
    return f"""# Performance

Written by `make bench`; every figure is of one run, contenders in turn, medians. Times of Python are
processor time of the process, torch on one thread; those of the panel are what passes on the clock
in a headless Chromium without a GPU. A limit is a promise; "of a bare step" is the ratio to forward,
backward and update of that model.

{datetime.date.today().isoformat()}. {machine}. {versions}.

{HEADER}
{chr(10).join(lines)}
"""


def _processor() -> str:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main())
