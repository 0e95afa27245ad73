"""Every backward that Python asks autograd's engine for, seen as it begins and ends."""

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
    """What ``backward`` or ``autograd.grad`` was asked for."""

    roots: Sequence[Any]  # tensors, or torch's GradientEdge
    seeds: Sequence[torch.Tensor | None]
    keeps_graph: bool
    creates_graph: bool
    inputs: Sequence[Any]  # for autograd.grad and backward(inputs=...); empty: all leaves
    accumulates: bool  # into .grad


def is_part_of_forward(call: BackwardCall) -> bool:
    """Return whether a module's forward asked for gradients to compute with them, as MAML does."""
    return not call.accumulates and is_in_module_call()


def is_batched(call: BackwardCall) -> bool:
    """Return whether it runs within ``vmap``, where every gradient stands for many."""
    return any(seed is not None and stands_for_many(seed) for seed in call.seeds)


class Listener(Protocol):
    """What a listener hears about backwards. Nothing in it may raise."""

    is_awake: bool  # whether it wants to hear

    def on_backward(self, call: BackwardCall) -> Callable[[bool], None] | None:
        """Hear a backward begin; may return what to call when it has ended, with whether it ended well."""


_ours = threading.local()


def listen(listener: Listener) -> Callable[[], None]:
    """Tell ``listener`` of every outermost backward; return what ends that.

    ``Tensor.backward``, ``torch.autograd.backward`` and ``torch.autograd.grad`` all
    go through one function of ``torch.autograd``, which is replaced for as long as
    anyone listens (torch's own tracing replaces the same one). So hooks can be put
    on a graph when its loss is known, just before they are needed.
    """
    return _replaced.listen(listener)


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Tell nobody of backwards in the block on this thread, which are our own."""
    _ours.runs = True
    try:
        yield
    finally:
        _ours.runs = False


def _entry(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def run_backward(roots: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        inside = current_graph_task() != -1  # it is then part of that backward
        is_ours = getattr(_ours, "runs", False)
        is_seen = _replaced.listeners and not inside and not is_ours
        if not is_seen or (is_capturing() and note_captured()):
            return run(roots, *args, **kwargs)
        compile_again = stop_compiling()
        call = _read_call(roots, *args, **kwargs)
        told = []
        for listener in tuple(_replaced.listeners):
            if listener.is_awake and (ended := listener.on_backward(call)) is not None:
                told.append(ended)
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


def _read_call(
    roots: Sequence[Any],
    seeds: Sequence[torch.Tensor | None] = (),
    keeps_graph: bool = False,
    creates_graph: bool = False,
    inputs: Sequence[Any] = (),
    *_: Any,
    accumulate_grad: bool = False,
    **__: Any,
) -> BackwardCall:
    return BackwardCall(
        tuple(roots), tuple(seeds), keeps_graph, creates_graph, tuple(inputs or ()), accumulate_grad
    )


_replaced: Replaced[Listener] = Replaced(torch.autograd, "_engine_run_backward", _entry)
