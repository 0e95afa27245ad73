"""Circumstances in which our own code cannot run when it is called."""

from __future__ import annotations

import sys
from types import ModuleType

import torch

from tb_gradgraph.autograd.torch_internals.engine import peek_interpreters
from tb_gradgraph.errors import CaptureError

#: Torch modules of devices that can record graphs. While one is recorded, no values exist yet.
_DEVICES = ("torch.cuda", "torch.xpu")


class _Counter:
    count = 0


_captured = _Counter()


def is_capturing() -> bool:
    """Return whether this thread's work is recorded into a device graph (``torch.cuda.graph``).

    Every backward and every optimizer step asks this. It is a single call while no device is in
    use.
    """
    for name in _DEVICES:
        module = sys.modules.get(name)
        is_initialized = getattr(module, "is_initialized", None)
        # Ask only if the device is in use, because asking would initialize it, or raise.
        if is_initialized is not None and is_initialized() and _records(module):
            return True
    return False


def note_captured() -> int:
    """Count a backward that is captured into a device graph; return the count so far."""
    _captured.count += 1
    return _captured.count


def captured_so_far() -> int:
    """Return how many backwards were captured in this process."""
    return _captured.count


def check_circumstances(where: str) -> None:
    """Check that our own forward and backward can run now.

    Raises:
        CaptureError: They cannot. The message gives the reason.
    """
    what = _what_is_going_on()
    if what:
        raise CaptureError(
            f"{where}: expected to be called where operations run as they are, but got called while "
            f"{what}. Call it before or after that."
        )


def _what_is_going_on() -> str:
    if torch.jit.is_tracing():
        return "torch.jit.trace traces"
    if torch.compiler.is_compiling():
        return "torch.compile or torch.export traces"
    if _is_transformed():
        return "a transform of torch.func (vmap, grad, jvp, functionalize) runs"
    return "a device graph (torch.cuda.graph) is captured" if is_capturing() else ""


def _is_transformed() -> bool:
    return peek_interpreters() is not None


def _records(module: ModuleType | None) -> bool:
    ask = getattr(module, "is_current_stream_capturing", None)
    try:
        return ask is not None and bool(ask())
    except RuntimeError:  # the device does not exist
        return False
