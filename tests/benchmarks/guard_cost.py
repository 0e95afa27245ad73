"""What a watch costs between recorded steps: processor time of our own code alone, a step.

``python -m tests.benchmarks.guard_cost [--write] [TRAINING ...]``. A ratio of whole steps cannot show a
thousandth, because steps vary by more. Therefore torch's calls of our code are timed themselves: the
replaced functions without what they call of torch, and the hooks on the optimizer. Looking is timed by
itself within them: at the loss, at the norm that clipping computes, and before the optimizer's step.
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
from tb_gradgraph.training.guard.lookout import Lookout
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
_BACKWARD, _NORM_OF = (torch.autograd, "_engine_run_backward"), (clip_grad, "_get_total_norm")
#: Where optimizers call our code, and where it looks at what it is called for.
_HOOKS = tuple((optimizers.OptimizerHooks, name) for name in ("_before", "_after", "_after_any"))
_LOOKS = tuple((Lookout, name) for name in ("see", "before_step"))


class Clocks:
    """Two clocks: one of all our code in a step, and one of that which looks at losses and norms."""

    def __init__(self) -> None:
        self.every, self.looking = Clock(), Clock()

    @contextlib.contextmanager
    def within(self) -> Iterator[None]:
        """Time our code in the block, without torch's functions within it. The watch comes after."""
        with contextlib.ExitStack() as timed:
            for place in (_BACKWARD, _NORM_OF):
                timed.enter_context(self.every.around(*place, -1))
            timed.enter_context(self.looking.around(*_NORM_OF, -1))
            for place in _HOOKS:
                timed.enter_context(self.every.around(*place, 1))
            for place in _LOOKS:
                timed.enter_context(self.looking.around(*place, 1))
            yield

    def run(self, training: Training, steps: int) -> tuple[float, float, float]:
        """Return medians: seconds of a step, of all our code in it, and of that which looks."""
        taken = []
        with contextlib.ExitStack() as timed:
            for place in (_BACKWARD, _NORM_OF):
                timed.enter_context(self.every.around(*place, 1))
            timed.enter_context(self.looking.around(*_NORM_OF, 1))
            for _ in range(steps):
                self.every.taken = self.looking.taken = 0
                start = time.thread_time_ns()
                step(training)
                whole = time.thread_time_ns() - start
                taken.append((whole, self.every.taken, self.looking.taken))
        whole, every, looking = (statistics.median(column) / 1e9 for column in zip(*taken))
        return whole, every, looking


def measure(training: Training, steps: int) -> tuple[float, float, float]:
    """Return seconds of a step, of the watch's code that counts it, and of that which looks at it.

    What is timed without a watch is the clocks' own time.
    """
    clocks = Clocks()
    with clocks.within():
        whole, *own = clocks.run(training, steps)
        every, looking = (
            max(0.0, taken - idle) for taken, idle in zip(_watched(training, steps, clocks), own)
        )
    return whole, max(0.0, every - looking), looking


def _watched(training: Training, steps: int, clocks: Clocks) -> tuple[float, float]:
    """Return seconds of our code in a step that is not recorded."""
    with tempfile.TemporaryDirectory() as logdir, SummaryWriter(logdir) as writer:
        writer.watch(
            training.model, optimizer=training.optimizer, every_n_steps=10**6, on_finding="warn"
        )
        for _ in range(2):
            step(training)
        writer.flush()
        _, every, looking = clocks.run(training, steps)
        return every, looking


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
