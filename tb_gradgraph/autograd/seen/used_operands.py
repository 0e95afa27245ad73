"""Which tensors without gradient the user's lines add and subtract: nodes keep none of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from types import FrameType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode
from torch.nn.modules import module as torch_module

from tb_gradgraph.autograd.forward.origins import Origin
from tb_gradgraph.autograd.seen.seen_tensors import SeenTensor, SeenTensors
from tb_gradgraph.autograd.torch_internals.engine import (
    accumulated_leaf,
    next_sequence_nr,
    node_name,
    sequence_nr,
)
from tb_gradgraph.autograd.user_code.line_values import ONE_INPUT, Reading, Value
from tb_gradgraph.autograd.user_code.module_attributes import attribute_of, looks_up_plainly
from tb_gradgraph.autograd.user_code.stack_frames import is_users, local_variables

#: An operand: its place among the node's inputs, and the tensor or its maker.
Operand = tuple[int, "SeenTensor | Origin"]
#: What each operator makes of plain tensors.
_NODES = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "@": "Mm"}
_PLAIN = (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.Tensor))
_MODULE_FILE = torch_module.__file__
_MODULE_CALLS = ("inner", "_call_impl", "_wrapped_call_impl")


@dataclasses.dataclass(slots=True)
class _Pending:
    """A running line."""

    reading: Reading
    begin: int
    first: int  # the number of the first node that it may make
    early: dict[Value, SeenTensor]
    entered: list[int]  # offsets of instructions that called the user's code
    made: list[tuple[int, SeenTensor | Origin]]  # calls' results without gradient, by offset


class UsedOperands:
    """Follows the lines of the user's frames that add or subtract, and finds their operands.

    An operand is reported only if nothing else can be meant. The line ran from its first
    instruction to its last without a branch; the node that its last operation makes also
    made what the line left in a variable, or returned; from there on node and expression
    agree, operation by operation, and no operator was the user's own; the node has one
    input without gradient, and the operand in that place is a plain tensor without gradient
    that nothing else can have put there. Tensors are described and not kept.
    """

    def __init__(
        self, seen: SeenTensors, made_by: Callable[[torch.Tensor], AutogradNode | None]
    ) -> None:
        """Prepare; ``made_by`` returns a tensor's node where asking is safe."""
        self.found: dict[int, list[Operand]] = {}  # by the node's number
        self._seen, self._made_by = seen, made_by
        self._pending: dict[int, _Pending] = {}  # by the frame's ``id``

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
            _Ended(pending, variables, returned, self).note()

    def begin_line(
        self, frame: FrameType, reading: Reading | None, variables: Mapping[str, Any]
    ) -> None:
        """Hear that a line of ``frame`` is about to run."""
        if reading is None and not self._pending:
            return
        pending = self._pending.get(id(frame))
        if pending is not None and pending.begin < frame.f_lasti <= pending.reading.end:
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
        self._pending[id(frame)] = _Pending(reading, frame.f_lasti, number, early, [], [])

    def enter(self, caller: FrameType | None) -> None:
        """Hear that ``caller``, or what it calls, calls the user's code."""
        while caller is not None and self._pending:
            pending = self._pending.get(id(caller))
            if pending is not None:
                pending.entered.append(caller.f_lasti)
            if is_users(caller.f_code):
                return
            caller = caller.f_back

    def note_output(self, module: torch.nn.Module, output: Any, frame: FrameType | None) -> None:
        """Note what a module returns to the line that called it, if no hook comes after ours."""
        if not self._pending or module._forward_hooks or len(_global_hooks()) != 1:
            return
        tensor = plain_without_gradient(output)
        caller = None if tensor is None else _direct_caller(frame)
        pending = None if caller is None else self._pending.get(id(caller))
        if tensor is None or caller is None or pending is None:
            return
        variables = None
        for call in pending.reading.calls:
            if call.begin <= caller.f_lasti < call.end:
                variables = variables or local_variables(caller)
                if called_by(call, variables) is module:
                    pending.made.append((caller.f_lasti, self._seen.note(tensor)))

    def note_cut(self, frame: FrameType, origin: Origin | None) -> None:
        """Note what a ``detach`` called by ``frame`` makes."""
        pending = self._pending.get(id(frame))
        if pending is not None and origin is not None:
            pending.made.append((frame.f_lasti, origin))

    def forget(self, number: int) -> None:
        """Forget what a node used."""
        self.found.pop(number, None)

    def leave(self, frame: FrameType) -> None:
        """Hear a frame end."""
        self._pending.pop(id(frame), None)

    def close(self) -> None:
        """Note that no line runs any more."""
        self._pending.clear()

    def release(self) -> None:
        """Let go of the callback, which holds this object."""
        self.close()
        self._made_by = _not_asked

    def node_of(self, tensor: torch.Tensor) -> AutogradNode | None:
        """Return the node that made a plain tensor."""
        return self._made_by(tensor) if type(tensor) in _PLAIN else None

    def describe(self, tensor: torch.Tensor) -> SeenTensor:
        """Describe an operand."""
        return self._seen.note(tensor)


