"""What users observe a training with, and what each saw."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

HERE = pathlib.Path(__file__).parent.as_posix()
_TORCH = pathlib.Path(torch.__file__).parent.as_posix()


class Observer:
    """Begins and ends when it is told to, and then knows what it saw."""

    def begin(self) -> None:
        """Begin to observe."""

    def end(self) -> None:
        """End it."""

    def is_on(self) -> bool:
        """Return whether torch, or Python, says that it is on."""
        return True

    def saw(self) -> Any:
        """Return what was seen, the same for the same training."""


class Dispatched(Observer):
    """A dispatch mode of the user's."""

    def __init__(self) -> None:
        seen: list[str] = []

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append(str(func))
                return func(*args, **(kwargs or {}))

        self._mode, self.saw = Mode(), lambda: seen  # type: ignore[method-assign]

    def begin(self) -> None:
        self._mode.__enter__()

    def end(self) -> None:
        self._mode.__exit__(None, None, None)

    def is_on(self) -> bool:
        stack = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
        return self._mode in stack


class Called(Observer):
    """A function mode of the user's."""

    def __init__(self) -> None:
        seen: list[str] = []

        class Mode(TorchFunctionMode):
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append(getattr(func, "__name__", str(func)))
                return func(*args, **(kwargs or {}))

        self._mode, self.saw = Mode(), lambda: seen  # type: ignore[method-assign]

    def begin(self) -> None:
        self._mode.__enter__()

    def end(self) -> None:
        self._mode.__exit__(None, None, None)

    def is_on(self) -> bool:
        return self._mode in torch.overrides._get_current_function_mode_stack()


class Profiled(Observer):
    """Torch's profiler, with the lines of operations."""

    def begin(self) -> None:
        self._profiler = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
        )
        self._profiler.__enter__()

    def end(self) -> None:
        self._profiler.__exit__(None, None, None)

    def is_on(self) -> bool:
        return torch._C._autograd._profiler_enabled()

    def saw(self) -> Any:
        events = self._profiler.events()
        return [(e.name, str(e.input_shapes)) for e in events if e.name.startswith("aten::")]


class Anomalies(Observer):
    """Anomaly mode, which keeps the lines of the forward and raises at NaN."""

    def begin(self) -> None:
        self._before = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
        torch.autograd.set_detect_anomaly(True, check_nan=False)

    def end(self) -> None:
        torch.autograd.set_detect_anomaly(*self._before)

    def is_on(self) -> bool:
        return torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()

    def saw(self) -> Any:
        return self._before


class Traced(Observer):
    """``sys.settrace``: lines of this room, and calls of torch's modules."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, str, int]] = []

    def begin(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._trace)

    def end(self) -> None:
        sys.settrace(self._before)

    def is_on(self) -> bool:
        return sys.gettrace() == self._trace

    def saw(self) -> Any:
        return self._seen

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if _is_of_training(frame):
            line = frame.f_lineno if event == "line" else 0
            self._seen.append((frame.f_code.co_name, event, line))
            return self._trace
        return None


class Counted(Observer):
    """``sys.setprofile``, and that of threads: calls of Python and of C from a training's code."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, str, str]] = []

    def begin(self) -> None:
        self._before = sys.getprofile(), threading.getprofile()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def end(self) -> None:
        sys.setprofile(self._before[0])
        threading.setprofile(self._before[1])

    def is_on(self) -> bool:
        return sys.getprofile() == self._profile == threading.getprofile()

    def saw(self) -> Any:
        return self._seen

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if _is_of_training(frame) and frame.f_code.co_name != "end":
            called = getattr(argument, "__name__", "") if event.startswith("c_") else ""
            self._seen.append((frame.f_code.co_name, event, called))


def _is_of_training(frame: FrameType) -> bool:
    """Return whether a frame is of a model, or of torch's layers: not of the watch, nor of a test."""
    name = frame.f_code.co_filename
    is_model = name.startswith(HERE) and frame.f_code.co_name in ("forward", "train")
    return is_model or name.startswith(f"{_TORCH}/nn/modules/") and "module.py" not in name


class Monitored(Observer):
    """``sys.monitoring`` of Python 3.12 and later, as coverage and debuggers use it."""

    def begin(self) -> None:
        monitoring = sys.monitoring
        self._seen: list[str] = []
        monitoring.use_tool_id(monitoring.DEBUGGER_ID, "user's")
        monitoring.register_callback(
            monitoring.DEBUGGER_ID, monitoring.events.PY_START, self._started
        )
        monitoring.set_events(monitoring.DEBUGGER_ID, monitoring.events.PY_START)

    def end(self) -> None:
        sys.monitoring.set_events(sys.monitoring.DEBUGGER_ID, 0)
        sys.monitoring.free_tool_id(sys.monitoring.DEBUGGER_ID)

    def is_on(self) -> bool:
        return sys.monitoring.get_tool(sys.monitoring.DEBUGGER_ID) == "user's"

    def saw(self) -> Any:
        return self._seen

    def _started(self, code: Any, offset: int) -> None:
        if code.co_filename.startswith(HERE) and code.co_name in ("forward", "train"):
            self._seen.append(code.co_name)


OBSERVERS: dict[str, type[Observer]] = {
    "dispatch mode": Dispatched,
    "function mode": Called,
    "profiler": Profiled,
    "anomaly mode": Anomalies,
    "settrace": Traced,
    "setprofile": Counted,
}
if hasattr(sys, "monitoring"):
    OBSERVERS["monitoring"] = Monitored


@contextlib.contextmanager
def put_back() -> Iterator[None]:
    """Have the process as it was, whatever a test left on."""
    trace, profile, of_threads = sys.gettrace(), sys.getprofile(), threading.getprofile()
    try:
        yield
    finally:
        sys.settrace(trace)
        sys.setprofile(profile)
        threading.setprofile(of_threads)
