"""What a watch costs between recorded steps: processor time of our own code alone, a step.

``python -m tests.benchmarks.guard_cost [--write] [TRAINING ...]``. A ratio of whole steps cannot show a
thousandth, because steps vary by more. Therefore torch's calls of our code are timed themselves: the
replaced functions without what they call of torch, and the hooks on the optimizer.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.utils import clip_grad

from tb_gradgraph import SummaryWriter
from tb_gradgraph.training import optimizers
from tests.benchmarks.page import put_into_page
from tests.benchmarks.trainings import TRAININGS, Training

#: Share of a step that a watch may take between recorded steps.
LIMIT = 0.001
_NORM = 1e9  # nothing is clipped, so that steps stay alike


class Clock:
    """Processor time of this thread within functions that are timed, without others within them."""

    def __init__(self) -> None:
        self.taken = 0

    def timed(self, function: Callable[..., Any], sign: int = 1) -> Callable[..., Any]:
        """Return ``function``, whose time is added, or taken off if ``sign`` is -1."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time_ns()
            try:
                return function(*args, **kwargs)
            finally:
                self.taken += sign * (time.thread_time_ns() - start)

        return run

    @contextlib.contextmanager
    def around(self, owner: Any, name: str, sign: int) -> Iterator[None]:
        """Time ``owner.name`` in the block."""
        before = getattr(owner, name)
        setattr(owner, name, self.timed(before, sign))
        try:
            yield
        finally:
            setattr(owner, name, before)


#: What is replaced while a training is watched.
_REPLACED = ((torch.autograd, "_engine_run_backward"), (clip_grad, "_get_total_norm"))


def measure(training: Training, steps: int) -> tuple[float, float, float]:
    """Return seconds of a step, of the watch's code that counts it, and of that which looks at it."""
    clock = Clock()
    with contextlib.ExitStack() as torchs:
        for owner, name in _REPLACED:
            torchs.enter_context(clock.around(owner, name, -1))
        for name in ("_before", "_after", "_after_any"):
            torchs.enter_context(clock.around(optimizers.OptimizerHooks, name, 1))
        whole, empty = _run(training, steps, clock)
        counting, both = (_watched(training, steps, clock, what) for what in (None, "warn"))
    return whole, counting - empty, both - counting


def _watched(training: Training, steps: int, clock: Clock, on_finding: str | None) -> float:
    """Return seconds of our code in a step that is not recorded."""
    options: dict[str, Any] = {"every_n_steps": 10**6, "on_finding": on_finding}
    with tempfile.TemporaryDirectory() as logdir, SummaryWriter(logdir) as writer:
        writer.watch(training.model, optimizer=training.optimizer, **options)
        for _ in range(2):
            step(training)
        writer.flush()
        return _run(training, steps, clock)[1]


def _run(training: Training, steps: int, clock: Clock) -> tuple[float, float]:
    """Return medians of the time of a step, and of our code in it."""
    taken = []
    with contextlib.ExitStack() as outside:
        for owner, name in _REPLACED:
            outside.enter_context(clock.around(owner, name, 1))
        for _ in range(steps):
            clock.taken, start = 0, time.thread_time_ns()
            step(training)
            taken.append((time.thread_time_ns() - start, clock.taken))
    whole, ours = (statistics.median(column) / 1e9 for column in zip(*taken))
    return whole, ours


def step(training: Training) -> None:
    """Run a step that clips, as most do."""
    training.optimizer.zero_grad()
    training.loss_of(training.model, *next(training.batches)).backward()
    torch.nn.utils.clip_grad_norm_(training.model.parameters(), _NORM)
    training.optimizer.step()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.guard_cost")
    parser.add_argument("trainings", nargs="*", metavar="|".join(TRAININGS))
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--write", action="store_true", help="put the table into the page too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = ["| | a step | counting it | looking at it | share of looking | aim |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for name in arguments.trainings or TRAININGS:
        torch.manual_seed(0)
        whole, *parts = measure(TRAININGS[name](), arguments.steps)
        share = parts[1] / whole
        aim = "" if name == "MLP" else f"{LIMIT:.1%}" if share <= LIMIT else f"**{LIMIT:.1%}**"
        counting, looking = (f"{part * 1e6:.0f} us" for part in parts)
        lines.append(
            f"| {name} | {whole * 1e3:.1f} ms | {counting} | {looking} | {share:.3%} | {aim} |"
        )
        print(lines[-1], flush=True)
    if arguments.write:
        put_into_page("guard", lines)


if __name__ == "__main__":
    main()
