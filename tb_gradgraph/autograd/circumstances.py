"""What may be going on while we are called, in which nothing of ours can run."""

from __future__ import annotations

import sys
from types import ModuleType

import torch

from tb_gradgraph.errors import CaptureError

#: Modules of devices that can record what they run to replay it: what is read then is not there yet.
_DEVICES = ("cuda", "xpu")


class _Counter:
    count = 0


_captured = _Counter()


def is_capturing() -> bool:
    """Whether this thread's work is recorded into a graph of the device's (``torch.cuda.graph``)."""
    return any(_is_capturing(module) for name in _DEVICES if (module := _module_of(name)))


def is_captured() -> bool:
    """Whether a backward that begins is captured into such a graph; those that are, are counted."""
    found = is_capturing()
    _captured.count += found
    return found


def captured_so_far() -> int:
    """How many backwards ran so in this process."""
    return _captured.count


def check_circumstances(where: str) -> None:
    """Check that a forward and a backward of our own can run now.

    Raises:
        CaptureError: They cannot; it says what is going on.
    """
    what = _what_is_going_on()
    if what:
        raise CaptureError(
            f"{where}: expected to be called where operations run as they are, got called while "
            f"{what}. Call it before or after that."
        )


def _what_is_going_on() -> str:
    if torch.jit.is_tracing():
        return "torch.jit.trace traces"
    if torch.compiler.is_compiling():
        return "torch.compile or torch.export traces"
    if _is_transformed():
        return "a transform of torch.func (vmap, grad, jvp, functionalize) runs"
    return "a graph of the device's (torch.cuda.graph) is captured" if is_capturing() else ""


def _is_transformed() -> bool:
    peek = getattr(torch._C._functorch, "peek_interpreter_stack", None)
    return peek is not None and peek() is not None


def _module_of(name: str) -> ModuleType | None:
    return sys.modules.get(f"torch.{name}")


def _is_capturing(module: ModuleType) -> bool:
    """Ask only where the device is in use: to ask would begin to use it, or raise."""
    is_initialized = getattr(module, "is_initialized", None)
    ask = getattr(module, "is_current_stream_capturing", None)
    if is_initialized is None or ask is None:
        return False
    try:
        return bool(is_initialized() and ask())
    except RuntimeError:  # a device that is not there
        return False
