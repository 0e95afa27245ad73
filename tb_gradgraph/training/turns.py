"""Decide which optimizer's step ends a step of the training."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from tb_gradgraph.autograd import BackwardCall, is_batched, is_part_of_forward
from tb_gradgraph.training.reading.parameter_rows import Parameters, grad_states, is_any_other


class Turns:
    """Ends a step when all optimizers have stepped, or, if some miss it, when it is certainly over.

    Optimizers that have stepped after the same backward are expected to do so again. The next
    backward therefore begins a new step, even if some of them missed the last one. If one optimizer
    steps again before the others, as the critic of a GAN does, the last one that stepped ends every
    step from now on. This holds until another one steps after it with the same backward.
    """

    def __init__(self, optimizers: Iterable[torch.optim.Optimizer]) -> None:
        """Prepare for these optimizers."""
        self._groups: dict[int, int | None] = {
            id(optimizer): id(optimizer) for optimizer in optimizers
        }
        self._done: list[int] = []  # by ``id``
        self._ended: list[int] = []  # the same for the previous step
        self._first = 0  # ``id`` of the first to step since the last backward; 0: none
        self._closing = 0  # ``id`` of the one that ends each step; 0: all of them
        self.has_optimizers = bool(self._groups)
        #: Whether ``end_with_backward`` has to be asked: a single optimizer's step always ends the step.
        self.wants_backwards = len(self._groups) > 1

    @property
    def has_begun(self) -> bool:
        """Return whether an optimizer has stepped in this step."""
        return bool(self._done)

    def has_stepped(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether ``optimizer`` has stepped in this step."""
        return id(optimizer) in self._done

    def goes_on(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether ``optimizer``'s step belongs to the step that ended: no backward has run since."""
        return bool(self._first) and not self._done and id(optimizer) not in self._ended

    def end_with_backward(self) -> bool:
        """Note that a backward begins; return whether it ends the step, without the other optimizers."""
        self._first = 0
        stepped = {self._groups.get(one) for one in self._done}
        return bool(stepped) and all(
            group in stepped for one, group in self._groups.items() if one not in self._done
        )

    def close_with_last(self) -> None:
        """Let the optimizer that stepped last end every step."""
        self._closing = self._done[-1]

    def take(self, optimizer: torch.optim.Optimizer) -> bool:
        """Note a step of ``optimizer``; return whether the training's step ends with it."""
        self._join(id(optimizer))
        self._done.append(id(optimizer))
        if self._closing:
            return id(optimizer) == self._closing
        return len(set(self._done)) == len(self._groups)

    def take_late(self, optimizer: torch.optim.Optimizer) -> None:
        """Note a step of ``optimizer`` that belongs to the step that has ended."""
        self._join(id(optimizer))
        self._ended.append(id(optimizer))

    def begin(self) -> None:
        """Begin a step."""
        self._ended, self._done = self._done, []

    def _join(self, one: int) -> None:
        """Note that ``one`` steps with the same backward as those before it."""
        self._first = self._first or one
        first, own = self._groups.get(self._first), self._groups.get(one)
        if first == own:
            return
        self._closing = 0
        for other, group in self._groups.items():
            if group == own:
                self._groups[other] = first


#: Called when a backward has ended, with whether it ended without an error.
Ended = Callable[[bool], None]


def counted(call: BackwardCall, parameters: Parameters, end: Callable[[], None]) -> Ended | None:
    """Return a function that calls ``end`` after a backward that succeeded and reached ``parameters``."""
    if not call.accumulates:
        if is_part_of_forward(call) or is_batched(call):
            return None
        parameters.refresh()
        given = {id(tensor) for tensor in call.inputs}
        ours = any(id(tensor) in given for tensor in parameters.tensors)
        return lambda well: end() if well and ours else None
    tensors = parameters.tensors
    before = grad_states(tensors)

    def ended(well: bool) -> None:
        if well and (is_any_other(tensors, before) or _has_reached_new(parameters)):
            end()

    return ended


def _has_reached_new(parameters: Parameters) -> bool:
    """Return whether a parameter that is new since the last look, as of a new layer, has a gradient."""
    known = parameters.known
    parameters.refresh()
    return any(p.grad is not None for p in parameters.tensors if id(p) not in known)
