"""Read the gradients that a backward sends through a graph, without changing tensors."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch.autograd.graph import Node as AutogradNode
from torch.utils.hooks import RemovableHandle

from tb_gradgraph.autograd.build.build import BuiltGraph
from tb_gradgraph.autograd.gradients.hooks import (
    Attached,
    EndOfPass,
    LeafHook,
    NodeHook,
    detach,
)
from tb_gradgraph.autograd.gradients.rows import SlotRows, rows_of_leaves, rows_of_nodes
from tb_gradgraph.autograd.torch_internals.engine import (
    call_after_backward,
    current_graph_task,
    hook_of,
    next_sequence_nr,
    prehook_of,
)
from tb_gradgraph.autograd.torch_internals.faults import warn_of_fault
from tb_gradgraph.autograd.torch_internals.orders import note_backward
from tb_gradgraph.autograd.torch_internals.tensor_classes import elements_of, placement_of


class GradientSink(Protocol):
    """Takes the gradients of one backward pass; a new one is made for each pass."""

    def add(self, row: int, gradient: torch.Tensor, placement: str = "") -> None:
        """Take the gradient of ``row``, on the autograd thread that computed it.

        ``placement`` says which part this process has, if it has only a part (``Slot.placement``).
        """

    def make_hook(
        self, rows: SlotRows, otherwise: Callable[[Any, Any], None]
    ) -> Callable[..., None] | None:
        """Make a hook that takes a node's gradients itself, as ``StatisticsBatch.make_hook`` does."""

    def leave_out(self, row: int, error: Exception) -> None:
        """Note that the gradient of ``row`` could not be read."""

    def finish(self) -> None:
        """Finish the pass, on the thread that called backward."""


