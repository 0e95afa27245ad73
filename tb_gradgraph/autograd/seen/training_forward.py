"""Follow the forwards of one training step, which the user's own loop runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.forward import Forward, KnownTensor
from tb_gradgraph.autograd.forward.known import in_scopes
from tb_gradgraph.autograd.forward.traced_forward import number_from
from tb_gradgraph.autograd.forward.variables import (
    variables_with_history,
    variables_without_history,
)
from tb_gradgraph.autograd.seen.forward_notes import ForwardNotes
from tb_gradgraph.autograd.seen.outermost_spans import OutermostSpans
from tb_gradgraph.autograd.seen.saved_inputs import saved_inputs
from tb_gradgraph.autograd.torch_internals.engine import HAS_NUMBERS, next_sequence_nr, sequence_nr
from tb_gradgraph.autograd.torch_internals.walk import Walk
from tb_gradgraph.autograd.user_code.anomaly_lines import forget_stacks, line_of
from tb_gradgraph.autograd.user_code.stack_frames import is_in_module_call


class TrainingForward:
    """Follows a step's module calls from ``attach`` to ``remove``, on the thread of ``attach``.

    Calls under ``no_grad`` and calls that a backward makes (checkpoints run their forward
    again) are not followed, nor is anything inside them.
    """

    def __init__(self, find_names: Callable[[], Mapping[int, str]], notes: bool) -> None:
        """Prepare; ``find_names`` returns modules' names by ``id``. It is called at the first module call.

        With ``notes``, source lines, variables and the results of calls are noted too.
        """
        self._notes = ForwardNotes() if notes and HAS_NUMBERS else None
        self._spans = OutermostSpans(find_names, self._at_outermost, self._notes)
        self._first = next_sequence_nr()
        #: The calls that made several nodes, by number, if calls are seen; set before ``so_far``.
        self.inside: Mapping[int, str] = {}

    @property
    def has_notes(self) -> bool:
        """Return whether source lines and variables are seen."""
        return self._notes is not None

    def has_followed(self, order: Sequence[AutogradNode]) -> bool:
        """Return whether all nodes were made since ``attach``."""
        numbers = (sequence_nr(node) for node in order if node.next_functions)
        return not HAS_NUMBERS or all(number >= self._first for number in numbers)

    @property
    def calls(self) -> int:
        """Return how many module calls were followed so far."""
        return self._spans.count

    def check(self) -> None:
        """Raise our own error, if one happened within the user's forward."""
        if self._notes is not None:
            self._notes.anomaly.settle()
        if self._spans.failure is not None:
            raise self._spans.failure

    def attach(self) -> None:
        """Begin: put global hooks on module calls."""
        self._spans.__enter__()

    def remove(self) -> None:
        """End. If a module call is running, the rest is removed when the call ends."""
        if self._spans.is_inside and not is_in_module_call():
            self._spans.abandon()
        self._spans.stop()
        self.release()

    def release(self) -> None:
        """Release what holds this object in a cycle; if a module call is running, when it ends."""
        if not self._spans.is_inside:
            self._spans.release()

    def so_far(
        self, owned: Mapping[int, KnownTensor], frame: FrameType | None, walked: Walk
    ) -> Forward:
        """Return what is known so far.

        Args:
            owned: Parameters and buffers by ``id``.
            frame: Where the backward was called; its variables name tensors made outside
            modules.
            walked: The nodes that the backward will run over.
        """
        number_of = number_from(self._first)
        known = in_scopes(owned, self._spans.scopes) | variables_without_history(frame, owned)
        names, values = variables_with_history(frame, number_of)
        notes = self._notes
        if notes is not None:
            held = notes.names.found_without_gradient().items()
            known = {key: KnownTensor("constant", (name,)) for key, name in held} | known
            names = {**names, **notes.names.found()}
        sources, inputs = saved_inputs(walked, known, number_of, copies=False, notes=notes)
        forward = Forward(
            number_of=number_of,
            known=known,
            seen=None,
            scopes=self._spans.scopes,
            scope_at=self._spans.scope_at,
            sources=sources,
            untracked_inputs=inputs,
            names=names,
            used=values,
            inside=self.inside,
        )
        return forward if notes is None else _with_notes(forward, notes, walked)

    def _at_outermost(self, begins: bool) -> None:
        notes = self._notes
        if notes is None:
            return
        if begins:
            for call in self._spans.take_idle():
                notes.forget(call.numbers)
            if not self._spans.has_ended_calls:
                notes.forget_sources()
            notes.begin()
        else:
            notes.end()


def _with_notes(forward: Forward, notes: ForwardNotes, walked: Walk) -> Forward:
    """Add lines, and what is known about leaves."""
    lines = notes.lines
    if notes.anomaly.is_used:
        stacks = ((forward.number_of(node), line_of(node)) for node in walked.nodes)
        lines = {**{number: line for number, line in stacks if line}, **lines}
        if notes.anomaly.was_ours:
            forget_stacks(walked.nodes)
    return dataclasses.replace(
        forward,
        lines=lines,
        source_names=notes.names.found_sources(),
        leaf_names=notes.names.found_leaves(),
        seen={leaf: lines.get(number, "") for leaf, number in notes.seen.items()},
        called=notes.modules.called,
        taken_off=notes.taken_off(),
        hidden_leaves=notes.modules.hidden_leaves,
    )
