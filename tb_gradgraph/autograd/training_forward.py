"""The forwards of one training step, which the user's own loop runs."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.engine import (
    HAS_NUMBERS,
    current_graph_task,
    next_sequence_nr,
    sequence_nr,
)
from tb_gradgraph.autograd.forward import Forward, KnownTensor
from tb_gradgraph.autograd.frame_tensors import variables_with_history, variables_without_history
from tb_gradgraph.autograd.frames import is_in_module_call
from tb_gradgraph.autograd.idle_calls import EndedCall, marks_of
from tb_gradgraph.autograd.known import in_scopes
from tb_gradgraph.autograd.spans import ModuleSpans, is_wrapper
from tb_gradgraph.autograd.trace import ForwardTrace
from tb_gradgraph.autograd.watched import forward_of, number_from
from tb_gradgraph.graph import NO_SCOPE, Scope

#: Module calls from which on those that led to nothing are looked for.
_MOST_SCOPES = 2_000


class TrainingForward:
    """Follows the module calls of a step from ``attach`` to ``remove``, on the thread of ``attach``.

    Calls under ``no_grad`` and those that a backward makes (checkpoints run their
    forward again) are not followed, nor anything inside them.
    """

    def __init__(self, find_names: Callable[[], Mapping[int, str]], traces: bool) -> None:
        """Prepare; ``find_names`` gives those of modules by ``id`` when the first is called.

        A trace also sees source lines, variables and tensors without gradient, at
        some 30 us an operation.
        """
        self._spans = _OutermostSpans(find_names, self._at_outermost, self._sources)
        self._trace = ForwardTrace(self._spans, None) if traces and HAS_NUMBERS else None
        self._first = next_sequence_nr()

    @property
    def traces(self) -> bool:
        """Whether source lines, variables and tensors without gradient are seen."""
        return self._trace is not None

    def has_followed(self, order: Sequence[AutogradNode]) -> bool:
        """Whether all nodes were made since ``attach``."""
        numbers = (sequence_nr(node) for node in order if node.next_functions)
        return not HAS_NUMBERS or all(number >= self._first for number in numbers)

    @property
    def meets_compiler(self) -> bool:
        """Whether a part that torch.compile had taken in was called, and the following ended there."""
        return self._spans.meets_compiler

    def check(self) -> None:
        """Raise a fault of ours that happened within the user's forward."""
        if self._spans.failure is not None:
            raise self._spans.failure

    def attach(self) -> None:
        """Begin; global hooks are put on module calls."""
        self._spans.__enter__()

    def remove(self) -> None:
        """End. Within a module call what is left goes when the call ends."""
        if self._spans.is_inside and not is_in_module_call():
            self._spans.abandon()
        self._spans.stop()
        if self._trace is not None and not self._spans.is_inside:
            self._trace.close()
        self.release()

    def release(self) -> None:
        """Let go of what holds this object, in a circle; within a module call when that ends."""
        if not self._spans.is_inside:
            self._spans.release()

    def so_far(self, owned: Mapping[int, KnownTensor], frame: FrameType | None) -> Forward:
        """Give what is known by now.

        Args:
            owned: Parameters and buffers by ``id``.
            frame: Where the backward was called; its variables name what was made
                outside of modules.
        """
        number_of = number_from(self._first)
        known = in_scopes(owned, self._spans.scopes) | variables_without_history(frame, owned)
        names, values = variables_with_history(frame, number_of)
        if self._trace is None:
            return Forward(
                number_of=number_of,
                known=known,
                seen=None,
                scopes=self._spans.scopes,
                scope_at=self._spans.scope_at,
                names=names,
                used=values,
            )
        forward = forward_of(self._trace, known)
        return dataclasses.replace(
            forward, names={**names, **forward.names}, used={**values, **forward.used}
        )

    def _sources(self) -> int:
        """Count the operations without gradient that were traced."""
        return 0 if self._trace is None else len(self._trace.origins.sources)

    def _at_outermost(self, begins: bool) -> None:
        trace = self._trace
        if trace is None:
            return
        if begins:
            for call in self._spans.take_idle():
                trace.forget(call.numbers, call.sources)
            trace.resume()
            trace.__enter__()
        else:
            trace.leave()
            trace.names.close()


