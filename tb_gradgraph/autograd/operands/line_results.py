"""Find the results of a line that has run, and the operands of the nodes that made them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.bytecode.line_values import ONE_INPUT
from tb_gradgraph.autograd.bytecode.stack_values import Reading, Value
from tb_gradgraph.autograd.forward.origins import Origin
from tb_gradgraph.autograd.forward.seen_tensors import SeenTensor
from tb_gradgraph.autograd.operands.named_values import PLAIN, plain_without_gradient, value_of
from tb_gradgraph.autograd.torch_internals.engine import accumulated_leaf, node_name, sequence_nr
from tb_gradgraph.autograd.user_code.module_attributes import looks_up_plainly

#: An operand: its place among the node's inputs, and the tensor or its maker.
Operand = tuple[int, "SeenTensor | Origin"]
#: The nodes that each operator makes from plain tensors.
_NODES = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "@": "Mm", "**": "Pow"}


@dataclasses.dataclass(slots=True)
class RunningLine:
    """A running line."""

    reading: Reading
    begin: int
    first: int  # the number of the first node that it may make
    early: dict[Value, SeenTensor]
    entered: list[int]  # offsets of instructions that called the user's code
    made: list[MadeByCall]  # results of calls, without gradient


@dataclasses.dataclass(slots=True)
class MadeByCall:
    """The result of a call at an offset. For a function of torch it is valid only if no user code ran."""

    offset: int
    result: SeenTensor | Origin
    by_torch: bool = False


class Noting(Protocol):
    """What is noted about lines."""

    @property
    def found(self) -> dict[int, list[Operand]]:
        """Return the operands by the node's number."""

    def node_of(self, tensor: torch.Tensor) -> AutogradNode | None:
        """Return the node that made a plain tensor."""

    def describe(self, tensor: torch.Tensor) -> SeenTensor:
        """Describe an operand."""


def covers(value: Value, offset: int) -> bool:
    """Return whether the instruction at ``offset`` is the one of ``value``."""
    return value.begin <= offset < value.end


class LineResults:
    """A line that has run, and the nodes that it made."""

    def __init__(
        self,
        pending: RunningLine,
        variables: Mapping[str, Any],
        results: Sequence[tuple[Any, Value]],
        to: Noting,
    ) -> None:
        """Prepare; ``results`` are the present results, and the values of the line that they come from."""
        self._pending, self._variables, self._results, self._to = pending, variables, results, to

    def note(self) -> None:
        """Note the operands of the nodes that certainly made the results."""
        for result, value in self._results:
            if isinstance(result, torch.Tensor) and self._is_as_made(result, value):
                node = self._to.node_of(result)
                if node is not None:
                    self._follow(value, node)

    def _is_as_made(self, result: torch.Tensor, value: Value) -> bool:
        """Return whether a result was not written to since it was made."""
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
        """Return whether a node fits an operation of the line, and was not made by other code of the user."""
        if value.kind == "operator":
            is_power = (
                value.name == "**" and value.parts[1] is not None and value.parts[1].is_number
            )
            expected, inputs = _NODES.get(value.name, ""), 1 if is_power else 2
        elif value.kind == "call" and value.name in ONE_INPUT:
            expected, inputs = value.name.capitalize(), 1
        else:
            return False
        return (
            node_name(node).rstrip("0123456789") == f"{expected}Backward"
            and len(node.next_functions) == inputs
            and sequence_nr(node) >= self._pending.first
            and accumulated_leaf(node) is None
            and not self._ran_code(value)
        )

    def _ran_code(self, value: Value) -> bool:
        """Return whether an operator or a call ran code of the user."""
        return any(covers(value, offset) for offset in self._pending.entered)

    def _note_operand(self, value: Value, node: AutogradNode, place: int) -> None:
        operand = value.parts[place]
        if operand is None or (value.in_place and place == 0):
            return
        found = self._made(operand) if operand.kind == "call" else self._looked_at(operand)
        if found is not None:
            self._to.found.setdefault(sequence_nr(node), []).append((place, found))

    def _made(self, call: Value) -> SeenTensor | Origin | None:
        made = [each for each in self._pending.made if covers(call, each.offset)]
        if len(made) != 1 or (made[0].by_torch and self._ran_code(call)):
            return None
        return made[0].result

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
        """Return whether looking up an attribute runs no code of the user."""
        owner = None if read.parts[0] is None else value_of(read.parts[0], self._variables)
        return type(owner) in PLAIN or looks_up_plainly(owner, read.name)