class _Ended:
    """A line that has run, and the nodes that it made."""

    def __init__(
        self, pending: _Pending, variables: Mapping[str, Any], returned: Any, to: UsedOperands
    ) -> None:
        self._pending, self._variables, self._to = pending, variables, to
        reading = pending.reading
        self._results = [(variables.get(name), value) for name, value in reading.results]
        if reading.returned is not None:
            self._results.append((returned, reading.returned))

    def note(self) -> None:
        for result, value in self._results:
            if isinstance(result, torch.Tensor) and self._is_as_made(result, value):
                node = self._to.node_of(result)
                if node is not None:
                    self._follow(value, node)

    def _is_as_made(self, result: torch.Tensor, value: Value) -> bool:
        """Return whether nothing was written to a result since then."""
        moves = self._pending.reading.moves
        return all(move < value.end for move in moves) or (
            not value.in_place and result._version == 0
        )

    def _follow(self, value: Value, node: AutogradNode) -> None:
        pending = [(value, node)]
        while pending:
            value, node = pending.pop()
            if not self._fits(value, node):
                continue
            sources = [source for source, _ in node.next_functions]
            pending += [
                (part, source)
                for part, source in zip(value.parts, sources)
                if part is not None and source is not None
            ]
            if value.name in ("+", "-") and sources.count(None) == 1:
                self._note_operand(value, node, sources.index(None))

    def _fits(self, value: Value, node: AutogradNode) -> bool:
        """Return whether a node is an operation's, if the line and not the user's code made it."""
        if value.kind == "operator":
            expected, inputs = _NODES.get(value.name, ""), 2
        elif value.kind == "call" and value.name in ONE_INPUT:
            expected, inputs = value.name.capitalize(), 1
        else:
            return False
        return (
            node_name(node).rstrip("0123456789") == f"{expected}Backward"
            and len(node.next_functions) == inputs
            and sequence_nr(node) >= self._pending.first
            and accumulated_leaf(node) is None
            and not any(value.begin <= offset < value.end for offset in self._pending.entered)
        )

    def _note_operand(self, value: Value, node: AutogradNode, place: int) -> None:
        operand = value.parts[place]
        if operand is None or (value.in_place and place == 0):
            return
        found = self._made(operand) if operand.kind == "call" else self._looked_at(operand)
        if found is not None:
            self._to.found.setdefault(sequence_nr(node), []).append((place, found))

    def _made(self, call: Value) -> SeenTensor | Origin | None:
        made = [each for offset, each in self._pending.made if call.begin <= offset < call.end]
        return made[0] if len(made) == 1 else None

    def _looked_at(self, operand: Value) -> SeenTensor | None:
        reading = self._pending.reading
        if operand.kind != "variable" and not all(map(self._runs_nothing, reading.reads)):
            return None
        if operand in self._pending.early:
            return self._pending.early[operand]
        if operand not in reading.late:
            return None
        tensor = plain_without_gradient(value_of(operand, self._variables))
        return None if tensor is None else self._to.describe(tensor)

    def _runs_nothing(self, read: Value) -> bool:
        """Return whether looking up an attribute runs none of the user's code."""
        owner = None if read.parts[0] is None else value_of(read.parts[0], self._variables)
        return type(owner) in _PLAIN or looks_up_plainly(owner, read.name)


def plain_without_gradient(value: Any) -> torch.Tensor | None:
    """Return ``value`` if it is a plain tensor of torch that needs no gradient."""
    return value if type(value) in _PLAIN and not value.requires_grad else None


def value_of(operand: Value, variables: Mapping[str, Any]) -> Any:
    """Return the value of a variable, or of its attribute; ``None`` if that would run code."""
    if operand.kind in ("variable", "cell"):
        return variables.get(operand.name)
    owner = operand.parts[0]
    return None if owner is None else attribute_of(value_of(owner, variables), operand.name)


def called_by(call: Value, variables: Mapping[str, Any]) -> Any:
    """Return what a call calls, if that is known and no code has to run for it."""
    owner = None if call.parts[0] is None else value_of(call.parts[0], variables)
    return attribute_of(owner, call.name) if call.name else owner


def _direct_caller(frame: FrameType | None) -> FrameType | None:
    """Return the user's frame that itself called the module whose call ``frame`` is within."""
    inside = False
    while frame is not None:
        code = frame.f_code
        is_call = code.co_name in _MODULE_CALLS and code.co_filename == _MODULE_FILE
        if inside and not is_call:
            return frame if is_users(code) else None
        inside = inside or is_call
        frame = frame.f_back
    return None


def _global_hooks() -> Collection[object]:
    return getattr(torch_module, "_global_forward_hooks", ())


def _not_asked(_tensor: torch.Tensor) -> AutogradNode | None:
    return None
