"""What others offer for the same, where it is installed: see requirements-peers.txt."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils.tensorboard import SummaryWriter

from tests.benchmarks.trainings import Training

#: What runs one step, and what puts everything recorded so far on the disk.
Calls = tuple[Callable[[], None], Callable[[], None]]
#: Attached to a training with a directory for its records.
Attach = Callable[[Training, str], contextlib.AbstractContextManager[Calls]]

os.environ.setdefault("WANDB_MODE", "offline")
os.environ.setdefault("WANDB_SILENT", "true")


def nothing() -> None:
    """Do nothing."""


@contextlib.contextmanager
def _add_histogram(training: Training, logdir: str) -> Iterator[Calls]:
    """A histogram of the gradient of every parameter, by torch's own writer."""
    with SummaryWriter(logdir) as writer:

        def step() -> None:
            training.step()
            for name, parameter in training.model.named_parameters():
                writer.add_histogram(name, parameter.grad)

        yield step, writer.flush


@contextlib.contextmanager
def _wandb(training: Training, logdir: str) -> Iterator[Calls]:
    wandb = importlib.import_module("wandb")
    with wandb.init(mode="offline", dir=logdir, project="bench") as run:
        run.watch(training.model, log="all", log_freq=1)

        def step() -> None:
            training.step()
            run.log({"x": 1})

        yield step, nothing
        run.unwatch(training.model)


@contextlib.contextmanager
def _torchexplorer(training: Training, _logdir: str) -> Iterator[Calls]:
    """Histograms of inputs, outputs, parameters and the gradients of all; nothing is written."""
    watch = importlib.import_module("torchexplorer").watch
    watch(training.model, log_freq=1, backend="none", verbose=False)
    yield training.step, nothing


@contextlib.contextmanager
def _torchlens(training: Training, _logdir: str) -> Iterator[Calls]:
    """Every operation's output and gradient, kept whole in memory until the next step."""
    torchlens: Any = importlib.import_module("torchlens")
    options = torchlens.options.CaptureOptions(save_grads=True)
    traces: list[Any] = []

    def forward(x: torch.Tensor) -> torch.Tensor:
        trace = torchlens.trace(training.model, x, capture=options)
        traces[:] = [trace]
        return trace[trace.output_layers[0]].out

    def step() -> None:
        training.step_through(forward, lambda loss: traces[0].log_backward(loss))

    yield step, nothing


def _installed(**found: tuple[str, Attach]) -> dict[str, Attach]:
    return {
        name: attach
        for module, (name, attach) in found.items()
        if importlib.util.find_spec(module) is not None
    }


PEERS: Mapping[str, Attach] = {
    "add_histogram of each parameter": _add_histogram,
    **_installed(wandb=("wandb.watch, gradients and weights", _wandb)),
}
#: These cannot be taken off again from a model, or from torch: each is measured in a process of
#: its own.
PEERS_APART: Mapping[str, Attach] = _installed(
    torchexplorer=("torchexplorer.watch", _torchexplorer),
    torchlens=("TorchLens, forward and backward", _torchlens),
)
