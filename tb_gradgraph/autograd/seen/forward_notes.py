"""Note what is visible of a user's forward from outside: lines, names, results of module calls."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import torch

from tb_gradgraph.autograd.forward.named_tensors import named_tensors
from tb_gradgraph.autograd.forward.origins import Cut, Origin
from tb_gradgraph.autograd.forward.seen_tensors import SeenTensors
from tb_gradgraph.autograd.operands.noted_operands import NotedOperands
from tb_gradgraph.autograd.seen.called_modules import CalledModules
from tb_gradgraph.autograd.seen.histories import Histories
from tb_gradgraph.autograd.seen.packed_tensors import PackedTensors
from tb_gradgraph.autograd.seen.seen_names import SeenNames
from tb_gradgraph.autograd.seen.seen_sources import SeenSources
from tb_gradgraph.autograd.torch_internals.engine import (
    functions_not_overridden,
    next_sequence_nr,
)
from tb_gradgraph.autograd.torch_internals.faults import warn_of_fault
from tb_gradgraph.autograd.user_code.anomaly_lines import AnomalyLines
from tb_gradgraph.autograd.user_code.stack_frames import (
    Place,
    Snapshots,
    is_users,
    place_of,
    spelled,
    tensors_of,
    user_call,
)
from tb_gradgraph.autograd.user_code.torch_calls import TorchCall
from tb_gradgraph.autograd.user_code.user_events import hear, may_read_variables
from tb_gradgraph.graph import NO_SCOPE

#: How many lines at which tensors were cut off are distinguished.
_MOST_CUTS = 50


class ForwardNotes:
    """Notes lines and names while the user's code runs, without changing what torch runs.

    The numbers that autograd gives to nodes between two lines of the user's code belong to the
    first line. Variables are read when a line begins or a function ends, if there are new nodes
    since the last time. Tensors are kept by weak references, and of nodes only the numbers.
    """

    def __init__(self) -> None:
        self.scope: Callable[[], int] = _nowhere  # the running module call
        self._next = next_sequence_nr()
        self._histories = Histories(self._next)
        self.names = SeenNames(self._histories.note, self._origin_of)
        self.modules = CalledModules()
        self.anomaly = AnomalyLines()
        self._places: dict[int, Place] = {}  # by sequence number
        self.sources = SeenSources(self.names.made_by)
        self._tensors = SeenTensors(lambda tensor: self.sources.known(tensor))
        self.packed = PackedTensors(self._tensors)
        self._place: Place | None = None  # where the user's code is
        self._read_at: dict[int, int] = {}  # the last number when a frame was read, by ``id``
        self._snapshots = Snapshots()
        self.operands = NotedOperands(
            self._tensors, self._snapshots, self.names.made_by, self._made_of
        )
        self._armed = True
        self._is_busy = False  # whether our own code is running
        self._stop: Callable[[], None] | None = None

    @property
    def seen(self) -> Mapping[int, int]:
        """The first node that used a leaf, by ``id`` of the leaf."""
        return self._histories.seen

    @property
    def lines(self) -> dict[int, str]:
        """Each node's line, by number."""
        return {number: spelled(place) for number, place in self._places.items()}

    def begin(self) -> None:
        """Handle the start or resumption of an outermost module call. Nodes made before are not its own."""
        self._next = next_sequence_nr()
        self._look_around()
        self._stop = hear(self._at_event) if self._armed else None
        if self._stop is None and self._armed:
            self.anomaly.begin()

    def end(self) -> None:
        """Handle its end, or a pause."""
        self._flush()
        if self._stop is not None:
            self._stop()
            self._stop = None
        self.anomaly.end()
        self._look_around()
        self.close()

    def note_call(self, module: torch.nn.Module, inputs: Any, scope: int) -> None:
        """Note that a module is called, and with which inputs."""
        self._unheard(self._note_call, module, inputs, scope)

    def _note_call(self, module: torch.nn.Module, inputs: Any, scope: int) -> None:
        self.operands.lines.note_inputs(module, inputs, sys._getframe(1))
        has_gradient = torch.is_grad_enabled()
        if not has_gradient:
            self._note_cut_by_call(inputs, scope)
        self.modules.note(module, spelled(self._place), has_gradient)

    def note_output(self, module: torch.nn.Module, inputs: Any, output: Any, scope: int) -> None:
        """Note which leaves the nodes behind a module's output use. If there are no nodes, note the call."""
        self._unheard(self._note_output, module, inputs, output, scope)

    def _note_output(self, module: torch.nn.Module, inputs: Any, output: Any, scope: int) -> None:
        made = [tensor for _, tensor in named_tensors(output, "")]
        for tensor in made:
            self._note_history(tensor)
        if not all(tensor.requires_grad for tensor in made):
            own = [*module._parameters.values(), *module._buffers.values()]
            given = [tensor for _, tensor in named_tensors(inputs, "")]
            given += [tensor for tensor in own if tensor is not None]
            line = spelled(self._place)
            self.sources.add_call(type(module).__name__, scope, line, given, made)
            self.operands.lines.note_output(module, output, sys._getframe(1))

    def forget(self, numbers: range) -> None:
        """Forget the notes on nodes with ``numbers``."""
        for number in numbers:
            self._places.pop(number, None)
            for noted in (self._histories, self.packed, self.modules):
                noted.forget(number)
        self.operands.forget(numbers)

    def forget_sources(self) -> None:
        """Forget tensors without gradient, because none made so far is used any more."""
        if self.sources.sources or self.sources.cuts:
            self.sources = SeenSources(self.names.made_by)
            self.names.forget_sources()
            self._tensors.forget()

    def taken_off(self) -> dict[int, list[Cut]]:
        """Return the leaves behind cuts by ``id``, with the first cut at each line."""
        numbers: dict[tuple[str, str], list[Cut]] = {}
        for cut in self.sources.cuts:
            numbers.setdefault((cut.operation, cut.line), []).append(cut)
        found: dict[int, list[Cut]] = {}
        for cuts in itertools.islice(numbers.values(), _MOST_CUTS):
            for leaf in self._histories.leaves_behind(cut.number for cut in cuts):
                found.setdefault(leaf, []).append(cuts[0])
        return found

    def release(self) -> None:
        """Release everything, including callbacks that hold this object in a cycle."""
        self.close()
        self.sources.close()
        self.names.release()
        self._tensors.release()
        self.operands.release()
        self.scope = _nowhere

    def close(self) -> None:
        """Release frames and tensors. The notes stay."""
        self._place = None
        self._read_at.clear()
        self._snapshots.clear()
        self.packed.close()
        self.operands.close()

    def _unheard(self, note: Callable[..., None], *args: Any) -> None:
        """Ignore events while we note something."""
        if self._armed:
            self._flush()
            self._is_busy = True
            try:
                note(*args)
            finally:
                self._is_busy = False

    def _at_event(self, event: str, frame: FrameType, about: Any) -> None:
        if event == "fault" and self._armed:
            self._give_up(about)
        if not self._armed or self._is_busy:
            return
        try:
            if event == "end":
                self.operands.functions.end(frame)
                return
            with functions_not_overridden():
                if event == "begin":
                    self._note_function(frame, about)
                elif event == "pack":
                    self.packed.begin(frame)
                else:
                    was_packing = event == "return" and self.packed.end(frame, about)
                    if not was_packing or is_users(frame.f_code):
                        self._note(event, frame, about)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._armed = False
        consequence = "Later nodes have no lines or names."
        warn_of_fault("stopped noting lines of this forward", error, consequence)

    def _note(self, event: str, frame: FrameType, returned: Any) -> None:
        may_read = may_read_variables(frame.f_code)
        if not is_users(frame.f_code):  # torch's layers: their nodes belong to the user's line
            if may_read and self.operands.concerns(event, frame):
                self._snapshots.renew(frame)
                self.operands.hear_line(event, frame, returned, None)
            return
        is_new = next_sequence_nr() > self._next
        self._flush()
        self._snapshots.renew(frame)
        if event == "call":
            self.operands.enter(frame, is_new and may_read)
        elif may_read:
            self._read(event, frame, returned)
        if event == "return":
            self._read_at.pop(id(frame), None)
            self._place = place_of(frame.f_back)
        else:
            self._place = (frame.f_code, frame.f_lineno)

    def _read(self, event: str, frame: FrameType, returned: Any) -> None:
        """Read the variables of ``frame`` if there may be something new."""
        variables = None
        if self._read_at.get(id(frame)) != self._next or event == "return":
            self._read_at[id(frame)] = self._next
            variables = self._snapshots.read(frame)
            self.names.offer_all(variables, frame.f_code)
        self.operands.hear_line(event, frame, returned, variables)

    def _note_function(self, frame: FrameType, call: TorchCall) -> None:
        """Handle a call of a function of torch that ``frame`` is about to make."""
        taken, cut = call.takes_off, None
        if taken is not None and is_users(frame.f_code):
            cut = self._note_cut(call.name, taken)
        if cut is not None:
            self.operands.lines.note_made(frame, cut)
        elif may_read_variables(frame.f_code):
            self.operands.begin_call(frame, call)

    def _note_cut(self, method: str, tensor: torch.Tensor) -> Origin | None:
        if not tensor.requires_grad or not torch.is_grad_enabled():
            return None
        self._flush()
        self._note_history(tensor)
        return self.sources.add_cut(method, self.scope(), spelled(self._place), tensor)

    def _made_of(self, function: str, given: Sequence[torch.Tensor]) -> Origin | None:
        return self.sources.add_result(function, self.scope(), spelled(self._place), given)

    def _flush(self) -> None:
        """Assign the nodes made since the last event to the line that was running."""
        number = next_sequence_nr()
        if number > self._next and self._stop is not None:
            place = self._place
            for made in range(self._next, number):
                if place is not None:
                    self._places[made] = place
                    self.names.made_in(made, place[0])
        self._next = number

    def _look_around(self) -> None:
        """Read the user's frames around the outermost call, because these have no events."""
        above = sys._getframe(1)
        self._place = place_of(above)
        frame, _ = user_call(above)
        while frame is not None and self._armed:
            if may_read_variables(frame.f_code):
                self.names.offer_all(dict(tensors_of(frame)), frame.f_code)
            frame, _ = user_call(frame.f_back)

    def _note_cut_by_call(self, inputs: Any, scope: int) -> None:
        line = ""
        for _, tensor in named_tensors(inputs, ""):
            if tensor.requires_grad:
                line = line or spelled(self._place)
                self._note_history(tensor)
                self.sources.add_cut("no_grad", scope, line, tensor)

    def _origin_of(self, tensor: torch.Tensor) -> Origin | None:
        return self.sources.known_object(tensor)

    def _note_history(self, tensor: torch.Tensor) -> None:
        """Note, for each node behind ``tensor``, the numbers before it and the leaves it uses."""
        node = self.names.made_by(tensor)
        if node is not None:
            self._histories.note(node)


def _nowhere() -> int:
    return NO_SCOPE
