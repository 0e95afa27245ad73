"""Find the names of variables that held a tensor while a forward ran."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping
from types import CodeType, FrameType

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.forward import KnownTensor
from tb_gradgraph.autograd.forward.origins import Origin, SlotKey
from tb_gradgraph.autograd.torch_internals.engine import sequence_nr
from tb_gradgraph.autograd.torch_internals.tensor_classes import small_copy
from tb_gradgraph.autograd.user_code.stack_frames import is_users, tensors_of, variables_of

#: Frames with these flags are not held, because an unfinished generator loses its variables when it is freed.
_SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class FoundNames:
    """The best name found so far for each tensor that a variable held."""

    def __init__(self, origin_of: Callable[[torch.Tensor], Origin | None]) -> None:
        """Prepare; ``origin_of`` returns the origin of a tensor without gradient, if it is known."""
        self._origin_of = origin_of
        self._names: dict[SlotKey, tuple[int, str]] = {}  # rank (0 best) and name
        self._source_names: dict[SlotKey, tuple[int, str]] = {}
        self._leaf_names: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}
        self._code: dict[int, CodeType] = {}

    def made_in(self, number: int, code: CodeType) -> None:
        """Note the code that made a node, because names from there are preferred."""
        self._code[number] = code

    def found(self) -> dict[SlotKey, str]:
        """Return the best name found for each slot."""
        return {key: name for key, (_, name) in self._names.items()}

    def found_sources(self) -> dict[tuple[int, int], str]:
        """Return the best name found for each output of a traced source."""
        return {key: name for key, (_, name) in self._source_names.items()}

    def found_leaves(self) -> dict[int, str]:
        """Return, by ``id``, the first name found for each leaf that still exists."""
        return {key: name for key, (alive, name) in self._leaf_names.items() if alive() is not None}

    def forget_sources(self) -> None:
        """Drop the names of traced sources, because their numbers are reused from now on."""
        self._source_names.clear()

    def offer(self, name: str, tensor: torch.Tensor, code: CodeType) -> None:
        """Note that a variable of ``code`` holds ``tensor``."""
        node = self._made_by(tensor)
        if node is not None:
            number = sequence_nr(node)
            rank = 0 if self._code.get(number) is code else 1
            _keep_best(self._names, (number, tensor.output_nr), rank, name)
        elif tensor.requires_grad:
            self._leaf_names.setdefault(id(tensor), (weakref.ref(tensor), name))
        else:
            origin = self._origin_of(tensor)
            if origin is not None and origin[0] == "source":
                _keep_best(self._source_names, origin[1:], 0, name)

    def _made_by(self, tensor: torch.Tensor) -> AutogradNode | None:
        return tensor.grad_fn


class VariableNames(FoundNames):
    """Reads the variables of the user's frames at every operation, and again when the frames end.

    A frame that is held keeps its variables after it has returned. Therefore the user's frames on
    the stack are held. When the next operation, or ``close``, finds that one has returned, its last
    variables are read. Otherwise a final ``y = x * w`` before ``return y`` would have no name.
    Names are read, never inferred. Frames that call the whole forward are not read.
    """

    def __init__(
        self, outermost: FrameType | None, origin_of: Callable[[torch.Tensor], Origin | None]
    ) -> None:
        """Prepare to read frames entered from ``outermost``.

        Args:
            outermost: The user's frame that called us; ``None`` if we were not called by the user's
                code.
            origin_of: Returns the origin of a tensor without gradient, if it is known.
        """
        super().__init__(origin_of)
        self._outermost = outermost
        self._held: list[_HeldFrame] = []

    def read(self, frame: FrameType, called: FrameType | None) -> None:
        """Read the frame that an operation came from, and the frames that ended before it.

        Args:
            frame: The user's frame.
            called: The frame of torch's code that it is calling, if there is one. During one call
                the variables of the user's frame cannot change.
        """
        held = self._held
        if not held or held[-1].frame is not frame:
            self._move_to(frame)
        if held and held[-1].frame is frame:
            if called is None or held[-1].called is not called:
                held[-1].called = called
                self._look(held[-1])
        elif frame is not self._outermost:
            self._look(_HeldFrame(frame))

    def close(self) -> None:
        """Read the last variables of the last frames, and release them."""
        self._release(0)

    def _move_to(self, frame: FrameType) -> None:
        """Release the frames that have ended, and hold those that were entered since."""
        depths = {id(held.frame): depth for depth, held in enumerate(self._held, 1)}
        entered = []
        at: FrameType | None = frame
        while at is not None and at is not self._outermost and id(at) not in depths:
            if is_users(at.f_code) and not at.f_code.co_flags & _SUSPENDING:
                entered.append(_HeldFrame(at))
            at = at.f_back
        depth = depths.get(id(at), 0)
        self._release(depth)
        self._held += reversed(entered)
        for held in self._held[max(depth - 1, 0) : -1]:  # they wait for the innermost one
            self._look(held)

    def _release(self, depth: int) -> None:
        """Read the frames that are held below ``depth`` for the last time, the innermost first."""
        while len(self._held) > depth:
            self._look(self._held.pop())

    def _look(self, held: _HeldFrame) -> None:
        seen = held.seen
        for name, tensor in tensors_of(held.frame):
            # An in-place operation changes only the version. A tensor without gradient may have no version.
            state = (id(tensor), tensor._version if tensor.requires_grad else -1)
            if seen.get(name) != state:
                seen[name] = state
                self.offer(name, tensor, held.frame.f_code)


class _HeldFrame:
    """A frame, what it was calling when it was last read, and its tensors with their versions."""

    __slots__ = ("called", "frame", "seen")

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.called: FrameType | None = None
        self.seen: dict[str, tuple[int, int]] = {}


def _keep_best(names: dict[SlotKey, tuple[int, str]], key: SlotKey, rank: int, name: str) -> None:
    if key not in names or rank < names[key][0]:
        names[key] = (rank, name)


def variables_without_history(
    frame: FrameType | None, owned: Mapping[int, KnownTensor]
) -> dict[int, KnownTensor]:
    """Name the tensors without history in ``frame``, by ``id``."""
    return {
        id(value): KnownTensor("leaf" if value.requires_grad else "input", (name,))
        for name, value in reversed(variables_of(frame).items())
        if isinstance(value, torch.Tensor)
        and not name.startswith("_")
        and value.grad_fn is None
        and id(value) not in owned
    }


def variables_with_history(
    frame: FrameType | None, number_of: Callable[[AutogradNode], int]
) -> tuple[dict[SlotKey, str], dict[SlotKey, torch.Tensor]]:
    """Name the slots whose tensors ``frame`` holds; copy small ones."""
    names: dict[SlotKey, str] = {}
    values: dict[SlotKey, torch.Tensor] = {}
    for name, value in reversed(variables_of(frame).items()):
        if not isinstance(value, torch.Tensor) or value.grad_fn is None or name.startswith("_"):
            continue
        key = (number_of(value.grad_fn), value.output_nr)
        if key[0] >= 0:
            names[key] = name
            if (copy := small_copy(value)) is not None:
                values[key] = copy
    return names, values
