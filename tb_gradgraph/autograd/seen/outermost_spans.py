"""Follow module calls of a training loop. Outermost calls may come from any code, and may lead to nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tb_gradgraph.autograd.forward.idle_calls import EndedCall, marks_of
from tb_gradgraph.autograd.forward.spans import ModuleSpans
from tb_gradgraph.autograd.seen.forward_notes import ForwardNotes
from tb_gradgraph.autograd.torch_internals.compiled_regions import listen_to_regions
from tb_gradgraph.autograd.torch_internals.engine import (
    current_graph_task,
    functions_not_overridden,
    next_sequence_nr,
)
from tb_gradgraph.autograd.torch_internals.tensor_classes import is_module_wrapper
from tb_gradgraph.autograd.user_code.user_events import events_paused
from tb_gradgraph.graph import NO_SCOPE, Scope

#: After this many module calls, calls that led to nothing are searched.
_MOST_SCOPES = 2_000


class OutermostSpans(ModuleSpans):
    """Module spans without calls under ``no_grad``. Outermost calls are reported.

    While code compiled by torch.compile runs, nothing of ours is active, because it would be
    compiled too.
    """

    def __init__(
        self,
        find_names: Callable[[], Mapping[int, str]],
        tell: Callable[[bool], None],
        notes: ForwardNotes | None,
    ) -> None:
        super().__init__({})
        self._find_names = find_names
        self._notes = notes
        if notes is not None:
            notes.scope = self._get_current
        self._ended: list[EndedCall] = []
        self._begins = (0, 0)  # scopes and sequence numbers when a call begins
        self._most = _MOST_SCOPES
        self._tell = tell
        self._ignored = 0
        self._stopped = False
        self._stop_listening = _do_nothing
        self.failure: Exception | None = None

    def __enter__(self) -> OutermostSpans:
        super().__enter__()
        self._stop_listening = listen_to_regions(self._at_region)
        return self

    @property
    def scopes(self) -> list[Scope]:
        """The calls so far, in the order they began."""
        if self._begun:
            self._names = self._find_names()
        return super().scopes

    @property
    def is_inside(self) -> bool:
        """Return whether a followed call is running."""
        return bool(self._stack)

    def abandon(self) -> None:
        """Give up a call that was aborted by something other than an Exception, such as Ctrl-C."""
        self._stack.clear()
        self._switch(NO_SCOPE)
        self._tell(False)

    def take_idle(self) -> list[EndedCall]:
        """Return, once, each call of which nothing can be differentiated any more."""
        idle = [call for call in self._ended if call.is_idle]
        self._ended = [call for call in self._ended if call not in idle]
        return idle

    @property
    def has_ended_calls(self) -> bool:
        """Return whether an outermost call has ended and led to something."""
        return bool(self._ended)

    def stop(self) -> None:
        """Follow no further call. A running call is followed to its end."""
        self._stopped = True
        self._handles[0].remove()
        if not self._stack:
            self._end_following()

    def release(self) -> None:
        """Release the listeners, which hold this object in a cycle."""
        self._find_names, self._tell = dict, _ignore
        notes, self._notes = self._notes, None
        if notes is not None:
            notes.release()

    def _get_current(self) -> int:
        return self.current

    def _is_followed(self) -> bool:
        if torch.compiler.is_compiling():  # otherwise our own code would be compiled too
            return False
        return threading.get_ident() == self._thread and self.failure is None

    def _enter(self, module: torch.nn.Module, inputs: Any) -> None:
        if not is_module_wrapper(module) and self._is_followed():
            try:
                with events_paused(), functions_not_overridden():
                    self._begin_call(module, inputs)
            except Exception as error:
                self._fail(error)

    def _leave(self, module: torch.nn.Module, inputs: Any, output: Any) -> None:
        if not is_module_wrapper(module) and self._is_followed():
            try:
                with events_paused(), functions_not_overridden():
                    self._end_call(module, inputs, output)
            except Exception as error:
                self._fail(error)

    def _end_following(self) -> None:
        self._stop_listening()
        self._stop_listening = _do_nothing  # the old value holds this object in a cycle
        self.__exit__()

    def _at_region(self, begins: bool) -> None:
        """Remove hooks and pause notes while compiled code runs, and restore them afterwards."""
        if threading.get_ident() != self._thread or self.failure is not None:
            return
        try:
            if begins:
                self.__exit__()
            else:
                super().__enter__()
                if self._stopped:
                    self._handles[0].remove()
            if self._stack:
                self._tell(not begins)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Stop following after an error of our own within the user's forward."""
        self.failure = error
        self._stack.clear()
        self.stop()
        with contextlib.suppress(Exception):
            self._tell(False)

    def _begin_call(self, module: torch.nn.Module, inputs: Any) -> None:
        outermost = not self._stack
        if self._ignored or (outermost and not _makes_nodes()):
            self._ignored += 1
            return
        if outermost:
            self._begin_outermost()
        self._begin(module)
        if outermost:
            self._tell(True)
        if self._notes is not None:
            self._notes.note_call(module, inputs, self.current)

    def _end_call(self, module: torch.nn.Module, inputs: Any, output: Any) -> None:
        if self._ignored:
            self._ignored -= 1
            return
        followed = bool(self._stack)
        if followed and self._notes is not None:
            self._notes.note_output(module, inputs, output, self.current)
        self._end(module)
        if followed and not self._stack:
            self._tell(False)
            self._end_outermost(output)
            if self._stopped:
                self._end_following()
                self.release()

    def _begin_outermost(self) -> None:
        if self.count >= self._most:
            self._forget_idle()
        self._begins = (self.count, next_sequence_nr())

    def _end_outermost(self, output: object) -> None:
        scopes, numbers = self._begins
        self._ended.append(
            EndedCall(
                range(scopes, self.count),
                range(numbers, next_sequence_nr()),
                marks_of(output),
            )
        )

    def _forget_idle(self) -> None:
        """Drop the calls that led to nothing, because an evaluation may be long."""
        kept = [call for call in self._ended if not call.is_idle]
        index_of = {NO_SCOPE: NO_SCOPE}
        scopes: list[Scope] = []
        self._ended = []
        for call in kept:
            begin = len(scopes)
            for index in call.scopes:
                index_of[index] = len(scopes)
                parent = index_of[self.scopes[index].parent]
                scopes.append(dataclasses.replace(self.scopes[index], parent=parent))
            moved = range(begin, len(scopes))
            self._ended.append(dataclasses.replace(call, scopes=moved))
        self.scopes[:] = scopes
        spans = [
            (start, index_of.get(owner, NO_SCOPE))
            for start, owner in zip(self._starts, self._owners)
        ]
        kept_spans = [
            span
            for before, span in zip([None, *spans], spans)
            if not before or before[1] != span[1]
        ]
        self._starts, self._owners = map(list, zip(*kept_spans))
        self._most = max(_MOST_SCOPES, 2 * len(scopes))


def _ignore(_begins: bool) -> None:
    """Do nothing."""


def _do_nothing() -> None:
    """Do nothing."""


def _makes_nodes() -> bool:
    return torch.is_grad_enabled() and current_graph_task() == -1
