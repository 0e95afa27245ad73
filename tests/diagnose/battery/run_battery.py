"""Run the battery of planted faults and healthy trainings, and print what is found in them.

``python -m tests.diagnose.battery.run_battery [--half first|second|third|all] [--only PATTERN]
[--logs DIR] [--jobs N] [--check] [--write]``. A log that is already in DIR is used again, so that
rules can be tuned without training. ``--check`` trains, and says only what is wrong with the cases.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import functools
import importlib
import importlib.util
import multiprocessing
import pathlib
import time
from collections.abc import Iterator, Sequence

import torch

from tests.diagnose.battery.battery_page import write_half
from tests.diagnose.battery.case import Case
from tests.diagnose.battery.examine import Outcome, examine
from tests.diagnose.battery.score import line_of, table

#: The halves and the part written after them, with the folders that hold their cases.
HALVES = {"first": "first_half", "second": "second_half", "third": "third_part"}


@functools.cache
def cases_of(half: str) -> tuple[Case, ...]:
    """Return the cases of a half; of one that is not there, none."""
    name = f"tests.diagnose.battery.{HALVES[half]}"
    if importlib.util.find_spec(name) is None:
        return ()
    return tuple(importlib.import_module(name).CASES)


def select(half: str, pattern: str) -> list[Case]:
    """Return the cases of a half whose name contains the pattern, or is like it, or whose kind is."""
    return [
        case
        for case in cases_of(half)
        if fnmatch.fnmatch(case.name, f"*{pattern}*") or pattern in case.kinds
    ]


def run_half(half: str, arguments: argparse.Namespace) -> list[Outcome]:
    """Run the selected cases of a half, with a line for each."""
    outcomes = []
    for outcome in _examine_all(half, arguments):
        outcomes.append(outcome)
        if not arguments.check:
            print(line_of(outcome), flush=True)
        elif outcome.complaints or outcome.seconds > 4:
            complaints = "; ".join(outcome.complaints)
            print(f"{outcome.case.name}: {outcome.seconds:.1f} s {complaints}", flush=True)
    return outcomes


def _examine_all(half: str, arguments: argparse.Namespace) -> Iterator[Outcome]:
    names = [case.name for case in select(half, arguments.only)]
    examine_one = functools.partial(
        _examine_named, half, logs=arguments.logs, asks_findings=not arguments.check
    )
    if arguments.jobs == 1:
        yield from map(examine_one, names)
        return
    spawned = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs, mp_context=spawned) as pool:
        yield from pool.map(examine_one, names)


def _examine_named(half: str, name: str, logs: pathlib.Path | None, asks_findings: bool) -> Outcome:
    torch.set_num_threads(1)
    (case,) = (case for case in cases_of(half) if case.name == name)
    return examine(case, logs, asks_findings)


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--half", choices=[*HALVES, "all"], default="all")
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--logs", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args(words)
    if arguments.write and (arguments.only or arguments.check):
        parser.error("--write keeps the figures of whole halves: leave --only and --check out")
    return arguments


def main(words: Sequence[str] | None = None) -> None:
    """Run, print, and write if it is wanted."""
    arguments = parse(words)
    for half in HALVES if arguments.half == "all" else (arguments.half,):
        title, start = HALVES[half].replace("_", " "), time.perf_counter()
        outcomes = run_half(half, arguments)
        if outcomes and not arguments.check:
            print(f"\n{title}", *table(outcomes), sep="\n")
            if arguments.write:
                write_half(half, outcomes)
        print(f"{title}: {len(outcomes)} cases, {time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main()
