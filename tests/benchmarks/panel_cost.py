"""How long a person waits for the panel: ``python -m tests.benchmarks.panel_cost [--write]``.

In a headless Chromium; what passes on the clock. ``--write`` puts the table into
docs/performance.md, with date, machine and versions.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import pathlib
import re
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import torch
from playwright.sync_api import Browser

import tb_gradgraph
from tests.benchmarks.flow_cost import STEPS as FLOW_STEPS
from tests.benchmarks.flow_cost import log_long_training, measure_flow
from tests.benchmarks.graph_cost import FULL, GREAT, MIDDLE, SMALL, Measured, measure_graph
from tests.benchmarks.many_runs_cost import RUNS as MANY_RUNS
from tests.benchmarks.many_runs_cost import STEPS as MANY_STEPS
from tests.benchmarks.many_runs_cost import log_many_runs, measure_many_runs
from tests.benchmarks.measure import HEADER_ALONE, Figure
from tests.benchmarks.page import PAGE, put_into_page
from tests.browser.chromium import launch_chromium
from tests.patience import Limit
from tests.tensorboard_process import run_tensorboard

STATIC = pathlib.Path(tb_gradgraph.__file__).parent / "static"
_LOADED_S = 300


def measure_panel(browser: Browser) -> Iterator[Figure]:
    """Measure graphs of four sizes, the heat map, and the files that are sent."""
    for measured in (SMALL, MIDDLE, FULL, GREAT):
        with tempfile.TemporaryDirectory() as directory, _served(directory, measured) as address:
            yield from measure_graph(browser, address, measured)
    with tempfile.TemporaryDirectory() as directory:
        log_long_training(pathlib.Path(directory) / "long")
        with run_tensorboard(directory) as address:
            _wait_until_loaded(address, FLOW_STEPS)
            yield from measure_flow(browser, address, "long")
    with tempfile.TemporaryDirectory() as directory:
        log_many_runs(pathlib.Path(directory))
        with run_tensorboard(directory) as address:
            _wait_until_loaded(address, MANY_STEPS, MANY_RUNS)
            yield from measure_many_runs(browser, address)
    yield from _measure_sizes()


_NAME = r"""["'`]\./([\w.-]+\.js)["'`]"""


def _measure_sizes() -> Iterator[Figure]:
    """Measure the scripts of the panel as they are sent; frontend/check_sizes.mjs holds them."""
    texts = {path.name: path.read_text() for path in STATIC.glob("*.js")}
    start = ["index.js", *re.findall(rf"\bimport\({_NAME}", texts["index.js"])]
    for name in start:  # grows
        found = re.findall(rf"(?:\bfrom|\bimport)\s*{_NAME}", texts[name])
        start += [other for other in found if other not in start]
    sizes = {name: len(gzip.compress(text.encode())) / 1000 for name, text in texts.items()}
    yield Figure("scripts at the start, gzip", sum(sizes[name] for name in start), "kB", 160)
    yield Figure("all scripts with the layout's worker, gzip", sum(sizes.values()), "kB", 700)


@contextlib.contextmanager
def _served(directory: str, measured: Measured) -> Iterator[str]:
    measured.log(pathlib.Path(directory) / "run")
    with run_tensorboard(directory) as address:
        _wait_until_loaded(address, measured.steps)
        yield address


def _wait_until_loaded(address: str, steps: int, count: int = 1) -> None:
    limit = Limit(_LOADED_S)
    while not limit.is_over():
        with urllib.request.urlopen(f"{address}data/plugin/gradgraph/runs") as answer:
            runs = json.load(answer)["runs"]
        if sum(_read_steps(run) == steps for run in runs) == count:
            return
        time.sleep(0.2)
    raise TimeoutError("TensorBoard did not load the log")


def _read_steps(run: dict[str, Any]) -> int:
    return len({step for tag in run["tags"] for step in tag["steps"]})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.panel_cost")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # for the logging: threads of a pool spin
    print(HEADER_ALONE, flush=True)
    figures = []
    with launch_chromium() as browser:
        for figure in measure_panel(browser):
            print(figure.format_alone(), flush=True)
            figures.append(figure)
    if arguments.write:
        put_into_page("panel", [HEADER_ALONE, *(figure.format_alone() for figure in figures)])
    broken = [figure.name for figure in figures if not figure.kept]
    for name in broken:
        print(f"not kept: {name}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