class BackwardObserver:
    """Watch every backward over one graph for as long as the graph lives.

    Hooks are put on autograd nodes and on leaf tensors. The nodes hold the observer, so it goes
    when the graph goes. Leaves do not hold it; their hooks are removed when the observer goes, or
    by ``remove``. An error of ours at one node or leaf costs only its rows. Any other error of ours
    turns the observer off with one warning. It never reaches the user's backward.
    """

    def __init__(self, make_sink: Callable[[int], GradientSink]) -> None:
        """Prepare; ``make_sink`` gets the number of the pass that begins."""
        self._make_sink = make_sink
        self._attached: list[Attached] = []
        self._active: dict[int, GradientSink] = {}
        self._first_numbers: dict[int, tuple[int, int]] = {}  # if create_graph is used
        self._seeds: Mapping[int, torch.Tensor] = {}
        self._accumulated: Sequence[tuple[torch.Tensor, tuple[int, ...]]] = ()
        self._unhooked: dict[int, Exception] = {}  # rows that no hook reads
        self._passes = 0
        self._armed = False
        self._own: GradientSink | None = None  # of the one pass that we run ourselves
        self._lock = threading.Lock()
        self.failure: Exception | None = None
        weakref.finalize(self, detach, self._attached).atexit = False

    def attach(
        self,
        built: BuiltGraph,
        wanted: frozenset[int] | None = None,
        seeds: Mapping[int, torch.Tensor] | None = None,
        accumulates: bool = False,
    ) -> None:
        """Put hooks on the graph's nodes and leaves. One that refuses a hook is left out of every pass.

        Args:
            built: The graph; its autograd nodes get hooks but are not kept.
            wanted: The rows to read, ``None`` for all.
            seeds: If we run the one backward ourselves, and end it by ``finish``: the gradients, by
                row, that it begins with.
            accumulates: Whether the gradient of a leaf is its ``.grad`` at the end of a pass. This
                is so if part of it comes from a backward within the backward.
        """
        self._armed = True
        self._seeds = {
            row: seed for row, seed in (seeds or {}).items() if wanted is None or row in wanted
        }
        try:
            if seeds is not None and not accumulates:
                self._own = self._make_sink(0)
                self._add_seeds(self._own)
            for node, (slots, edges) in rows_of_nodes(built, wanted).items():
                if any(slots) or not (edges or self._own):
                    self._hook(slots, prehook_of, node)
                if edges:
                    self._hook(edges, hook_of, node)
            leaves = list(rows_of_leaves(built, wanted))
            self._accumulated = leaves if accumulates else []
            for leaf, of_leaf in leaves:
                try:
                    self._attached.append((leaf.register_hook(LeafHook(self, of_leaf)), leaf))
                except Exception as error:
                    self._leave_out((of_leaf,), error)
        except BaseException:
            self.remove()
            raise

    def _hook(
        self,
        rows: SlotRows,
        register_of: Callable[[AutogradNode], Callable[[Any], RemovableHandle]],
        node: AutogradNode,
    ) -> None:
        try:
            hook: Any = None
            if self._own is not None and all([len(of_slot) < 2 for of_slot in rows]):
                hook = self._own.make_hook(rows, self.see_all)
            handle = register_of(node)(NodeHook(self, rows) if hook is None else hook)
            self._attached.append((handle, None))
        except Exception as error:
            self._leave_out(rows, error)

    def _leave_out(self, rows: SlotRows, error: Exception) -> None:
        self._unhooked.update((row, error) for of_slot in rows for row in of_slot)

    @property
    def is_armed(self) -> bool:
        """Return whether it is still reading."""
        return self._armed

    @property
    def has_run(self) -> bool:
        """Return whether a backward has run over the graph."""
        return self._passes > 0

    def remove(self) -> None:
        """Remove every hook. A second call does nothing."""
        self._armed = False
        self._accumulated = ()
        detach(self._attached)

    def see(self, rows: Iterable[int], gradient: torch.Tensor | None, begins: bool = True) -> None:
        """Pass one gradient to the sink of the running backward.

        The gradient of a leaf (``begins`` is false) does not begin a pass, because it may belong to
        another graph that shares the leaf. A Function returns None if there is no gradient.
        """
        if not self._armed or gradient is None:
            return
        sink = self._own
        if sink is None:
            try:
                task = current_graph_task()
                sink = self._active.get(task)
                if sink is None and begins:
                    sink = self._begin(task)
            except Exception as error:
                self._disarm(error)
            if sink is None:
                return
        if torch.is_grad_enabled():  # a backward with create_graph
            with torch.no_grad():
                _add(sink, rows, gradient)
        else:
            _add(sink, rows, gradient)

    def see_all(self, rows: SlotRows, gradients: Sequence[torch.Tensor | None]) -> None:
        """Pass on the gradients of a node's slots, or of the edges into it."""
        for of_slot, gradient in zip(rows, gradients):
            if gradient is not None:
                self.see(of_slot, gradient)

    def _begin(self, task: int) -> GradientSink:
        with self._lock:
            if task not in self._active:
                sink = self._make_sink(self._passes)
                call_after_backward(EndOfPass(self, task))
                self._passes += 1
                if torch.is_grad_enabled():
                    self._first_numbers[task] = (threading.get_ident(), next_sequence_nr())
                self._active[task] = sink
                self._add_seeds(sink)
            return self._active[task]

    @torch.no_grad()
    def _add_seeds(self, sink: GradientSink) -> None:
        for row, seed in self._seeds.items():
            _add(sink, (row,), seed)

    def finish(self) -> None:
        """Finish the pass that we ran ourselves, if anything was to be read."""
        sink, self._own = self._own, None
        if sink is not None and self._attached:
            self._finish(sink)

    def end(self, task: int) -> None:
        """Finish the pass of a backward that ended without an error."""
        thread, first = self._first_numbers.pop(task, (0, 0))
        if thread == threading.get_ident():
            note_backward(first, next_sequence_nr())
        sink = self._active.pop(task, None)
        if sink is not None:
            self._finish(sink)

    def _finish(self, sink: GradientSink) -> None:
        if not self._armed:
            return
        try:
            with torch.no_grad():
                for row, error in self._unhooked.items():
                    sink.leave_out(row, error)
                for leaf, rows in self._accumulated:
                    if leaf.grad is not None:
                        _add(sink, rows, leaf.grad)
                sink.finish()
        except Exception as error:
            self._disarm(error)

    def forget(self, task: int) -> None:
        """Discard what was collected from a backward that raised."""
        self._active.pop(task, None)
        self._first_numbers.pop(task, None)

    def _disarm(self, error: Exception) -> None:
        self.remove()
        self._active.clear()
        self.failure = error
        warn_of_fault("stopped recording this graph", error, "The training is not affected.")


def _add(sink: GradientSink, rows: Iterable[int], gradient: torch.Tensor) -> None:
    """Pass on one gradient. An error costs only its rows."""
    try:
        elements = elements_of(gradient)
        if elements is not None:
            placement = placement_of(gradient)
            for row in rows:
                sink.add(row, elements, placement)
    except Exception as error:
        for row in rows:
            sink.leave_out(row, error)
