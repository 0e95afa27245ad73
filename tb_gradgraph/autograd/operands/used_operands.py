"""Find the tensors without gradient that the user's lines add and subtract. Nodes do not save these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode
from torch.nn.modules import module as torch_module

from tb_gradgraph.autograd.bytecode.stack_values import Reading
from tb_gradgraph.autograd.forward.origins import Origin
from tb_gradgraph.autograd.forward.seen_tensors import SeenTensor, SeenTensors
from tb_gradgraph.autograd.operands.line_results import (
    LineResults,
    MadeByCall,
    Operand,
    RunningLine,
    covers,
)
from tb_gradgraph.autograd.operands.named_values import (
    PLAIN,
    called_by,
    direct_caller,
    plain_without_gradient,
    value_of,
)
from tb_gradgraph.autograd.torch_internals.engine import (
    next_sequence_nr,
)
from tb_gradgraph.autograd.user_code.stack_frames import is_users, local_variables

_PACKAGE = __name__.partition(".")[0] + "."


class UsedOperands:
    """Follows the lines of the user's frames that add or subtract, and finds their operands.

    An operand is reported only if it is certain. The conditions are: The line ran from its first
    instruction to its last without a branch. The value that it stored in a variable or returned was
    made by the node of its last operation. From there on, nodes and expression agree, operation by
    operation, and no operator was the user's own. The node has one input without gradient. The
    operand at that place is a plain tensor without gradient that cannot have been replaced. Tensors
    are described and not kept alive.
    """

    def __init__(
        self, seen: SeenTensors, made_by: Callable[[torch.Tensor], AutogradNode | None]
    ) -> None:
        """Prepare; ``made_by`` returns a tensor's node if asking is safe."""
        self.found: dict[int, list[Operand]] = {}  # by the node's number
        self._seen, self._made_by = seen, made_by
        self._pending: dict[int, RunningLine] = {}  # by the frame's ``id``

    def follows(self, frame: FrameType) -> bool:
        """Return whether a line of ``frame`` is running."""
        return id(frame) in self._pending

    def ends(self, frame: FrameType) -> bool:
        """Return whether a line of ``frame`` that made nodes has just ended."""
        pending = self._pending.get(id(frame))
        return (
            pending is not None
            and pending.reading.end == frame.f_lasti
            and pending.first < next_sequence_nr()
        )

    def end_line(
        self, frame: FrameType, variables: Mapping[str, Any], returned: Any, returns: bool
    ) -> None:
        """Note what the line of ``frame`` did, if it has just ended."""
        pending = self._pending.get(id(frame))
        if pending is None or pending.reading.end != frame.f_lasti:
            return
        if pending.reading.returned is not None and not returns:
            return  # Python reports the line of the return a second time
        del self._pending[id(frame)]
        if pending.first < next_sequence_nr():
            reading = pending.reading
            results = [(variables.get(name), value) for name, value in reading.results]
            if reading.returned is not None:
                results.append((returned, reading.returned))
            LineResults(pending, variables, results, self).note()

    def begin_line(
        self, frame: FrameType, reading: Reading | None, variables: Mapping[str, Any]
    ) -> None:
        """Handle a line of ``frame`` that is about to run."""
        if reading is None and not self._pending:
            return
        pending = self._pending.get(id(frame))
        if pending is not None and pending.begin < frame.f_lasti <= pending.reading.last:
            return  # another line of the same expression
        self._pending.pop(id(frame), None)
        if reading is None:
            return
        early = {}
        for operand in reading.early:
            tensor = plain_without_gradient(value_of(operand, variables))
            if tensor is not None:
                early[operand] = self._seen.note(tensor)
        number = next_sequence_nr()
        self._pending[id(frame)] = RunningLine(reading, frame.f_lasti, number, early, [], [])

    def enter(self, caller: FrameType | None) -> None:
        """Handle a call of the user's code by ``caller``, or by code that it called."""
        while caller is not None and self._pending:
            pending = self._pending.get(id(caller))
            if pending is not None:
                pending.entered.append(caller.f_lasti)
            if is_users(caller.f_code):
                return
            caller = caller.f_back

    def note_inputs(self, module: torch.nn.Module, inputs: Any, frame: FrameType | None) -> None:
        """Note the inputs that a line computes for a module call, if no hook comes before ours."""
        pending, caller = self._calling(frame, "_global_forward_pre_hooks")
        if pending is None or caller is None or not isinstance(inputs, tuple):
            return
        given = [each for each in pending.reading.given if covers(each[0], caller.f_lasti)]
        if given:
            variables = local_variables(caller)
            results = [
                (inputs[place], value)
                for call, place, value in given
                if place < len(inputs) and called_by(call, variables) is module
            ]
            LineResults(pending, variables, results, self).note()

    def note_output(self, module: torch.nn.Module, output: Any, frame: FrameType | None) -> None:
        """Note the output that a module returns to the line that called it, if no hook comes after ours."""
        tensor = plain_without_gradient(output)
        if tensor is None or module._forward_hooks:
            return
        pending, caller = self._calling(frame, "_global_forward_hooks")
        if pending is None or caller is None:
            return
        variables = None
        for call in pending.reading.calls:
            if covers(call, caller.f_lasti):
                variables = variables or local_variables(caller)
                if called_by(call, variables) is module:
                    pending.made.append(MadeByCall(caller.f_lasti, self._seen.note(tensor)))

    def takes(self, frame: FrameType) -> bool:
        """Return whether a line adds the result of the call that ``frame`` is about to make."""
        pending = self._pending.get(id(frame))
        calls = () if pending is None else pending.reading.calls
        return any(covers(call, frame.f_lasti) for call in calls)

    def note_made(self, frame: FrameType, origin: Origin | None, by_torch: bool = False) -> None:
        """Note the result of the call that ``frame`` is about to make, if it needs no gradient."""
        pending = self._pending.get(id(frame))
        if pending is not None and origin is not None:
            pending.made.append(MadeByCall(frame.f_lasti, origin, by_torch))

    def _calling(
        self, frame: FrameType | None, hooks: str
    ) -> tuple[RunningLine | None, FrameType | None]:
        """Return the line that calls the module whose call ``frame`` is in, if only we have hooks."""
        if not self._pending or not all(map(_is_ours, getattr(torch_module, hooks, {}).values())):
            return None, None
        caller = direct_caller(frame)
        return (None if caller is None else self._pending.get(id(caller))), caller

    def forget(self, number: int) -> None:
        """Forget the operands of a node."""
        self.found.pop(number, None)

    def leave(self, frame: FrameType) -> None:
        """Handle the end of a frame."""
        self._pending.pop(id(frame), None)

    def close(self) -> None:
        """Note that no line runs any more."""
        self._pending.clear()

    def release(self) -> None:
        """Release the callback, which holds this object."""
        self.close()
        self._made_by = _not_asked

    def node_of(self, tensor: torch.Tensor) -> AutogradNode | None:
        """Return the node that made a plain tensor."""
        return self._made_by(tensor) if type(tensor) in PLAIN else None

    def describe(self, tensor: torch.Tensor) -> SeenTensor:
        """Describe an operand."""
        return self._seen.note(tensor)


def _is_ours(hook: Any) -> bool:
    """Return whether a global hook is one of ours, which changes nothing."""
    return type(getattr(hook, "__self__", None)).__module__.startswith(_PACKAGE)


def _not_asked(_tensor: torch.Tensor) -> AutogradNode | None:
    return None
