"""Backwards that are not recorded, where they are what a training's steps are counted by."""

from __future__ import annotations

from collections.abc import Callable

from tb_gradgraph.autograd.backward_calls import BackwardCall, is_batched, is_part_of_forward
from tb_gradgraph.training.parameters import Parameters, grad_states, is_any_other

#: What is to be called when a backward has ended, and whether it ended well.
Ended = Callable[[bool], None]


def counted(call: BackwardCall, parameters: Parameters, end: Callable[[], None]) -> Ended | None:
    """Have ``end`` called after a backward that ended well and reached one of ``parameters``."""
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
    """Whether a parameter has a gradient that there was not when we looked last, as of a new layer."""
    known = parameters.known
    parameters.refresh()
    return any(p.grad is not None for p in parameters.tensors if id(p) not in known)
