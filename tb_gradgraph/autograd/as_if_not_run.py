"""Run a function of the user's within the training, as if it did not run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

from tb_gradgraph.autograd.backward_calls import unheard
from tb_gradgraph.autograd.model_run.preserve import device_random_state, host_random_state
from tb_gradgraph.autograd.torch_internals.engine import (
    autocast_paused,
    functions_not_overridden,
    modes_paused,
)
from tb_gradgraph.autograd.user_code.user_events import Quiet


class _Here(threading.local):
    devices: frozenset[torch.device] = frozenset()


_here = _Here()


@contextlib.contextmanager
def undisturbed(device: torch.device) -> Iterator[None]:
    """In the block, compute without gradient, autocast and the user's modes; then restore random states.

    Backwards in the block are not recorded. The random states are those of Python, numpy, the CPU
    and ``device``. Takes about 0.1 ms, but nothing within another such block for the same device.
    """
    before = _here.devices
    if device in before:
        yield
        return
    _here.devices = before | {device}
    try:
        with _as_if_not_run(device):
            yield
    finally:
        _here.devices = before


@contextlib.contextmanager
def _as_if_not_run(device: torch.device) -> Iterator[None]:
    with (
        Quiet(),
        unheard(),
        torch.random.fork_rng(devices=[]),
        device_random_state([device]),
        host_random_state(),
        functions_not_overridden(),
        torch.no_grad(),
        modes_paused(),
        autocast_paused(),
    ):
        yield
