"""Find the module call in which an autograd node was made."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Mapping

import torch
from torch.nn.modules import module as torch_module

from tb_gradgraph.autograd.torch_internals.engine import next_sequence_nr
from tb_gradgraph.autograd.torch_internals.tensor_classes import class_name_of, is_module_wrapper
from tb_gradgraph.graph import NO_SCOPE, Scope


class ModuleSpans:
    """Follow module calls on this thread while the ``with`` block runs.

    Global forward hooks note the sequence numbers at which a call begins and ends. A node belongs
    to the innermost call that was running when it got its number. No hooks are put on the user's
    modules.
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        """Prepare; ``names`` gives the names of modules by ``id``. Others get the name of their class."""
        self.current = NO_SCOPE
        self._scopes: list[Scope] = []
        self._begun: list[tuple[int, int, type]] = []  # module, outer scope, class: not entered yet
        self._names = names
        self._calls: dict[str, int] = {}
        self._stack: list[tuple[int, int]] = []  # the module's id, the scope before it
        self._starts = [0]
        self._owners = [NO_SCOPE]

    def __enter__(self) -> ModuleSpans:
        self._thread = threading.get_ident()
        self._handles = (
            torch_module.register_module_forward_pre_hook(self._enter),
            torch_module.register_module_forward_hook(self._leave, always_call=True),
        )
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()

    @property
    def count(self) -> int:
        """The number of calls so far."""
        return len(self._scopes) + len(self._begun)

    @property
    def scopes(self) -> list[Scope]:
        """The calls so far, in the order in which they began. Names are made only when they are needed."""
        for identity, parent, made_of in self._begun:
            path, kind = self._names.get(identity), class_name_of(made_of)
            if path is None:
                around = self._scopes[parent].path if parent != NO_SCOPE else ""
                path = f"{around}.{kind}" if around else kind
            call = self._calls.get(path, 0)
            self._calls[path] = call + 1
            self._scopes.append(Scope(path, call, kind, parent))
        self._begun.clear()
        return self._scopes

    def scope_at(self, sequence_nr: int) -> int:
        """Return the scope that was innermost when a node got ``sequence_nr``."""
        return self._owners[bisect.bisect_right(self._starts, sequence_nr) - 1]

    def _enter(self, module: torch.nn.Module, _inputs: object) -> None:
        if threading.get_ident() == self._thread and not is_module_wrapper(module):
            self._begin(module)

    def _leave(self, module: torch.nn.Module, _inputs: object, _output: object) -> None:
        if threading.get_ident() == self._thread and not is_module_wrapper(module):
            self._end(module)

    def _begin(self, module: torch.nn.Module) -> None:
        call = (id(module), self.current)
        self._stack.append(call)
        self._begun.append((*call, type(module)))
        self._switch(len(self._scopes) + len(self._begun) - 1)

    def _end(self, module: torch.nn.Module) -> None:
        while self._stack:  # if a call raised, its submodules may still be open
            identity, before = self._stack.pop()
            self._switch(before)
            if identity == id(module):
                return

    def _switch(self, scope: int) -> None:
        self.current = scope
        now = next_sequence_nr()
        if self._starts[-1] == now:
            self._owners[-1] = scope
        else:
            self._starts.append(now)
            self._owners.append(scope)
