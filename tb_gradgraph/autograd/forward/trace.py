"""Trace a forward operation by operation: lines, names, values, inputs without gradient."""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any

import torch

from tb_gradgraph.autograd.forward.origins import (
    Origin,
    Origins,
    SlotKey,
    TracedSource,
    ValueSink,
    traced,
)
from tb_gradgraph.autograd.forward.spans import ModuleSpans
from tb_gradgraph.autograd.forward.variables import VariableNames
from tb_gradgraph.autograd.torch_internals.engine import (
    DispatchMode,
    current_graph_task,
    modes,
    next_sequence_nr,
    sequence_nr,
)
from tb_gradgraph.autograd.torch_internals.faults import warn_of_fault
from tb_gradgraph.autograd.torch_internals.tensor_classes import is_small
from tb_gradgraph.autograd.user_code.functions import RunningFunction, running_function
from tb_gradgraph.autograd.user_code.stack_frames import source_line, user_call

#: Operations that only wrap a tensor: their result is their argument.
_TRANSPARENT = frozenset({"lift_fresh", "lift", "alias"})


class ForwardTrace(DispatchMode):
    """Observes every operation of a forward on this thread while the ``with`` block runs.

    It sees operations below autograd, as they are executed, and changes none. It keeps names,
    lines, copies of small tensors, and the autograd nodes of tensors that were cut off and then
    used. It keeps no other tensor alive.
    """

    def __init__(
        self, spans: ModuleSpans, outermost: FrameType | None, values: ValueSink | None = None
    ) -> None:
        """Prepare.

        Args:
            spans: The module calls.
            outermost: The frame that runs the forward; its variables are not read.
            values: Gets every tensor that an operation got or made; None: nothing does.
        """
        super().__init__()
        self._values = values
        self.origins = Origins()
        self.lines: dict[int, str] = {}  # by sequence number
        self.second_order: set[int] = set()  # numbers of nodes that were made while a backward ran
        self.untracked_inputs: dict[int, list[tuple[int, Origin]]] = {}  # by sequence number
        self.hidden_leaves: dict[int, dict[int, torch.Tensor]] = {}  # by sequence number, by id
        self.made: dict[SlotKey, torch.Tensor] = {}  # values as the operation returned them
        self.used: dict[SlotKey, torch.Tensor] = {}  # values as a later operation received them
        self.names = VariableNames(outermost, self.origins.known)
        self.spans = spans
        self._has_warned = False
        self._thread = threading.get_ident()
        self.first = self._next = next_sequence_nr()
        self._function: RunningFunction | None = None
        self._copy: torch.Tensor | None = None  # of a conjugate or negative view, just made
        self._line: tuple[CodeType | None, int, str] = (None, -1, "")

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False. Otherwise torch would import its compiler (2 s) to exclude this method from it."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation unchanged, and then note it."""
        result = func(*args, **(kwargs or {}))
        if threading.get_ident() == self._thread:
            try:
                self._note(func, (*args, *kwargs.values()) if kwargs else args, result)
            except Exception as error:
                self._leave_out(func, error)
        return result

    def resume(self) -> None:
        """Continue after a pause. Nodes that were made meanwhile do not belong to the next operation."""
        self._next = next_sequence_nr()
        self._function = None

    def leave(self) -> None:
        """End the ``with`` block early, if it is active; another mode may have begun since."""
        if self not in modes._get_current_dispatch_mode_stack():
            return
        above = []
        while (top := modes._get_current_dispatch_mode()) is not self:
            above.append(top)
            DispatchMode.__exit__(
                top, None, None, None
            )  # in order, because each stores the previous state
        self.__exit__(None, None, None)
        for mode in reversed(above):
            DispatchMode.__enter__(mode)

    def forget(self, numbers: range, sources: range) -> None:
        """Drop the notes on nodes with ``numbers``, and the values of ``sources``."""
        for table in (self.lines, self.untracked_inputs, self.hidden_leaves, self.origins.cuts):
            for number in numbers:
                table.pop(number, None)
        for values in (self.made, self.used):
            for key in [key for key in values if key[0] in numbers]:
                del values[key]
        for source in self.origins.sources[sources.start : sources.stop]:
            for output in source.outputs:
                output.value = None

    def close(self) -> None:
        """Release frames and tensors. The notes stay."""
        self._function = self._copy = None
        self._line = (None, -1, "")
        self.names.close()
        self.origins.close()

    def _leave_out(self, func: Any, error: Exception) -> None:
        """Skip one operation, whose autograd node is still drawn."""
        self._function = None
        if not self._has_warned:
            self._has_warned = True
            warn_of_fault(
                f"could not note {func}",
                error,
                "Its node lacks names, line and inputs; the others have theirs.",
            )

    def _note(self, func: Any, arguments: tuple[Any, ...], result: Any) -> None:
        number, first = next_sequence_nr() - 1, self._next
        self._next = number + 1
        frame, called = user_call(sys._getframe(2))
        if frame is not None:
            self.names.read(frame, called)
        line = self.origins.line = self._line_of(frame)
        if number < first:
            if self._is_after_copy(arguments):
                self._keep_made(func, number, arguments, result)
                return
            if self._function is not None:
                self._note_inside(self._function, arguments)
            self._note_source(func, arguments, result, line)
            return
        self._function = None
        for made in range(first, number + 1):
            self.lines[made] = line
            if frame is not None:
                self.names.made_in(made, frame.f_code)
        if current_graph_task() != -1:
            self.second_order.update(range(first, number + 1))
        if torch.is_grad_enabled():
            self._note_made(func, number, arguments, result)
            is_copy = func.overloadpacket.__name__ == "clone"
            self._copy = result if is_copy and _is_lazy(arguments[0]) else None
        else:  # the first operation in a torch.autograd.Function, which gets the number
            self._note_function(number, arguments)
            self._note_source(func, arguments, result, line)

    def _line_of(self, frame: FrameType | None) -> str:
        if frame is None:
            return ""
        code, place, line = self._line
        if code is not frame.f_code or place != frame.f_lasti:
            line = source_line(frame)
            self._line = (frame.f_code, frame.f_lasti, line)
        return line

    def _note_made(self, func: Any, number: int, arguments: tuple[Any, ...], result: Any) -> None:
        self._note_inputs(number, arguments)
        self._keep_made(func, number, arguments, result)

    def _keep_made(self, func: Any, number: int, arguments: tuple[Any, ...], result: Any) -> None:
        call = func.overloadpacket.__name__, arguments
        for nr, tensor in enumerate(_tensors(result)):
            if is_small(tensor):
                self.made[number, nr] = tensor.clone()
            if self._values is not None:
                self._values.see((number, nr), tensor, True, call)

    def _is_after_copy(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether an operation gets the copy of a conjugate that torch has just made for it.

        Then it, and not the copy, made what the last node stands for.
        """
        copy, self._copy = self._copy, None
        return copy is not None and any(tensor is copy for tensor in _tensors(arguments))

    def _note_function(self, number: int, arguments: tuple[Any, ...]) -> None:
        function = self._function = running_function(number)
        if function is None:  # from C++: its first operation may have its arguments
            self._note_inputs(number, arguments)
        else:
            self.lines[number] = source_line(function.caller)
            self._note_inputs(number, function.arguments)
            self._note_inside(function, arguments)

    def _note_inside(self, function: RunningFunction, arguments: tuple[Any, ...]) -> None:
        """Note leaves that a Function, such as a checkpoint, uses without having them as arguments."""
        if not function.is_running_in(sys._getframe(1)):
            self._function = None
            return
        for tensor in _tensors(arguments):
            if self.origins.of(tensor, self.spans.current)[0] == "leaf":
                if not any(tensor is argument for argument in function.arguments):
                    self.hidden_leaves.setdefault(function.number, {})[id(tensor)] = tensor

    def _note_inputs(self, number: int, arguments: tuple[Any, ...]) -> None:
        untracked = []
        for position, tensor in enumerate(_tensors(arguments)):
            node = tensor.grad_fn
            if node is None and tensor.requires_grad:
                self.origins.note_leaf(tensor)
            elif not tensor.requires_grad:
                untracked.append((position, self.origins.of(tensor, self.spans.current)))
            elif node is not None:
                key = (sequence_nr(node), tensor.output_nr)
                if key not in self.made and key not in self.used and is_small(tensor):
                    self.used[key] = tensor.detach().clone()
        if untracked:
            self.untracked_inputs[number] = untracked
        if self._values is not None:
            self._see_inputs(self._values, arguments)

    def _see_inputs(self, values: ValueSink, arguments: tuple[Any, ...]) -> None:
        """Read arguments that no operation was seen to make: results of Functions, and given tensors."""
        for tensor in _tensors(arguments):
            key = self.origins.of(tensor, self.spans.current)
            values.see(key[1:] if key[0] == "slot" else key, tensor)

    def _note_source(self, func: Any, arguments: Any, result: Any, line: str) -> None:
        outputs = [tensor for tensor in _tensors(result) if not tensor.requires_grad]
        if not outputs:
            return
        scope = self.spans.current
        name = func.overloadpacket.__name__
        read = () if _reads_no_elements(name) else _tensors(arguments)
        inputs = [(nr, self.origins.of(tensor, scope)) for nr, tensor in enumerate(read)]
        if (
            inputs
            and inputs[0][1][0] == "source"
            and self._is_transparent(name, inputs[0][1], line)
        ):
            self.origins.put(outputs[0], inputs[0][1])
            return
        source = TracedSource(name, scope, line, [traced(t) for t in outputs], inputs)
        if self._values is not None:
            self._see_inputs(self._values, tuple(read))
            for nr, tensor in enumerate(outputs):
                key = ("source", len(self.origins.sources), nr)
                self._values.see(key, tensor, call=(name, arguments))
        self.origins.add(source, outputs)

    def _is_transparent(self, name: str, given: Origin, line: str) -> bool:
        """Return whether an operation's result counts as the same tensor as its argument.

        Before torch 2.7 a ``detach`` appears twice; the second one is applied to the result of the
        first.
        """
        source = self.origins.sources[given[1]]
        is_second = name == "detach" and (source.operation, source.source) == (name, line)
        return name in _TRANSPARENT or is_second


def _is_lazy(tensor: Any) -> bool:
    """Return whether a tensor is a view that is conjugated or negated only when it is read."""
    return isinstance(tensor, torch.Tensor) and (tensor.is_conj() or tensor.is_neg())


def _reads_no_elements(operation: str) -> bool:
    """Return whether an operation uses only shape and type of a tensor: ``zeros_like``, ``new_ones``."""
    return operation.endswith("_like") or operation.startswith("new_")


def _tensors(values: Any) -> list[torch.Tensor]:
    """Return the tensors among the arguments or results of an operation, in order."""
    if isinstance(values, torch.Tensor):
        return [values]
    found = []
    for value in values if isinstance(values, (list, tuple)) else ():
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found
