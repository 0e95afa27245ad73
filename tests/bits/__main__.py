"""Compare trainings with a watch and without, over all of torch: ``python -m tests.bits``.

Ends with 1 where a bit differs, or where more than 2 % had to be left out.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import sys
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"  # how sums are split must not depend on what else runs

import torch  # noqa: E402

from tests.bits.chunks import Findings, Plan, run_chunks  # noqa: E402
from tests.bits.compositions import compositions  # noqa: E402
from tests.bits.modules import modules, padded  # noqa: E402
from tests.bits.samples import Source, operators  # noqa: E402

DTYPES = ("float32", "float64", "bfloat16", "complex64")
MOST_LEFT_OUT = 0.02


def main(arguments: list[str]) -> int:
    """Run, print what came, and give the exit status."""
    asked = _parse(arguments)
    warnings.simplefilter("ignore")
    sources = _sources(asked)
    if not sources:
        print(f"no operator or module matches {asked.only!r}")
        return 1
    begun = time.perf_counter()
    print(f"torch {torch.__version__}, seed {asked.seed}, level {asked.level!r}")
    plan = Plan(asked.level, asked.seed, asked.each, asked.processes)
    found = run_chunks(sources, plan)
    names = {source.operator for source in sources}
    wall, busy = time.perf_counter() - begun, sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    print(f"{len(names)} operators and modules in {wall:.0f} s, {busy:.0f} s of them computing")
    return _report(found)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bits", description=__doc__)
    parser.add_argument("--only", default="", help="regular expression for operators' names")
    parser.add_argument("--dtype", nargs="+", default=DTYPES, choices=DTYPES)
    parser.add_argument("--each", type=int, help="samples of each operator, chosen by the seed")
    parser.add_argument("--operators", type=int, help="how many of torch's, chosen by the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", default="op", choices=("param", "module", "op"))
    parser.add_argument("--processes", type=int, default=1)
    return parser.parse_args(arguments)


def _sources(asked: argparse.Namespace) -> list[Source]:
    own = [source for listed in (compositions, padded) for source in listed(asked.dtype)]
    torchs = [source for listed in (modules, operators) for source in listed(asked.dtype)]
    if asked.operators is not None:
        torchs = random.Random(asked.seed).sample(torchs, min(asked.operators, len(torchs)))
    return [source for source in own + torchs if re.search(asked.only, source.operator)]


def _report(found: Findings) -> int:
    left_out = [result for result in found.results if result.left_out]
    raising = [result for result in found.results if result.raises and not result.differs]
    differing = [result for result in found.results if result.differs]
    for dtype, count in found.ways.items():
        print(f"{dtype:10} {found.samples[dtype]:6} samples, {count:6} ways to call them")
    print(f"{len(raising)} of them raise, with a watch and without alike")
    for result in left_out:
        print(f"left out: {result.place}: two bare runs differ in {result.left_out}")
    for result in differing:
        print(f"DIFFERS: {result.place}: {result.differs}")
    ways = sum(found.ways.values())
    share = len(left_out) / max(ways, 1)
    print(f"{ways} compared: {len(differing)} differ, {len(left_out)} left out ({share:.2%})")
    return int(bool(differing) or share > MOST_LEFT_OUT or not ways)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
