"""The user's torch.autograd.Functions: their names and arguments, and the backward that they need."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import weakref
from collections.abc import Container, Iterable, Mapping
from types import CodeType, FrameType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.torch_internals.engine import custom_function, node_name
from tb_gradgraph.autograd.user_code.stack_frames import local_variables, shown_path, user_frame
from tb_gradgraph.graph import OF_FUNCTION

_RECURRENT = "A fused recurrent layer: all its steps are one kernel, and one node here."
_CELL = "A fused recurrent cell: its gates are one kernel, and one node here."
_ATTENTION = (
    "Fused attention: scores, softmax and what they weigh are one kernel, and one node here."
)
#: Notes on nodes that do a lot of work, by their names without the number at the end.
_OPAQUE = {
    "DifferentiableGraphBackward": "TorchScript: what it runs as one is one node here.",
    **dict.fromkeys(
        ("MkldnnRnnLayerBackward", "CudnnRnnBackward", "MiopenRnnBackward", "LstmMpsBackward"),
        _RECURRENT,
    ),
    **dict.fromkeys(("ThnnFusedLstmCellBackward", "ThnnFusedGruCellBackward"), _CELL),
    **dict.fromkeys(
        (
            *(
                "ScaledDotProductFlashAttentionBackward",
                "ScaledDotProductFlashAttentionForCpuBackward",
            ),
            *(
                "ScaledDotProductEfficientAttentionBackward",
                "ScaledDotProductCudnnAttentionBackward",
            ),
            "ScaledDotProductFusedAttentionOverrideableBackward",
            *("FlashAttentionBackward", "EfficientAttentionBackward", "CudnnAttentionBackward"),
        ),
        _ATTENTION,
    ),
    **dict.fromkeys(
        ("CtcLossBackward", "CudnnCtcLossBackward", "MiopenCtcLossBackward"),
        "CTC loss: all alignments are summed in one kernel, and are one node here.",
    ),
}
#: How deep below ``apply`` the first operation of a forward is searched.
_DEPTH_LIMIT = 64


#: Names and notes of nodes by their type, except those of one type with several names.
_known: dict[type, tuple[str, str]] = {}
_notes: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()
_NAMELESS = "CppFunction"


def operation_of(node: AutogradNode) -> tuple[str, str]:
    """Return the name of the operation of ``node``, and a note for the user."""
    kind: type = type(node)
    known = _known.get(kind)
    if known is not None:
        return known
    cls = custom_function(node)
    if cls is not None:
        return cls.__name__, _note_on(cls)
    name = node_name(node)
    found = name, _OPAQUE.get(name.rstrip("0123456789"), "")
    if kind.__name__ != _NAMELESS:
        _known[kind] = found
    return found


def _note_on(cls: type) -> str:
    """Return the note on a user's Function; it is found once, because the source file is parsed for it."""
    if cls not in _notes:
        place = defined_at(cls)
        _notes[cls] = (
            "reentrant checkpoint: what it recomputes in its backward is not drawn"
            if _asks_the_engine(cls)
            else f"{OF_FUNCTION}{cls.__qualname__}" + (place and f", {place}")
        )
    return _notes[cls]


def defined_at(cls: type) -> str:
    """Return ``file:line`` of a class, or "" if Python does not know it (an old cell of a notebook)."""
    try:
        return f"{shown_path(inspect.getsourcefile(cls) or '')}:{inspect.getsourcelines(cls)[1]}"
    except Exception:  # a notebook, an archive or an unusual class may raise anything
        return ""


@dataclasses.dataclass(frozen=True, slots=True)
class RunningFunction:
    """A running ``Function.forward``."""

    number: int  # its node's; below -1 if it makes none, as no input requires a gradient
    arguments: tuple[Any, ...]  # ctx among them, if the forward takes it
    frame: FrameType  # the forward's frame
    caller: FrameType | None  # the user's frame that called apply

    def is_running_in(self, frame: FrameType | None) -> bool:
        """Return whether the forward is ``frame`` or one of its callers."""
        for _ in range(_DEPTH_LIMIT):
            if frame is None or frame is self.frame:
                break
            frame = frame.f_back
        return frame is self.frame


def running_function(number: int) -> RunningFunction | None:
    """Return the innermost running ``Function.forward`` whose node would have ``number``.

    It is recognized by its code, because from torch 2.14 on ``apply`` is written in C and has no
    frame.
    """
    forwards = _forwards()
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_DEPTH_LIMIT):
        if frame is None:
            break
        if id(frame.f_code) in forwards:
            frame, arguments = _outermost(frame, forwards)
            if not any(isinstance(a, torch.Tensor) and a.requires_grad for a in arguments):
                number = -2 - number
            return RunningFunction(number, arguments, frame, user_frame(frame.f_back))
        frame = frame.f_back
    return None


def refuses_inputs(nodes: Iterable[AutogradNode]) -> bool:
    """Return whether the graph has a Function that works only in a backward that accumulates into leaves.

    Reentrant checkpointing (torch's, and copies of it) runs its own backward, and asks the engine
    whether ``inputs=`` was given.
    """
    classes = {getattr(kind, "_forward_cls", None) for kind in set(map(type, nodes))}
    return any(_asks_the_engine(cls) for cls in classes)


def _asks_the_engine(cls: type | None) -> bool:
    code = getattr(getattr(cls, "backward", None), "__code__", None)
    return code is not None and "_is_checkpoint_valid" in code.co_names


def _forwards() -> dict[int, CodeType]:
    """Return the code of every Function's forward by its ``id``, because hashing code reads all of it."""
    classes: list[type] = [torch.autograd.Function]
    for cls in classes:  # grows as it is read
        classes += cls.__subclasses__()
    codes = (getattr(getattr(cls, "forward", None), "__code__", None) for cls in classes)
    return {id(code): code for code in codes if code is not None}


def _outermost(frame: FrameType, forwards: Container[int]) -> tuple[FrameType, tuple[Any, ...]]:
    """Return the forward that autograd called, if it passed its ctx on to the forward of another class."""
    arguments = _arguments_of(frame)
    while frame.f_back is not None and id(frame.f_back.f_code) in forwards:
        above = _arguments_of(frame.f_back)
        if not (above and arguments and above[0] is arguments[0]):
            break
        frame, arguments = frame.f_back, above
    return frame, arguments


def _arguments_of(frame: FrameType) -> tuple[Any, ...]:
    """Return the arguments of a running forward, unless it has assigned to its parameters."""
    return arguments_in(frame.f_code, local_variables(frame))


def arguments_in(code: CodeType, variables: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of a call of ``code`` among its ``variables``."""
    count = code.co_argcount + code.co_kwonlyargcount
    given = [variables.get(name) for name in code.co_varnames[:count]]
    if code.co_flags & inspect.CO_VARARGS:
        given.extend(variables.get(code.co_varnames[count], ()))
    return tuple(given)
