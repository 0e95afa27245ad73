"""Notices when a backward that Python code starts begins and ends."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import torch

from tb_gradgraph.autograd.gradients.threads import begin_running, end_running
from tb_gradgraph.autograd.torch_internals.circumstances import is_capturing, note_captured
from tb_gradgraph.autograd.torch_internals.compiled_regions import stop_compiling
from tb_gradgraph.autograd.torch_internals.engine import (
    current_graph_task,
    next_sequence_nr,
    stands_for_many,
)
from tb_gradgraph.autograd.torch_internals.orders import note_backward
from tb_gradgraph.autograd.torch_internals.replaced import Replaced
from tb_gradgraph.autograd.user_code.stack_frames import is_in_module_call


class BackwardCall(NamedTuple):
    """The arguments of a call of ``backward`` or ``autograd.grad``."""

    roots: Sequence[Any]  # tensors, or torch's GradientEdge
    seeds: Sequence[torch.Tensor | None]
    keeps_graph: bool
    creates_graph: bool
    inputs: Sequence[Any]  # for autograd.grad and backward(inputs=...); empty: all leaves
    accumulates: bool  # into .grad


def is_part_of_forward(call: BackwardCall) -> bool:
    """Return whether a module's forward called it, to compute with the gradients, as MAML does."""
    return not call.accumulates and is_in_module_call()


def is_batched(call: BackwardCall) -> bool:
    """Return whether it runs within ``vmap``, where every gradient represents many."""
    return any(seed is not None and stands_for_many(seed) for seed in call.seeds)


class Looker(Protocol):
    """Looks at every backward. Must not raise."""

    def see(self, call: BackwardCall) -> None:
        """Look at the start of a backward."""


class Listener(Protocol):
    """What is called when a backward begins and ends. No method may raise."""

    is_awake: bool  # whether it wants to be called

    @property
    def lookout(self) -> Callable[[], Looker | None] | None:
        """Return a reference to who is told of every backward, awake or not; None if nobody is."""

    def on_backward(self, call: BackwardCall) -> Callable[[bool], None] | None:
        """Handle the start of a backward.

        May return a function, which is called at its end with whether it succeeded.
        """


_ours = threading.local()


def listen(listener: Listener) -> Callable[[], None]:
    """Call ``listener`` for every outermost backward; return a function that ends this.

    ``Tensor.backward``, ``torch.autograd.backward`` and ``torch.autograd.grad`` all call one
    function of ``torch.autograd``. It is replaced while there is a listener (torch's own tracing
    replaces the same function). Therefore a listener can put hooks on a graph when its loss is
    known, just before they are needed.
    """
    return _replaced.listen(listener)


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Call no listener for backwards in the block on this thread: they are our own."""
    before = getattr(_ours, "runs", False)
    _ours.runs = True
    try:
        yield
    finally:
        _ours.runs = before


def _entry(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def run_backward(roots: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        inside = current_graph_task() != -1  # then it is part of the running backward
        is_ours = getattr(_ours, "runs", False)
        is_seen = _replaced.listeners and not inside and not is_ours
        if not is_seen or (is_capturing() and note_captured()):
            return run(roots, *args, **kwargs)
        compile_again = stop_compiling()
        call, told = _tell(roots, *args, **kwargs)
        first = next_sequence_nr()
        well = False
        begin_running(call.roots)
        if compile_again is not None:
            compile_again()
        try:
            result = run(roots, *args, **kwargs)
            well = True
            return result
        finally:
            if compile_again is not None:
                stop_compiling()
            end_running()
            if call.creates_graph:
                note_backward(first, next_sequence_nr())
            for ended in told:
                ended(well)
            if compile_again is not None:
                compile_again()

    return run_backward


def _tell(
    roots: Sequence[Any],
    seeds: Sequence[torch.Tensor | None] = (),
    keeps_graph: bool = False,
    creates_graph: bool = False,
    inputs: Sequence[Any] = (),
    *_: Any,
    accumulate_grad: bool = False,
    **__: Any,
) -> tuple[BackwardCall, list[Callable[[bool], None]]]:
    """Tell all listeners that a backward begins; return its arguments, and what to call at its end."""
    call = BackwardCall(
        tuple(roots), tuple(seeds), keeps_graph, creates_graph, tuple(inputs or ()), accumulate_grad
    )
    told = []
    for listener in tuple(_replaced.listeners):
        if listener.is_awake and (ended := listener.on_backward(call)) is not None:
            told.append(ended)
        looker = listener.lookout and listener.lookout()
        if looker is not None:
            looker.see(call)
    return call, told


_replaced: Replaced[Listener] = Replaced(torch.autograd, "_engine_run_backward", _entry)
