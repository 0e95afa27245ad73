"""The forwards of one training step, which the user's own loop runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.engine import (
    HAS_NUMBERS,
    next_sequence_nr,
    sequence_nr,
)
from tb_gradgraph.autograd.forward import Forward, KnownTensor
from tb_gradgraph.autograd.frame_tensors import variables_with_history, variables_without_history
from tb_gradgraph.autograd.frames import is_in_module_call
from tb_gradgraph.autograd.known import in_scopes
from tb_gradgraph.autograd.outermost_spans import OutermostSpans
from tb_gradgraph.autograd.trace import ForwardTrace
from tb_gradgraph.autograd.watched import forward_of, number_from


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
        self._spans = OutermostSpans(find_names, self._at_outermost, self._sources)
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
    def calls(self) -> int:
        """How many module calls were followed so far."""
        return self._spans.count

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
