"""Follow what the modules of a training put out."""

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
    current_graph_task,
    functions_not_overridden,
)
from tb_gradgraph.autograd.values.made_tensors import MadeTensors


class ModuleOutputs:
    """Passes on the outputs of all module calls on this thread, from ``attach`` to ``remove``.

    What a backward calls is left out: a checkpoint runs its forward again. While code compiled by
    torch.compile runs, nothing of ours is active, because it would be compiled too.

    Attributes:
        failure: Our own error, which ended it.
    """

    def __init__(self, made: MadeTensors, forget: Callable[[], None]) -> None:
        """Prepare; ``forget`` is called when nothing that was passed on can be differentiated any more."""
        self._made = made
        self._forget = forget
        self._depth = 0
        self._ended: list[Marks] = []  # marks of the outputs of outermost calls
        self._handles: list[Any] = []
        self._stop_listening: Callable[[], None] | None = None
        self._thread = 0
        self.failure: Exception | None = None

    def attach(self) -> None:
        """Begin: put a global hook on module calls."""
        self._thread = threading.get_ident()
        self._hook()
        self._stop_listening = listen_to_regions(self._at_region)

    def remove(self) -> None:
        """End. A second call does nothing."""
        stop, self._stop_listening = self._stop_listening, None
        if stop is not None:
            stop()
        self._unhook()

    def _hook(self) -> None:
        enter, leave = self._enter, self._leave
        self._handles.append(torch_module.register_module_forward_pre_hook(enter))
        self._handles.append(torch_module.register_module_forward_hook(leave, always_call=True))

    def _unhook(self) -> None:
        while self._handles:
            self._handles.pop().remove()

    def _at_region(self, begins: bool) -> None:
        if threading.get_ident() == self._thread and self.failure is None:
            self._unhook()
            if not begins:
                self._hook()

    def _enter(self, _module: torch.nn.Module, _inputs: Any) -> None:
        if threading.get_ident() == self._thread:
            if self._depth == 0 and self._ended:
                self._forget_idle()
            self._depth += 1

    def _leave(self, _module: torch.nn.Module, _inputs: Any, output: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        self._depth = max(0, self._depth - 1)
        if not torch.is_grad_enabled() or current_graph_task() != -1 or not self._is_read():
            return
        try:
            self._made.see_all(_tensors_in(output))
            if self._depth == 0:
                with functions_not_overridden():
                    self._ended.append(marks_of(output))
        except Exception as error:
            self.failure = error
            self.remove()

    def _forget_idle(self) -> None:
        """Forget what was read if it led to nothing, because an evaluation may be long."""
        self._ended = [marks for marks in self._ended if not are_gone(marks)]
        if not self._ended:
            self._forget()

    def _is_read(self) -> bool:
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            return False
        return self.failure is None


def _tensors_in(output: Any) -> Iterable[torch.Tensor]:
    if isinstance(output, torch.Tensor):
        return (output,)
    return (tensor for _, tensor in named_tensors(output, ""))
