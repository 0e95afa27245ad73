"""What the forward did, operation by operation: lines, names, values, inputs without gradient."""

from __future__ import annotations

import dataclasses
import threading
import weakref
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tb_gradgraph.autograd.engine import dtype_name, next_sequence_nr, sequence_nr
from tb_gradgraph.autograd.frames import source_line, tensors_of, user_frame
from tb_gradgraph.autograd.spans import ModuleSpans
from tb_gradgraph.statistics import WHOLE_LIMIT

#: A tensor with gradient, by what made it: (sequence number, output number).
SlotKey = tuple[int, int]
#: Where a tensor came from: a slot of the autograd graph, a leaf by id, or a traced source.
Origin = tuple[str, int, int]


@dataclasses.dataclass(slots=True)
class TracedTensor:
    """One output of a traced operation without gradient, or a tensor from outside."""

    identity: int
    shape: tuple[int, ...]
    dtype: str
    value: torch.Tensor | None


@dataclasses.dataclass(slots=True)
class TracedSource:
    """A forward operation whose outputs need no gradient, or ("" as operation) a given tensor."""

    operation: str
    scope: int
    source: str
    outputs: list[TracedTensor]
    inputs: list[tuple[int, Origin]]  # position among the tensor arguments, where it came from


class ForwardTrace(TorchDispatchMode):
    """Watch every operation of a forward on this thread while the ``with`` block runs.

    It sees operations below autograd, as they are executed, and changes none.
    Kept are names, lines and copies of tensors of at most ``WHOLE_LIMIT``
    elements; no other tensor outlives its use through the trace.
    """

    def __init__(self, spans: ModuleSpans) -> None:
        super().__init__()
        self.sources: list[TracedSource] = []
        self.lines: dict[int, str] = {}  # by sequence number
        self.untracked_inputs: dict[int, list[tuple[int, Origin]]] = {}  # by sequence number
        self.made: dict[SlotKey, torch.Tensor] = {}  # values as the operation returned them
        self.used: dict[SlotKey, torch.Tensor] = {}  # values as a later operation received them
        self.names = VariableNames()
        self._spans = spans
        self._thread = threading.get_ident()
        self._last = next_sequence_nr()
        self._by_id: dict[int, tuple[weakref.ref[torch.Tensor], Origin]] = {}
        self._by_storage: dict[int, Origin] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Say no: torch would import its compiler (2 s) to keep it off this method."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation unchanged, then note it."""
        result = func(*args, **(kwargs or {}))
        if threading.get_ident() == self._thread:
            self._note(func, (*args, *(kwargs or {}).values()), result)
        return result

    def look_at(self, frame: FrameType | None) -> None:
        """Read variable names in ``frame``, where no operation may run for a while."""
        if frame is not None:
            self.names.read(frame)

    def close(self) -> None:
        """Let go of the frames and tensors that were looked at; what was noted stays."""
        self.names.close()
        self._by_id.clear()

    def _note(self, func: Any, arguments: tuple[Any, ...], result: Any) -> None:
        number = next_sequence_nr() - 1
        created, self._last = number >= self._last, number + 1
        frame = user_frame()
        if frame is not None:
            self.names.read(frame)
        if created:
            if frame is not None:
                self.lines[number] = source_line(frame)
                self.names.made_in(number, frame.f_code)
            self.untracked_inputs[number] = list(self._untracked(arguments))
            for nr, tensor in enumerate(_tensors(result)):
                if tensor.numel() <= WHOLE_LIMIT:
                    self.made[number, nr] = tensor.clone()
        else:
            self._note_source(func, arguments, result, source_line(frame))

    def _untracked(self, arguments: tuple[Any, ...]) -> Iterator[tuple[int, Origin]]:
        for position, tensor in enumerate(_tensors(arguments)):
            if not tensor.requires_grad:
                yield position, self._origin(tensor)
            elif tensor.numel() <= WHOLE_LIMIT and tensor.grad_fn is not None:
                key = (sequence_nr(tensor.grad_fn), tensor.output_nr)
                if key not in self.used:
                    self.used[key] = tensor.clone()

    def _note_source(self, func: Any, arguments: Any, result: Any, line: str) -> None:
        outputs = [tensor for tensor in _tensors(result) if not tensor.requires_grad]
        if not outputs:
            return
        inputs = [(nr, self._origin(tensor)) for nr, tensor in enumerate(_tensors(arguments))]
        name = func.overloadpacket.__name__
        source = TracedSource(
            name, self._spans.current, line, [_traced(t) for t in outputs], inputs
        )
        for nr, tensor in enumerate(outputs):
            self._register(tensor, ("source", len(self.sources), nr))
        self.sources.append(source)

    def _origin(self, tensor: torch.Tensor) -> Origin:
        if tensor.requires_grad:
            if tensor.grad_fn is None:
                return ("leaf", id(tensor), 0)
            return ("slot", sequence_nr(tensor.grad_fn), tensor.output_nr)
        known = self._by_id.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        return self._by_storage.get(_storage(tensor)) or self._given(tensor)

    def _given(self, tensor: torch.Tensor) -> Origin:
        """Note a tensor that came from outside the forward."""
        origin = ("source", len(self.sources), 0)
        self.sources.append(TracedSource("", self._spans.current, "", [_traced(tensor)], []))
        self._by_id[id(tensor)] = (weakref.ref(tensor), origin)
        return origin

    def _register(self, tensor: torch.Tensor, origin: Origin) -> None:
        self._by_id[id(tensor)] = (weakref.ref(tensor), origin)
        storage = _storage(tensor)
        if storage:  # the user's view of it may be another Python object
            self._by_storage[storage] = origin


class VariableNames:
    """Names of variables that held a tensor with gradient while the forward ran."""

    def __init__(self) -> None:
        self._names: dict[SlotKey, tuple[int, str]] = {}  # rank (0 best) and name
        self._code: dict[int, CodeType] = {}
        self._last: dict[str, int] = {}
        self._frame: FrameType | None = None

    def read(self, frame: FrameType) -> None:
        """Look through the variables of ``frame`` for tensors that have none yet."""
        if frame is not self._frame:
            self._frame, self._last = frame, {}
        for name, tensor in tensors_of(frame):
            if self._last.get(name) != id(tensor):
                self._last[name] = id(tensor)
                node = tensor.grad_fn
                if node is not None:
                    self._offer((sequence_nr(node), tensor.output_nr), name, frame.f_code)

    def made_in(self, number: int, code: CodeType) -> None:
        """Note in whose code a node was made: names given there are preferred."""
        self._code[number] = code

    def found(self) -> Mapping[SlotKey, str]:
        """Give the best name found for each slot."""
        return {key: name for key, (_, name) in self._names.items()}

    def close(self) -> None:
        """Let go of the last frame."""
        self._frame, self._last = None, {}

    def _offer(self, key: SlotKey, name: str, code: CodeType) -> None:
        rank = 0 if self._code.get(key[0]) is code else 1
        if key not in self._names or rank < self._names[key][0]:
            self._names[key] = (rank, name)


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    """Give the tensors among the arguments or results of an operation, in order."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _tensors(value)


def _traced(tensor: torch.Tensor) -> TracedTensor:
    value = tensor.clone() if tensor.numel() <= WHOLE_LIMIT else None
    return TracedTensor(id(tensor), tuple(tensor.shape), dtype_name(tensor.dtype), value)


def _storage(tensor: torch.Tensor) -> int:
    """Identify the memory of ``tensor``; 0 where it has none of its own."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse, or a subclass without storage
        return 0
