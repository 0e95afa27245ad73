"""What can be seen of a user's forward from outside: lines, names, what each module call led to."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.anomaly_lines import AnomalyLines
from tb_gradgraph.autograd.engine import (
    accumulated_leaf,
    functions_not_overridden,
    next_sequence_nr,
    sequence_nr,
)
from tb_gradgraph.autograd.faults import warn_of_fault
from tb_gradgraph.autograd.frames import Snapshots, shown_path, tensors_of, user_call
from tb_gradgraph.autograd.functions import running_function
from tb_gradgraph.autograd.origins import Cut, Origin
from tb_gradgraph.autograd.seen_names import SeenNames
from tb_gradgraph.autograd.seen_sources import SeenSources
from tb_gradgraph.autograd.user_events import hear, may_read_variables
from tb_gradgraph.autograd.values import named_tensors
from tb_gradgraph.graph import NO_SCOPE

Place = tuple[CodeType, int]  # code and line number
#: Lines at which tensors were cut off that are told apart.
_MOST_CUTS = 50


class ForwardNotes:
    """Notes lines and names while the user's code runs, and nothing that torch runs is another.

    Between two lines of the user's, the numbers that autograd gives to nodes are
    those of the first. Variables are read where a line begins or a function ends, if
    there are new nodes since. Tensors are known by weak references; of nodes only the
    numbers are kept.
    """

    def __init__(self) -> None:
        self.scope: Callable[[], int] = _nowhere  # the module call that runs
        self.names = SeenNames(self._note_node, self._origin_of)
        self.seen: dict[int, int] = {}  # first node that used a leaf, by ``id`` of the leaf
        self.called: dict[int, tuple[str, bool]] = {}  # see ``note_call``
        self.hidden_leaves: dict[int, dict[int, torch.Tensor]] = {}  # by sequence number, by id
        self.anomaly = AnomalyLines()
        self._places: dict[int, Place] = {}  # by sequence number
        self.sources = SeenSources(self.names.made_by)
        self._history: dict[int, tuple[list[int], list[int]]] = {}  # see ``_note_history``
        self._first = self._next = next_sequence_nr()
        self._place: Place | None = None  # where the user's code is
        self._read_at: dict[int, int] = {}  # number up to which a frame was read, by ``id``
        self._snapshots = Snapshots()
        self._armed = True
        self._is_busy = False  # in a call of ours, which may call code that is not torch's
        self._stop: Callable[[], None] | None = None

    @property
    def lines(self) -> dict[int, str]:
        """The line of each node, by number."""
        return {number: _spelled(place) for number, place in self._places.items()}

    def begin(self) -> None:
        """An outermost module call begins, or goes on: what was made in between is not of it."""
        self._next = next_sequence_nr()
        self._look_around()
        self._stop = hear(self._at_event)
        if self._stop is None:
            self.anomaly.begin()

    def end(self) -> None:
        """It has ended, or pauses."""
        self._flush()
        if self._stop is not None:
            self._stop()
            self._stop = None
        self.anomaly.end()
        self._look_around()
        self.close()

    def note_call(self, module: torch.nn.Module, inputs: Any, scope: int) -> None:
        """Note that a module is called: of each of its parameters where, and whether with gradient.

        Under a custom Function, as a checkpoint, they are leaves that its node uses.
        """
        self._unheard(self._note_call, module, inputs, scope)

    def _note_call(self, module: torch.nn.Module, inputs: Any, scope: int) -> None:
        has_gradient = torch.is_grad_enabled()
        if not has_gradient:
            self._note_cut_by_call(inputs, scope)
        parameters = [p for p in module._parameters.values() if p is not None and p.requires_grad]
        if not parameters:
            return
        function = None if has_gradient else running_function(next_sequence_nr() - 1)
        if function is not None:
            hidden = self.hidden_leaves.setdefault(function.number, {})
            hidden.update((id(parameter), parameter) for parameter in parameters)
            return
        line = _spelled(self._place)
        for parameter in parameters:
            if has_gradient or id(parameter) not in self.called:
                self.called[id(parameter)] = (line, has_gradient)

    def note_output(self, module: torch.nn.Module, inputs: Any, output: Any, scope: int) -> None:
        """Note which leaves the nodes behind a module's output use; without any, that it was made."""
        self._unheard(self._note_output, module, inputs, output, scope)

    def _note_output(self, module: torch.nn.Module, inputs: Any, output: Any, scope: int) -> None:
        made = [tensor for _, tensor in named_tensors(output, "")]
        for tensor in made:
            self._note_history(tensor)
        if not all(tensor.requires_grad for tensor in made):
            own = [*module._parameters.values(), *module._buffers.values()]
            given = [tensor for _, tensor in named_tensors(inputs, "")]
            given += [tensor for tensor in own if tensor is not None]
            line = _spelled(self._place)
            self.sources.add_call(type(module).__name__, scope, line, given, made)

    def forget(self, numbers: range) -> None:
        """Let go of what was noted while ``numbers`` were given."""
        for table in (self._places, self.hidden_leaves, self._history):
            for number in numbers:
                table.pop(number, None)

    def forget_sources(self) -> None:
        """Let go of what went on without gradient: nothing that was made so far is used any more."""
        if self.sources.sources or self.sources.cuts:
            self.sources = SeenSources(self.names.made_by)
            self.names.forget_sources()

    def taken_off(self) -> dict[int, list[Cut]]:
        """Give the leaves behind cuts by ``id``, with the first cut at each line."""
        numbers: dict[tuple[str, str], list[Cut]] = {}
        for cut in self.sources.cuts:
            numbers.setdefault((cut.operation, cut.line), []).append(cut)
        found: dict[int, list[Cut]] = {}
        for cuts in itertools.islice(numbers.values(), _MOST_CUTS):
            for leaf in self._leaves_behind(cut.number for cut in cuts):
                found.setdefault(leaf, []).append(cuts[0])
        return found

    def _leaves_behind(self, numbers: Iterable[int]) -> set[int]:
        pending, seen, found = list(numbers), set(), set()
        while pending:
            number = pending.pop()
            if number not in seen and number in self._history:
                seen.add(number)
                parents, leaves = self._history[number]
                pending += parents
                found.update(leaves)
        return found

    def release(self) -> None:
        """Let go of all that is held, and of what holds this object, in a circle."""
        self.close()
        self.sources.close()
        self.names.release()
        self.scope = _nowhere

    def close(self) -> None:
        """Let go of frames and tensors; what was noted stays."""
        self._place = None
        self._read_at.clear()
        self._snapshots.clear()

    def _unheard(self, note: Callable[..., None], *args: Any) -> None:
        """Note what happens now; events of what that calls are not."""
        if self._armed:
            self._flush()
            self._is_busy = True
            try:
                note(*args)
            finally:
                self._is_busy = False

    def _at_event(self, event: str, frame: FrameType, about: torch.Tensor | None) -> None:
        if not self._armed or self._is_busy:
            return
        try:
            with functions_not_overridden():
                if about is None:
                    self._note(event, frame)
                else:
                    self._note_cut(event, about)
        except Exception as error:
            self._armed = False
            warn_of_fault(
                "stopped noting lines of this forward",
                error,
                "Later nodes have no lines and names.",
            )

    def _note(self, event: str, frame: FrameType) -> None:
        self._flush()
        self._snapshots.renew(frame)
        key = id(frame)
        if event != "call":
            unread = self._read_at.get(key) != self._next or event == "return"
            if unread and may_read_variables(frame.f_code):
                self._read_at[key] = self._next
                self.names.offer_all(self._snapshots.read(frame), frame.f_code)
        if event == "return":
            self._read_at.pop(key, None)
            self._place = _place_of(frame.f_back)
        else:
            self._place = (frame.f_code, frame.f_lineno)

    def _note_cut(self, method: str, tensor: torch.Tensor) -> None:
        if tensor.requires_grad and torch.is_grad_enabled():
            self._flush()
            self._note_history(tensor)
            self.sources.add_cut(method, self.scope(), _spelled(self._place), tensor)

    def _flush(self) -> None:
        """Give the nodes made since the last event the line that was running."""
        number = next_sequence_nr()
        if number > self._next and self._stop is not None:
            place = self._place
            for made in range(self._next, number):
                if place is not None:
                    self._places[made] = place
                    self.names.made_in(made, place[0])
        self._next = number

    def _look_around(self) -> None:
        """Read the user's frames that the outermost call is in: of these no event comes."""
        above = sys._getframe(1)
        self._place = _place_of(above)
        frame, _ = user_call(above)
        while frame is not None and self._armed:
            if may_read_variables(frame.f_code):
                self.names.offer_all(dict(tensors_of(frame)), frame.f_code)
            frame, _ = user_call(frame.f_back)

    def _note_cut_by_call(self, inputs: Any, scope: int) -> None:
        line = ""
        for _, tensor in named_tensors(inputs, ""):
            if tensor.requires_grad:
                line = line or _spelled(self._place)
                self._note_history(tensor)
                self.sources.add_cut("no_grad", scope, line, tensor)

    def _origin_of(self, tensor: torch.Tensor) -> Origin | None:
        return self.sources.known_object(tensor)

    def _note_history(self, tensor: torch.Tensor) -> None:
        """Note of each node behind ``tensor`` the numbers before it, and which leaves it uses."""
        node = self.names.made_by(tensor)
        if node is not None:
            self._note_node(node)

    def _note_node(self, node: AutogradNode) -> None:
        pending = [node]
        while pending:
            node = pending.pop()
            number = sequence_nr(node)
            if number in self._history or number < self._first:
                continue
            parents, leaves = self._history[number] = ([], [])
            for source, _ in node.next_functions:
                if source is None:
                    continue
                leaf = None if source.next_functions else accumulated_leaf(source)
                if leaf is None:
                    pending.append(source)
                    parents.append(sequence_nr(source))
                else:
                    leaves.append(id(leaf))
                    self.seen.setdefault(id(leaf), number)


def _place_of(frame: FrameType | None) -> Place | None:
    """Give where the innermost of the user's code is, in ``frame`` or above it."""
    frame, _ = user_call(frame)
    return None if frame is None else (frame.f_code, frame.f_lineno)


def _nowhere() -> int:
    return NO_SCOPE


def _spelled(place: Place | None) -> str:
    if place is None:
        return ""
    code, line = place
    return f"{shown_path(code.co_filename)}:{line} in {code.co_name}"
