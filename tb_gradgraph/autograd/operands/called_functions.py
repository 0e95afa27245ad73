"""Find the tensors without gradient with which functions were called, for the nodes of the calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.bytecode.call_reading import Call, calls_of
from tb_gradgraph.autograd.bytecode.line_reading import ByIdentity
from tb_gradgraph.autograd.forward.schemas import (
    parameters_of,
    schemas_of,
    takes_tensors,
    word_of,
)
from tb_gradgraph.autograd.forward.seen_tensors import SeenTensor, SeenTensors
from tb_gradgraph.autograd.operands.named_values import PLAIN, plain_without_gradient, value_of
from tb_gradgraph.autograd.torch_internals.engine import (
    custom_function,
    next_sequence_nr,
    sequence_nr,
)
from tb_gradgraph.autograd.user_code.functions import arguments_in
from tb_gradgraph.autograd.user_code.torch_calls import TorchCall

#: An argument: torch's name of it, and the tensor.
Argument = tuple[str, SeenTensor]
#: Returns the variables of a frame.
Read = Callable[[FrameType], Mapping[str, Any]]
_NOTHING_KNOWN = Call((), {})
#: Arguments that a function passes on to a node with another name, and their names there. For
#: example, unfused attention adds its mask, and a GRU cell subtracts the new gate from its old
#: state.
_HANDED_ON = {
    "scaled_dot_product_attention": {"attn_mask": ("add", "other")},
    "gru_cell": {"hx": ("sub", "self")},
}


@dataclasses.dataclass(slots=True)
class _Called:
    """A running or ended call of a function of torch."""

    name: str
    at: int  # the offset of the calling instruction
    numbers: range  # of the nodes that it made
    given: list[Argument]


class CalledFunctions:
    """Notes the arguments without gradient of functions of torch and of custom Functions.

    The nodes of a call are those that got numbers between its start and its end, if no code of the
    user ran within it. The arguments are assigned to a node only if it has the name of the
    function, and if no other node of the call could be meant. Tensors are described and not kept
    alive.
    """

    def __init__(self, seen: SeenTensors) -> None:
        self._seen = seen
        self._running: dict[int, _Called] = {}  # by the frame's ``id``
        self._called: list[_Called] = []  # in the order they ended
        self._functions: dict[int, tuple[CodeType, list[SeenTensor]]] = {}  # by number

    def begin(self, frame: FrameType, call: TorchCall, read: Read) -> None:
        """Handle a call that ``frame`` is about to make; ``read`` returns its variables."""
        self._running.pop(id(frame), None)
        if not self._may_tell(call) or not torch.is_grad_enabled():
            return
        site = calls_of(ByIdentity(frame.f_code)).get(frame.f_lasti)
        if site is None:
            return
        given = [
            (name, self._seen.note(tensor))
            for name, each in _arguments(call, site, lambda: read(frame))
            if (tensor := plain_without_gradient(each)) is not None
        ]
        if given:
            begin = next_sequence_nr()
            self._running[id(frame)] = _Called(call.name, frame.f_lasti, range(begin, begin), given)

    def _may_tell(self, call: TorchCall) -> bool:
        """Return whether a call can be given a tensor without gradient, as most cannot."""
        receiver = call.receiver
        if receiver is not None and not receiver.requires_grad:
            return bool(schemas_of(call.name))
        return takes_tensors(call.name, receiver is not None)

    def end(self, frame: FrameType) -> None:
        """Handle a call that has returned to ``frame``."""
        called = self._running.pop(id(frame), None)
        if called is not None and called.at == frame.f_lasti:
            called.numbers = range(called.numbers.start, next_sequence_nr())
            if called.numbers:
                self._called.append(called)

    def enter(self, frame: FrameType, read: Read, is_new: bool) -> None:
        """Handle the start of the user's code in ``frame``; ``is_new``: a node was made just before.

        After that, running calls of torch may include nodes that are not their own.
        """
        self._running.clear()
        number = next_sequence_nr() - 1
        if not is_new or torch.is_grad_enabled() or number in self._functions:
            return
        given = map(plain_without_gradient, arguments_in(frame.f_code, read(frame)))
        seen = [self._seen.note(tensor) for tensor in given if tensor is not None]
        self._functions[number] = (frame.f_code, seen)

    def given(self, nodes: Sequence[AutogradNode]) -> Mapping[int, list[Argument]]:
        """Return the arguments of each of ``nodes``, by number. All other nodes are ignored."""
        found: dict[int, list[Argument]] = {}
        by_number = {sequence_nr(node): node for node in nodes if node.next_functions}
        for number, (code, seen) in self._functions.items():
            function = custom_function(by_number[number]) if number in by_number else None
            if getattr(getattr(function, "forward", None), "__code__", None) is code:
                found[number] = [("", each) for each in seen]
        for called in self._called:
            made = [by_number[number] for number in called.numbers if number in by_number]
            if len(made) == len(called.numbers) or called.name in _HANDED_ON:
                for number, argument in _share(called, made):
                    found.setdefault(number, []).append(argument)
        return found

    def forget(self, numbers: range) -> None:
        """Forget the arguments of nodes."""
        for number in self._functions.keys() & set(numbers):
            del self._functions[number]
        self._called = [each for each in self._called if each.numbers.start not in numbers]

    def close(self) -> None:
        """Note that no call runs any more."""
        self._running.clear()


def _share(called: _Called, made: Iterable[AutogradNode]) -> Iterator[tuple[int, Argument]]:
    """Yield each argument of a call with the number of the one node that takes it."""
    handed_on = _HANDED_ON.get(called.name, {})
    words: dict[str, list[AutogradNode]] = {}
    for node in made:
        words.setdefault(word_of(type(node).__name__).strip("_"), []).append(node)
    for name, seen in called.given:
        word, place = handed_on.get(name, (called.name.strip("_"), name))
        nodes = words.get(word, ())
        if len(nodes) == 1 and (name == place or _has_constant(nodes[0], seen)):
            yield sequence_nr(nodes[0]), (place, seen)


def _has_constant(node: AutogradNode, seen: SeenTensor) -> bool:
    """Return whether ``seen`` can be an operand of a node. A boolean mask is converted first."""
    sources = [source for source, _ in node.next_functions]
    return sources.count(None) == 1 and seen.described.dtype != "bool"


def tensors_given(frame: FrameType, call: TorchCall, read: Read) -> list[torch.Tensor]:
    """Return the plain tensors that are known arguments of the call that ``frame`` is about to make."""
    site = calls_of(ByIdentity(frame.f_code)).get(frame.f_lasti, _NOTHING_KNOWN)
    given = (each for _, each in _arguments(call, site, lambda: read(frame)))
    return [each for each in given if type(each) in PLAIN]


def _arguments(
    call: TorchCall, site: Call, read: Callable[[], Mapping[str, Any]]
) -> Iterator[tuple[str, Any]]:
    """Yield the known arguments of a call, with torch's names."""
    names = parameters_of(call.name)
    if call.receiver is not None:
        yield names[0] if names else "", call.receiver
        names = names[1:]
    known = names
    names += ("",) * len(site.positional)
    values = [(name, value) for name, value in zip(names, site.positional) if name]
    values += site.by_keyword.items()
    if all(value is None for _, value in values):
        return
    variables = read()
    for name, value in values:
        is_sequence = value is not None and value.kind == "sequence"
        for each in value.parts if value is not None and is_sequence else (value,):
            if each is not None:
                name = "self" if name == "input" and name not in known else name
                yield name, value_of(each, variables)
