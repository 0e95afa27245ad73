"""What others offer for the same, where it is installed: see requirements-peers.txt."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from tests.benchmarks.trainings import Training

#: What is called after a step, and what puts everything recorded so far on the disk.
Calls = tuple[Callable[[], None], Callable[[], None]]

os.environ.setdefault("WANDB_MODE", "offline")
os.environ.setdefault("WANDB_SILENT", "true")


@contextlib.contextmanager
def _add_histogram(
    training: Training, logdir: str
) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """A histogram of the gradient of every parameter, by torch's own writer."""
    with SummaryWriter(logdir) as writer:

        def after() -> None:
            for name, parameter in training.model.named_parameters():
                writer.add_histogram(name, parameter.grad)

        yield after, writer.flush


@contextlib.contextmanager
def _wandb(
    training: Training, logdir: str
) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    wandb = importlib.import_module("wandb")
    with wandb.init(mode="offline", dir=logdir, project="bench") as run:
        run.watch(training.model, log="gradients", log_freq=1)
        yield (lambda: run.log({"x": 1})), (lambda: None)
        run.unwatch(training.model)


_FOUND: dict[str, tuple[str, Any]] = {
    "wandb.watch, gradients": ("wandb", _wandb),
}
PEERS: Mapping[str, Any] = {
    "add_histogram of each parameter": _add_histogram,
    **{
        name: attach
        for name, (module, attach) in _FOUND.items()
        if importlib.util.find_spec(module) is not None
    },
}
