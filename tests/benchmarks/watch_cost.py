"""What watching a training costs: processor time of a step, as a ratio to that of a bare step.

Run by itself, ``python -m tests.benchmarks.watch_cost [--write] [TRAINING ...]``: it takes half an
hour, a third of that with ``--ours``. Peers that are installed (requirements-peers.txt) are measured
in the same turns, or beside them in a process of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import pathlib
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from tb_gradgraph import SummaryWriter
from tests.benchmarks.apart import measure_apart
from tests.benchmarks.page import put_into_page
from tests.benchmarks.peers import PEERS, PEERS_APART, Attach, Calls, nothing
from tests.benchmarks.trainings import TRAININGS, Training

#: The cadence by default.
EVERY = 50
DEFAULTS = f"defaults: every {EVERY} steps"
_EXACT = 2**40  # bytes for copies of weights, so that no update is an estimate

#: Limits of the ratio by contender and training, from the aims of this project.
LIMITS: Mapping[str, Mapping[str, float | None]] = {
    "op": dict(zip(TRAININGS, (None, 1.06, 1.15, 1.07, 1.35, 1.5))),
    "op, with values": dict(zip(TRAININGS, (None, 1.10, 1.20, 1.11, 1.6, 2.0))),
    "module, with values": dict(zip(TRAININGS, (None, 1.08, 1.16, 1.08, 1.3, 1.3))),
    "not recorded": dict.fromkeys(TRAININGS, 1.005) | {"MLP": None},
    DEFAULTS: dict(zip(TRAININGS, (None, 1.003, 1.003, 1.003, 1.008, 1.008))),
}


def ours(level: str, values: bool, every_n_steps: int = 1) -> Attach:
    @contextlib.contextmanager
    def attach(training: Training, logdir: str) -> Iterator[Calls]:
        options: dict[str, Any] = {"every_n_steps": every_n_steps, "update_memory": _EXACT}
        with SummaryWriter(logdir) as writer:
            watch = writer.watch(
                training.model,
                optimizer=training.optimizer,
                level=level,
                values=values,
                **options,
            )
            yield training.step, writer.flush
            assert watch.failure is None, watch.failure

    return attach


@contextlib.contextmanager
def _bare(training: Training, _logdir: str) -> Iterator[Calls]:
    yield training.step, nothing


OURS: Mapping[str, Attach] = {
    "nothing": _bare,  # how far from 1 a ratio of equal runs is
    "param": ours("param", values=False),
    "module": ours("module", values=False),
    "module, with values": ours("module", values=True),
    "op": ours("op", values=False),
    "op, with values": ours("op", values=True),
    "not recorded": ours("module", values=False, every_n_steps=10**6),
}


@dataclasses.dataclass
class Cost:
    """What was measured of one contender over one training."""

    ratios: list[float] = dataclasses.field(default_factory=list)
    bytes_a_step: float = 0.0
    failure: str | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.ratios)

    def format(self, limit: float | None) -> str:
        if self.failure is not None:
            return f"fails: {self.failure}"
        if len(self.ratios) == 1:
            text = f"{self.median:.3f} (measured once)"
        else:
            low, _, high = statistics.quantiles(self.ratios, n=4, method="inclusive")
            text = f"{self.median:.3f} ({low:.3f} to {high:.3f})"
        if limit is not None:
            text += f", aim {limit:g}" if self.median <= limit else f", **aim {limit:g}**"
        return text


def measure(name: str, rounds: int, seconds: float, with_peers: bool) -> dict[str, Cost]:
    """Measure all contenders over one training, the peers that go on afterwards last."""
    torch.manual_seed(0)
    training = TRAININGS[name]()
    training.step()
    start = time.process_time()
    training.step()
    step_s = time.process_time() - start
    contenders = {**OURS, **PEERS} if with_peers else OURS
    costs = _in_turn(training, contenders, rounds, steps=max(2, round(seconds / step_s)))
    costs[DEFAULTS] = _of_defaults(costs)
    for peer in PEERS_APART if with_peers else ():
        ratios, failure = measure_apart(peer, name, rounds, seconds)
        costs[peer] = Cost(ratios, failure=failure)
    return costs


def _in_turn(
    training: Training, contenders: Mapping[str, Attach], rounds: int, steps: int
) -> dict[str, Cost]:
    """Run each contender between two bare runs: what else a machine does changes with time."""
    costs = {name: Cost() for name in contenders}
    before, _ = _run(training, _bare, steps)
    for _ in range(rounds):
        for name, attach in contenders.items():
            taken, costs[name].bytes_a_step = _run(training, attach, steps)
            after, _ = _run(training, _bare, steps)
            costs[name].ratios.append(2 * taken / (before + after))
            before = after
    return costs


def _of_defaults(costs: Mapping[str, Cost]) -> Cost:
    """Return the mean over steps of which one of ``EVERY`` is recorded, from those measured apart.

    Whole cycles would take minutes, and the noise of a machine is greater than their cost.
    """
    bare = costs["not recorded"].median
    recorded = costs["module"].ratios
    return Cost([1 + ((ratio - 1) + (EVERY - 1) * (bare - 1)) / EVERY for ratio in recorded])


def _run(training: Training, attach: Attach, steps: int) -> tuple[float, float]:
    """Return seconds of processor time and bytes written, of a step."""
    with tempfile.TemporaryDirectory() as logdir:
        with attach(training, logdir) as (step, flush):
            for _ in range(2):
                step()
            flush()
            gc.collect()
            start, before = time.process_time(), _size(logdir)
            for _ in range(steps):
                step()
            flush()
            taken = time.process_time() - start
            return taken / steps, (_size(logdir) - before) / steps


def _size(directory: str) -> int:
    return sum(path.stat().st_size for path in pathlib.Path(directory).rglob("*") if path.is_file())


def table_of(costs: Mapping[str, Mapping[str, Cost]], names: Sequence[str]) -> list[str]:
    """Make the lines of a Markdown table, a column a training."""
    lines = ["| | " + " | ".join(costs) + " |", "| --- |" + " --- |" * len(costs)]
    for name in names:
        cells = [found[name].format(LIMITS.get(name, {}).get(of)) for of, found in costs.items()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def bytes_of(costs: Mapping[str, Mapping[str, Cost]]) -> list[str]:
    """Make the lines that tell what a recorded step writes."""
    lines = []
    for name in ("param", "module", "module, with values", "op", "op, with values"):
        cells = [f"{found[name].bytes_a_step / 1000:,.1f} kB" for found in costs.values()]
        lines.append(f"| {name}, written a step | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.watch_cost")
    parser.add_argument("trainings", nargs="*", metavar="|".join(TRAININGS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--ours", action="store_true", help="leave the others out")
    parser.add_argument("--write", action="store_true", help="put the tables into the page too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # idle threads of a pool spin, and would be counted as work
    costs = {}
    for name in arguments.trainings or TRAININGS:
        costs[name] = measure(name, arguments.rounds, arguments.seconds, not arguments.ours)
        print(name, {of: cost.format(None) for of, cost in costs[name].items()}, flush=True)
    tables = {"watch": [*table_of(costs, [*OURS, DEFAULTS]), *bytes_of(costs)]}
    if not arguments.ours:
        tables["peers"] = table_of(costs, [*PEERS, *PEERS_APART])
    for section, lines in tables.items():
        print("\n".join(lines))
        if arguments.write:
            put_into_page(section, lines)


if __name__ == "__main__":
    main()
