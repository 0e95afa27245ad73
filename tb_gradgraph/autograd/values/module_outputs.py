"""Follow what the modules of a training get and put out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.nn.modules import module as torch_module

from tb_gradgraph.autograd.forward.idle_calls import Marks, are_gone, marks_of
from tb_gradgraph.autograd.forward.named_tensors import named_tensors
from tb_gradgraph.autograd.torch_internals.compiled_regions import listen_to_regions
from tb_gradgraph.autograd.torch_internals.engine import (
    LEAVES_FUNCTION_MODES,
    current_graph_task,
    functions_not_overridden,
)
from tb_gradgraph.autograd.values.call_results import CallResults
from tb_gradgraph.autograd.values.made_tensors import GivenTensors, MadeTensors


class ModuleOutputs:
    """Passes on inputs and outputs of all module calls on this thread, from ``attach`` to ``remove``.

    What a backward calls is left out: a checkpoint runs its forward again. While code compiled by
    torch.compile runs, nothing of ours is active, because it would be compiled too.
    """

    def __init__(
        self,
        made: MadeTensors,
        given: GivenTensors,
        forget: Callable[[], None],
        calls: CallResults | None,
    ) -> None:
        """Prepare.

        Args:
            made: Gets the outputs.
            given: Gets the inputs.
            forget: Called when nothing that was passed on can be differentiated any more.
            calls: What looks at calls of torch's functions within them, if they are wanted.
        """
        self._made = made
        self._given = given
        self.calls = calls if LEAVES_FUNCTION_MODES else None
        self._forget = forget
        self._depth = 0
        self._is_traced = False  # whether torch compiles or traces the outermost call
        self._paused_at = 0  # the depth of a module within which calls are not looked at; 0: none
        self._is_stopped = False
        self._ended: list[Marks] = []  # marks of the outputs of outermost calls
        self._handles: list[Any] = []
        self._stop_listening: Callable[[], None] | None = None
        self._thread = 0
        self._failure: Exception | None = None

    @property
    def failure(self) -> Exception | None:
        """Our own error, which ended it; None if there was none."""
        return self._failure or (None if self.calls is None else self.calls.failure)

    def attach(self) -> None:
        """Begin: put a global hook on module calls."""
        self._thread = threading.get_ident()
        self._hook()
        self._stop_listening = listen_to_regions(self._at_region)

    def remove(self) -> None:
        """End; if a torch function is running, when its module call ends. A second call does nothing."""
        stop, self._stop_listening = self._stop_listening, None
        if stop is not None:
            stop()
        self._is_stopped = True
        if self.calls is None or not self.calls.is_handling:
            self._unhook()

    def _hook(self) -> None:
        enter, leave = self._enter, self._leave
        self._handles.append(torch_module.register_module_forward_pre_hook(enter))
        self._handles.append(torch_module.register_module_forward_hook(leave, always_call=True))

    def _unhook(self) -> None:
        if self.calls is not None:
            self.calls.end()
        while self._handles:
            self._handles.pop().remove()

    def _at_region(self, begins: bool) -> None:
        if threading.get_ident() == self._thread and self.failure is None:
            self._unhook()
            if not begins:
                self._hook()
                self._begin_calls()

    def _enter(self, module: torch.nn.Module, inputs: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        if self._depth == 0:
            self._forget_idle()
            self._is_traced = torch.compiler.is_compiling() or torch.jit.is_tracing()
        self._depth += 1
        if self.calls is not None and self._paused_at == 0 and _asks_for_modes(module):
            self._paused_at = self._depth
            self.calls.end()
        if _makes_nodes() and self._is_read():
            try:
                self._given.see_all(inputs)
            except Exception as error:
                self._failure = error
            if self.calls is not None and not self.calls.is_active:
                self._begin_calls()

    def _begin_calls(self) -> None:
        """Look at calls from now on, if a module call is running that makes nodes."""
        is_wanted = self._depth and not self._paused_at
        if self.calls is not None and is_wanted and _makes_nodes() and self._is_read():
            self.calls.begin()

    def _leave(self, _module: torch.nn.Module, _inputs: Any, output: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        if self._depth == self._paused_at:
            self._paused_at = 0
        self._depth = max(0, self._depth - 1)
        if self._depth == 0 and self.calls is not None:
            self.calls.end()
            if self._is_stopped:
                self._unhook()
        if not _makes_nodes() or not self._is_read():
            return
        if self.calls is not None and not self.calls.is_active:
            self._begin_calls()
        try:
            if type(output) is torch.Tensor:
                self._made.see(output)
            else:
                self._made.see_all(_tensors_in(output))
            if self._depth == 0:
                with functions_not_overridden():
                    self._ended.append(marks_of(output))
        except Exception as error:
            self._failure = error

    def _forget_idle(self) -> None:
        """Forget what was read if it led to nothing, because an evaluation may be long."""
        if not self._ended:
            return
        self._ended = [marks for marks in self._ended if not are_gone(marks)]
        if not self._ended:
            self._forget()

    def _is_read(self) -> bool:
        return not (self._is_traced or self._is_stopped or self._failure)


#: Modules that compute in another way, in evaluation mode, while a function mode is active.
_FAST = (torch.nn.MultiheadAttention, torch.nn.TransformerEncoder, torch.nn.TransformerEncoderLayer)


def _asks_for_modes(module: torch.nn.Module) -> bool:
    return isinstance(module, _FAST) and not module.training


def _makes_nodes() -> bool:
    return torch.is_grad_enabled() and current_graph_task() == -1


def _tensors_in(output: Any) -> Iterable[torch.Tensor]:
    if isinstance(output, torch.Tensor):
        return (output,)
    if type(output) is tuple and all(isinstance(each, torch.Tensor) for each in output):
        return output
    return (tensor for _, tensor in named_tensors(output, ""))
