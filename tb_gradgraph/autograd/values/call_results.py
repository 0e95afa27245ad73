"""See what every call of a torch function returns, while a module call runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from tb_gradgraph.autograd.torch_internals.engine import (
    FunctionMode,
    enter_function_mode,
    functions_not_overridden,
    leave_function_mode,
    next_sequence_nr,
)
from tb_gradgraph.autograd.values.made_tensors import MadeTensors


class CallResults(FunctionMode):
    """Passes on the result of each call from ``begin`` to ``end``. It changes no call.

    A call may make several nodes. Only the tensors that it returns are seen.

    Attributes:
        inside: The name of the call that made a node whose result it does not return, by number.
        failure: Our own error, after which nothing is seen any more.
        is_active: Whether it has begun and not ended.
    """

    def __init__(self, made: MadeTensors, wants_names: bool) -> None:
        """Prepare; ``wants_names`` says whether to fill ``inside``."""
        super().__init__()
        self._made = made
        self._wants_names = wants_names
        self._next = 0  # the number after those of the last call
        self.failure: Exception | None = None
        self.is_active = False
        self._is_handling = False
        self._compiled: Any = None  # what handles calls while it is active
        self.inside: dict[int, str] = {}

    @property
    def is_handling(self) -> bool:
        """Return whether a call is running; torch has taken this mode off meanwhile."""
        return self._is_handling or (self._compiled is not None and self._compiled.is_handling)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False. Otherwise torch would import its compiler (2 s) to exclude this method from it."""
        return False

    def begin(self) -> None:
        """Begin, below the modes of the user's that are active."""
        if not self.is_active:
            self.is_active = True
            self._use_compiled()
            enter_function_mode(self)

    def end(self) -> None:
        """End, even if other modes have begun since. A second call does nothing."""
        if self.is_active:
            self.is_active = False
            leave_function_mode(self)
            if self._compiled is not None:  # it holds this object in a cycle
                self._next = self._compiled.next
                self._compiled = None
                del self.__dict__["__torch_function__"]

    def _use_compiled(self) -> None:
        """Let compiled code do what ``__torch_function__`` does, if there is any."""
        if self._made.reader is not None and self.failure is None:
            asked = (next_sequence_nr, torch.is_grad_enabled, self._next, self._wants_names)
            self._compiled = self._made.reader.call_reader(self, self._note_safely, *asked)
            self.__dict__["__torch_function__"] = self._compiled

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make the call unchanged, and then look at what it returned."""
        first = next_sequence_nr()
        self._is_handling = True
        try:
            result = func(*args, **kwargs) if kwargs else func(*args)
        finally:
            self._is_handling = False
        made = next_sequence_nr() - first
        if made and torch.is_grad_enabled() and self.failure is None:
            is_after_others, self._next = first > self._next, first + made
            self._note_safely(func, first, made, args, result, is_after_others)
        return result

    def _note_safely(self, *noted: Any) -> bool:
        """Note a call; return whether further ones are to be noted."""
        try:
            self._note(*noted)
        except Exception as error:
            self.failure = error
        return self.failure is None

    def _note(
        self, func: Any, first: int, made: int, args: Any, result: Any, is_after_others: bool
    ) -> None:
        if is_after_others:  # what made nodes meanwhile was no call that is seen
            with functions_not_overridden():
                given = _results_of_functions(args)
            self._made.see_all(given)
        if made > 1 and self._wants_names:
            name = getattr(func, "__name__", "") or type(func).__name__
            self.inside.update(dict.fromkeys(range(first, first + made), name))
        if isinstance(result, torch.Tensor):
            self._made.see(result, may_skip=True)
        elif isinstance(result, (tuple, list)):
            self._made.see_all(each for each in result if isinstance(each, torch.Tensor))


def _results_of_functions(args: Any) -> Iterable[torch.Tensor]:
    """Return the arguments that a torch.autograd.Function returned, because its call is not seen."""
    tensors = (each for each in args if isinstance(each, torch.Tensor) and not each.is_leaf)
    return [each for each in tensors if isinstance(_node_of(each), BackwardCFunction)]


def _node_of(tensor: torch.Tensor) -> Any:
    return None if tensor._is_view() else tensor.grad_fn
