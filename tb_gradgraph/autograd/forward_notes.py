"""What can be seen of a user's forward from outside: lines, names, what each module call led to."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
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
    viewed,
)
from tb_gradgraph.autograd.faults import warn_of_fault
from tb_gradgraph.autograd.frames import Snapshots, shown_path, tensors_of, user_call
from tb_gradgraph.autograd.functions import running_function
from tb_gradgraph.autograd.user_events import hear, may_read_variables
from tb_gradgraph.autograd.values import named_tensors
from tb_gradgraph.autograd.variables import FoundNames

Place = tuple[CodeType, int]  # code and line number


class ForwardNotes:
    """Notes lines and names while the user's code runs, and nothing that torch runs is another.

    Between two lines of the user's, the numbers that autograd gives to nodes are
    those of the first. Variables are read where a line begins or a function ends, if
    there are new nodes since. Tensors are known by weak references; of nodes only the
    numbers are kept.
    """

    def __init__(self) -> None:
        self.names = SeenNames()
        self.seen: dict[int, int] = {}  # first node that used a leaf, by ``id`` of the leaf
        self.called: dict[int, tuple[str, bool]] = {}  # see ``note_call``
        self.hidden_leaves: dict[int, dict[int, torch.Tensor]] = {}  # by sequence number, by id
        self.anomaly = AnomalyLines()
        self._places: dict[int, Place] = {}  # by sequence number
        self._walked: set[int] = set()
        self._first = self._next = next_sequence_nr()
        self._place: Place | None = None  # where the user's code is; None: above ``_above``
        self._above: FrameType | None = None
        self._read_at: dict[int, int] = {}  # number up to which a frame was read, by ``id``
        self._snapshots = Snapshots()
        self._armed = True
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

    def note_call(self, module: torch.nn.Module) -> None:
        """Note that a module is called: of each of its parameters where, and whether with gradient.

        Under a custom Function, as a checkpoint, they are leaves that its node uses.
        """
        parameters = [p for p in module._parameters.values() if p is not None and p.requires_grad]
        if not parameters or not self._armed:
            return
        self._flush()
        has_gradient = torch.is_grad_enabled()
        function = None if has_gradient else running_function(next_sequence_nr() - 1)
        if function is not None:
            hidden = self.hidden_leaves.setdefault(function.number, {})
            hidden.update((id(parameter), parameter) for parameter in parameters)
            return
        line = _spelled(self._here())
        for parameter in parameters:
            if has_gradient or id(parameter) not in self.called:
                self.called[id(parameter)] = (line, has_gradient)

    def note_output(self, output: Any) -> None:
        """Note which leaves the nodes behind a module's output use."""
        if self._armed:
            self._flush()
            for _, tensor in named_tensors(output, ""):
                self._note_history(tensor)

    def forget(self, numbers: range) -> None:
        """Let go of what was noted while ``numbers`` were given."""
        for table in (self._places, self.hidden_leaves):
            for number in numbers:
                table.pop(number, None)

    def close(self) -> None:
        """Let go of frames and tensors; what was noted stays."""
        self._place = self._above = None
        self._read_at.clear()
        self._snapshots.clear()

    def _at_event(self, event: str, frame: FrameType) -> None:
        if not self._armed:
            return
        try:
            with functions_not_overridden():
                self._note(event, frame)
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
            self._place, self._above = None, frame.f_back
        else:
            self._place = (frame.f_code, frame.f_lineno)

    def _flush(self) -> None:
        """Give the nodes made since the last event the line that was running."""
        number = next_sequence_nr()
        if number > self._next and self._stop is not None:
            place = self._here()
            for made in range(self._next, number):
                if place is not None:
                    self._places[made] = place
                    self.names.made_in(made, place[0])
        self._next = number

    def _here(self) -> Place | None:
        if self._place is None:
            frame, _ = user_call(self._above)
            return None if frame is None else (frame.f_code, frame.f_lineno)
        return self._place

    def _look_around(self) -> None:
        """Read the user's frames that the outermost call is in: of these no event comes."""
        self._place, self._above = None, sys._getframe(1)
        frame, _ = user_call(self._above)
        while frame is not None and self._armed:
            if may_read_variables(frame.f_code):
                self.names.offer_all(dict(tensors_of(frame)), frame.f_code)
            frame, _ = user_call(frame.f_back)

    def _note_history(self, tensor: torch.Tensor) -> None:
        node = self.names.made_by(tensor)
        pending = [] if node is None else [node]
        while pending:
            node = pending.pop()
            number = sequence_nr(node)
            if number in self._walked or number < self._first:
                continue
            self._walked.add(number)
            for source, _ in node.next_functions:
                if source is None:
                    continue
                leaf = None if source.next_functions else accumulated_leaf(source)
                if leaf is None:
                    pending.append(source)
                else:
                    self.seen.setdefault(id(leaf), number)


class SeenNames(FoundNames):
    """Names of tensors in variables; those without gradient are known as objects, while they live."""

    def __init__(self) -> None:
        super().__init__(lambda _: None)
        self._without: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}  # by id
        self._versions: dict[int, int] = {}  # of leaves that views were seen of, by id

    def offer_all(self, variables: Mapping[str, Any], code: CodeType) -> None:
        """Take in what the variables of ``code`` hold."""
        for name, value in variables.items():
            if isinstance(value, torch.Tensor):
                self.offer(name, value, code)

    def offer(self, name: str, tensor: torch.Tensor, code: CodeType) -> None:
        """Take in that a variable of ``code`` holds ``tensor``."""
        if tensor.requires_grad:
            super().offer(name, tensor, code)
        else:
            known = self._without.get(id(tensor))
            if known is None or known[0]() is not tensor:
                self._without[id(tensor)] = (weakref.ref(tensor), name)

    def found_without_gradient(self) -> dict[int, str]:
        """Give the first name found of each tensor without gradient that still lives, by ``id``."""
        return {key: name for key, (alive, name) in self._without.items() if alive() is not None}

    def made_by(self, tensor: torch.Tensor) -> AutogradNode | None:
        """Give the node that made ``tensor``; None where to ask would have autograd make it.

        That is so of a view whose memory was written to since: its node is made anew when
        somebody asks, with a number that would not be given without us.
        """
        base = viewed(tensor)
        if base is tensor or not tensor.requires_grad:
            return tensor.grad_fn
        unwritten = 0
        if base.is_leaf:
            unwritten = self._versions.setdefault(id(base), base._version)
        return tensor.grad_fn if tensor._version == unwritten else None

    def _made_by(self, tensor: torch.Tensor) -> AutogradNode | None:
        return self.made_by(tensor)


def _spelled(place: Place | None) -> str:
    if place is None:
        return ""
    code, line = place
    return f"{shown_path(code.co_filename)}:{line} in {code.co_name}"