class _OutermostSpans(ModuleSpans):
    """Module spans that leave out calls without gradient, and tell of outermost calls."""

    def __init__(
        self,
        find_names: Callable[[], Mapping[int, str]],
        tell: Callable[[bool], None],
        count_sources: Callable[[], int],
    ) -> None:
        super().__init__({})
        self._find_names = find_names
        self._count_sources = count_sources
        self._ended: list[EndedCall] = []
        self._begins = (0, 0, 0)  # scopes, sequence numbers and sources when a call begins
        self._most = _MOST_SCOPES
        self._tell = tell
        self._ignored = 0
        self._stopped = False
        self.meets_compiler = False
        self.failure: Exception | None = None

    @property
    def scopes(self) -> list[Scope]:
        """The calls so far, in the order they began."""
        if self._begun:
            self._names = self._find_names()
        return super().scopes

    @property
    def is_inside(self) -> bool:
        """Whether a call that is followed is running."""
        return bool(self._stack)

    def abandon(self) -> None:
        """Give up a call that was broken off by what is no Exception, as Ctrl-C."""
        self._stack.clear()
        self._switch(NO_SCOPE)
        self._tell(False)

    def take_idle(self) -> list[EndedCall]:
        """Give each call of which nothing can be differentiated any more, once."""
        idle = [call for call in self._ended if call.is_idle]
        self._ended = [call for call in self._ended if call not in idle]
        return idle

    def stop(self) -> None:
        """Follow no further call; the one that is running is followed to its end."""
        self._stopped = True
        self._handles[0].remove()
        if not self._stack:
            self._handles[1].remove()

    def release(self) -> None:
        """Let go of those that are told: they hold this object, in a circle."""
        self._find_names, self._tell, self._count_sources = dict, _ignore, int

    def _is_followed(self, module: torch.nn.Module) -> bool:
        if torch.compiler.is_compiling():  # else our own code would be compiled too
            return False
        if self.failure is not None:
            return False
        return threading.get_ident() == self._thread and not is_wrapper(module)

    def _enter(self, module: torch.nn.Module, inputs: object) -> None:
        if is_wrapper(module):
            self._make_way()
        if self._is_followed(module):
            try:
                self._begin_call(module, inputs)
            except Exception as error:
                self._fail(error)

    def _leave(self, module: torch.nn.Module, inputs: object, output: object) -> None:
        if self._is_followed(module):
            try:
                self._end_call(module, inputs, output)
            except Exception as error:
                self._fail(error)

    def _make_way(self) -> None:
        """End the following before torch.compile takes in what is called, hooks and trace included."""
        if threading.get_ident() == self._thread and not self._stopped:
            self.meets_compiler = True
            if self._stack:
                self.abandon()
            self.stop()

    def _fail(self, error: Exception) -> None:
        """End the following after a fault of ours within the user's forward."""
        self.failure = error
        self._stack.clear()
        self.stop()
        with contextlib.suppress(Exception):
            self._tell(False)

    def _begin_call(self, module: torch.nn.Module, inputs: object) -> None:
        outermost = not self._stack
        if self._ignored or (outermost and not _makes_nodes()):
            self._ignored += 1
            return
        if outermost:
            self._begin_outermost()
        super()._enter(module, inputs)
        if outermost:
            self._tell(True)

    def _end_call(self, module: torch.nn.Module, inputs: object, output: object) -> None:
        if self._ignored:
            self._ignored -= 1
            return
        followed = bool(self._stack)
        super()._leave(module, inputs, output)
        if followed and not self._stack:
            self._tell(False)
            self._end_outermost(output)
            if self._stopped:
                self._handles[1].remove()
                self.release()

    def _begin_outermost(self) -> None:
        if self.count >= self._most:
            self._forget_idle()
        self._begins = (self.count, next_sequence_nr(), self._count_sources())

    def _end_outermost(self, output: object) -> None:
        scopes, numbers, sources = self._begins
        self._ended.append(
            EndedCall(
                range(scopes, self.count),
                range(numbers, next_sequence_nr()),
                range(sources, self._count_sources()),
                marks_of(output),
            )
        )

    def _forget_idle(self) -> None:
        """Leave out the calls that led to nothing: an evaluation may be long."""
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


def _makes_nodes() -> bool:
    return torch.is_grad_enabled() and current_graph_task() == -1


def is_compiled(model: torch.nn.Module) -> bool:
    """Whether torch.compile took in ``model`` or a part of it: hooks would have it compiled again."""
    return any(
        is_wrapper(module)
        or getattr(module, "_compiled_call_impl", None) is not None
        or hasattr(vars(module).get("forward"), "_torchdynamo_orig_callable")
        for module in model.modules()
    )
