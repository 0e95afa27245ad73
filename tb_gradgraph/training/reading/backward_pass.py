"""Read one backward pass of a training, with hooks while it runs."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch

from tb_gradgraph.autograd import (
    Attached,
    BackwardCall,
    Passage,
    SlotRows,
    detach,
    is_backward_compiled,
    placement_of,
    small_copy,
)
from tb_gradgraph.errors import COMPILED
from tb_gradgraph.training.own.own_reading import OwnGradients
from tb_gradgraph.training.reading.batches import add_all, add_now, new_batch, read_grads
from tb_gradgraph.training.reading.numbers import Numbers
from tb_gradgraph.training.reading.parameter_rows import GradState, grad_states
from tb_gradgraph.training.reading.pass_numbers import PassNumbers
from tb_gradgraph.training.reading.structures import Met, Structure


class PassReading:
    """The hooks of one backward pass; ``finish`` removes them, however the pass ended."""

    def __init__(
        self,
        met: Met,
        parameters: Sequence[torch.Tensor],
        call: BackwardCall,
        objective: str,
        own: OwnGradients,
        shares: bool = True,
        late: frozenset[int] = frozenset(),
        is_gathered: bool = False,
    ) -> None:
        """Attach all hooks or none. Call it under ``threads.gate``.

        Args:
            met: The graph.
            parameters: The parameters whose gradients are read.
            call: The arguments of the backward.
            objective: What is differentiated.
            own: The statistics of the user's own to run.
            shares: Whether rows may share statistics: no user's hook is known to change gradients.
            late: Parameters, by ``id``, whose ``.grad`` will also include gradients of earlier
                passes.
            is_gathered: Whether parameters may get their ``.grad`` in a later pass.
        """
        self._late, self._is_gathered = late, is_gathered
        self._placements: dict[int, str] = {}
        self._objective = objective
        self._own = own
        self._shares = shares and not any(leaf._backward_hooks for leaf in met.leaves)
        self._met = met
        self._parameters = parameters
        self._call = call
        self._by_place: dict[int, Any] = {}  # gradients of a node's slots
        # Gradients of leaves with our hook; None if a Function returned no gradient.
        self._by_row: dict[int, torch.Tensor | None] = {}
        self._batch = new_batch(met.structure)
        self._fault: Exception | None = None
        self._attached: list[Attached] = []
        self._of_nodes_that_go: list[Any] = []  # handles, removed only if the nodes stay
        self._before = grad_states(parameters)
        self._passage = Passage(met.order, met.leaves, parameters)
        self._is_compiled = is_backward_compiled()
        if self._is_compiled:
            self._leave_out_what_flows()
        if self._passage.is_shared or self._is_compiled:
            return
        try:
            self._attach_to_nodes()
            for row, leaf in self._leaves_to_hook():
                take = partial(self._by_row.__setitem__, row)
                try:
                    self._attached.append((leaf.register_hook(take), leaf))
                except Exception as error:
                    self._batch.unread.note(row, error)
        except BaseException:
            self._passage.end()
            detach([*self._attached, *((handle, None) for handle in self._of_nodes_that_go)])
            raise

    @property
    def structure(self) -> Structure:
        """The graph that it runs over."""
        return self._met.structure

    @property
    def is_shared(self) -> bool:
        """Return whether another thread ran over the same graph, so that ``.grad`` mixes both passes."""
        return self._passage.is_shared

    def finish(self, well: bool, scale: torch.Tensor | None) -> PassNumbers | None:
        """Remove the hooks; return the numbers, or None if no parameter was reached.

        Args:
            well: Whether the backward ended without an error.
            scale: The factor by which a GradScaler multiplied the loss; it is divided out.
        """
        if not well:  # then some nodes have not run and still have hooks
            self._attached += [(handle, None) for handle in self._of_nodes_that_go]
        detach(self._attached)
        states = grad_states(self._parameters)
        try:
            if self._fault is not None:
                raise self._fault
            if not well or not (self._is_gathered or self._has_reached(states)):
                return None
            with torch.no_grad():
                found = self._reduce(states, scale)
            return None if self.is_shared else found
        finally:
            self._let_go()

    def abandon(self) -> None:
        """Remove the hooks after an error of our own. Does nothing after ``finish``."""
        self._attached += [(handle, None) for handle in self._of_nodes_that_go]
        detach(self._attached)
        self._let_go()

    def _let_go(self) -> None:
        """Release all nodes, because hooks that are still on nodes hold this object.

        A cycle through autograd's nodes is never collected, because Python does not see it.
        """
        self._passage.end()
        self._by_place.clear()
        self._by_row.clear()
        self._of_nodes_that_go = []
        self._met = Met(self._met.structure, is_new=self._met.is_new)
        self._call = self._call._replace(roots=(), seeds=(), inputs=())
        vars(self).pop("_batch", None)

    def _has_reached(self, states: Sequence[GradState]) -> bool:
        """Return whether a parameter of ours got a gradient."""
        own = self._met.structure.parameter_rows.values()
        if self._is_compiled and not self._call.accumulates:
            return True  # assumed from its graph; its results are not seen
        return states != self._before or any(self._by_row.get(row) is not None for row in own)

    def _leave_out_what_flows(self) -> None:
        """Put on no hooks, because they would be compiled too. Only ``.grad`` is read."""
        places = self._met.structure.replay.rows_at.values() if self._met.order else ()
        rows = [row for of_slots in places for of_slot in of_slots for row in of_slot]
        rows += [row for row, _ in self._leaves_to_hook()]
        self._batch.unread.update(dict.fromkeys(rows, COMPILED))

    def _attach_to_nodes(self) -> None:
        met, call = self._met, self._call
        if not met.order:
            return  # only parameters are read
        # Rows may share a parameter's statistics only if the parameter is certainly read.
        share = self._shares and met.structure.replay.is_checked
        share = share and call.accumulates and not call.inputs
        handles = met.structure.replay.attach(
            met.order,
            self._by_place.__setitem__,
            self._take_and_reduce,
            self._take_at_once,
            self._make_hook if self._own.rows else self._batch.make_hook,
            share,
            self._leave_out,
            self._own.rows,
            None if self._own.rows or call.inputs else self._batch.hook_slots,
        )
        if call.keeps_graph:
            self._attached += [(handle, None) for handle in handles]
        else:
            self._of_nodes_that_go = handles

    def _make_hook(
        self, rows: SlotRows, otherwise: Callable[[SlotRows, Any], None]
    ) -> Callable[[Any], None] | None:
        """Make a hook that reads every gradient at once; with own statistics, Python gets them."""
        if self._own.rows.isdisjoint(itertools.chain(*rows)):
            return self._batch.make_hook(rows, otherwise)
        return partial(otherwise, rows)

    def _leaves_to_hook(self) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the leaves whose gradient of this pass cannot be read from ``.grad`` afterwards."""
        wanted = set(map(id, self._call.inputs))
        rows = self._met.structure.parameter_rows
        for leaf, before in zip(self._parameters, self._before):
            readable = before is None and self._call.accumulates and not _has_own_hooks(leaf)
            row = rows.get(id(leaf))
            if row is None or readable or not leaf.requires_grad:
                continue
            if not wanted or id(leaf) in wanted:
                yield row, leaf
        for leaf, row in zip(self._met.leaves, self._met.structure.replay.leaf_rows):
            if row is not None and id(leaf) not in rows:
                yield row, leaf

    def _take_at_once(self, slot_rows: SlotRows, gradients: Sequence[torch.Tensor | None]) -> None:
        """Reduce the gradients of one node. Like all hooks in the user's backward, it never raises."""
        whole = self._met.structure.whole_rows
        with self._faults_kept(), torch.no_grad():
            for rows, gradient in zip(slot_rows, gradients):
                if rows and gradient is not None:
                    try:
                        self._note_place(rows[0], gradient)
                        add_now(self._batch, rows[0], gradient, whole)
                        for row in rows:
                            self._own.see(row, gradient)
                    except Exception as error:
                        self._batch.unread.note(rows[0], error)

    def _leave_out(self, slot_rows: SlotRows, error: Exception) -> None:
        """Note that a node cannot be read."""
        for rows in filter(None, slot_rows):
            self._batch.unread.note(rows[0], error)

    def _take_and_reduce(self, place: int, gradients: Sequence[torch.Tensor | None]) -> None:
        """Hold the gradients of one node, and reduce everything held so far."""
        self._by_place[place] = gradients
        with self._faults_kept(), torch.no_grad():
            self._add(list(self._of_nodes()))
            self._by_place.clear()
            self._batch.reduce_held()

    @contextlib.contextmanager
    def _faults_kept(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._fault = error

    def _add(self, pairs: Sequence[tuple[int, torch.Tensor]]) -> None:
        rows, tensors = [row for row, _ in pairs], [tensor for _, tensor in pairs]
        for row, tensor in pairs:
            self._note_place(row, tensor)
        add_all(self._batch, rows, tensors, self._met.structure.whole_rows)

    def _reduce(self, states: Sequence[GradState], scale: torch.Tensor | None) -> PassNumbers:
        structure = self._met.structure
        of_leaves = [(row, given) for row, given in self._by_row.items() if given is not None]
        of_leaves += self._of_fresh(states)
        self._add([*self._of_nodes(), *of_leaves])
        self._own.see_all(of_leaves)
        shared = None if self._is_compiled else structure.replay.shared
        gradients = Numbers(self._batch.reduce(scale), shared)
        accumulated = gradients if self._call.accumulates else None
        adds_up = bool(self._late) or any(before is not None for before in self._before)
        if accumulated is not None and adds_up:
            accumulated = read_grads(structure, self._parameters, scale)
        state_of = dict(zip(map(id, self._parameters), states))
        return PassNumbers(
            *(structure, gradients, accumulated, state_of, self._roots(), self._objective),
            self._placements,
            self._own.choose(),
        )

    def _note_place(self, row: int, gradient: torch.Tensor) -> None:
        if type(gradient) is not torch.Tensor and (place := placement_of(gradient)):
            self._placements[row] = place

    def _of_nodes(self) -> Iterator[tuple[int, torch.Tensor]]:
        rows_at = self._met.structure.replay.rows_at
        for place, gradients in self._by_place.items():
            for rows, gradient in zip(rows_at[place], gradients):
                if rows and gradient is not None:
                    yield rows[0], gradient

    def _of_fresh(self, states: Sequence[GradState]) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield each ``.grad`` that was None before this pass."""
        rows = self._met.structure.parameter_rows
        for leaf, before, after in zip(self._parameters, self._before, states):
            if before is None and after is not None and id(leaf) not in self._late:
                row = rows.get(id(leaf))
                if row is not None and self._by_row.get(row) is None and leaf.grad is not None:
                    yield row, leaf.grad

    def _roots(self) -> dict[int, torch.Tensor]:
        return {
            row: copy
            for row, root in zip(self._met.structure.root_rows, self._call.roots)
            if isinstance(root, torch.Tensor) and (copy := small_copy(root)) is not None
        }


def _has_own_hooks(leaf: torch.Tensor) -> bool:
    """Return whether the user's hooks may use and clear ``.grad`` before the backward has ended."""
    return bool(getattr(leaf, "_post_accumulate_grad_hooks", None))
