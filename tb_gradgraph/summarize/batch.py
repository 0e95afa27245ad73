"""Compute statistics of all tensors of one backward pass, with as few kernels as possible."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch

from tb_gradgraph.memory import has_memory
from tb_gradgraph.statistics import StatisticsTable
from tb_gradgraph.summarize.arithmetic.elements import computable, real_floats, stored
from tb_gradgraph.summarize.arithmetic.end_to_end import WholeBlock, are_alike, whole_blocks
from tb_gradgraph.summarize.arithmetic.sample import sample_limit
from tb_gradgraph.summarize.contained import Unread, one_by_one
from tb_gradgraph.summarize.native import NativeReducer, is_available
from tb_gradgraph.summarize.parts import Reduced, part_of_held, part_of_reduced, reduce_large
from tb_gradgraph.summarize.pending import Entries, Part, PendingStatistics
from tb_gradgraph.summarize.stacks import LEAST, MOST, Stack, is_stackable

#: Larger tensors are reduced at once, while they are in cache, if they may not be held. Smaller
#: ones are reduced together, because starting a kernel costs more than reducing them.
SMALL = 4096


@dataclasses.dataclass(slots=True)
class _Alike:
    """Tensors of one device and type: small ones, unchanged, by size, and large ones, reduced."""

    small: Entries = dataclasses.field(default_factory=Entries)
    held: list[torch.Tensor] = dataclasses.field(default_factory=list)
    large: Entries = dataclasses.field(default_factory=Entries)
    reduced: list[Reduced] = dataclasses.field(default_factory=list)
    stacks: dict[tuple[torch.Size, tuple[int, ...]], Stack] = dataclasses.field(
        default_factory=dict
    )


class StatisticsBatch:
    """Collects tensors by row during a backward, and reduces them at its end.

    Only ``PendingStatistics.collect`` waits for an accelerator. Before that, no number is read
    back, and no size depends on a number. Several autograd threads may add rows, one thread for
    each device. A tensor that cannot be read costs only its own row, whatever error it raises.

    Attributes:
        unread: Rows that could not be read, and why.
    """

    def __init__(
        self,
        rows: int,
        sample_budget: int | None = None,
        kept: Collection[int] = (),
        keeps_small: bool = False,
    ) -> None:
        """Begin an empty batch.

        Args:
            rows: How many rows the table has.
            sample_budget: How many elements the histograms of all rows count together. The budget
                is shared evenly, with at least 16 elements for each tensor. ``None``: up to
                ``HISTOGRAM_SAMPLE`` elements of each tensor.
            kept: Rows of tensors that ``add_plain`` and the hooks of ``make_hook`` keep whole, if they
                are small. They do not take large ones.
            keeps_small: Whether ``take_plain`` keeps small tensors whole.
        """
        self._rows = rows
        self._limit = sample_limit(rows, sample_budget)
        self._native = (
            NativeReducer(rows, self._limit, kept, keeps_small) if is_available() else None
        )
        self._alike: dict[tuple[torch.device, torch.dtype], _Alike] = {}
        self._whole: dict[int, torch.Tensor] = {}
        self._ticket = 0
        self.unread = Unread()

    def take_plain(self, row: int, tensor: torch.Tensor) -> bool:
        """Add the tensor of ``row`` if compiled code can reduce it; it runs no function of torch."""
        return self._native is not None and self._native.take(row, tensor)

    def fill(self, rows: Any, piece: int) -> None:
        """Begin a piece of ``rows``, which may add tensors that compiled code can reduce."""
        rows.begin(None if self._native is None else self._native.reducer, piece)

    def add(self, row: int, tensor: torch.Tensor, keep: bool = False) -> None:
        """Add the tensor of ``row``. Call it under ``torch.no_grad()``.

        Args:
            row: A row that is added again replaces the earlier one.
            tensor: Of any type, dense or sparse, on any device. It is read, not kept. Left out if
                it has no memory.
            keep: Whether to return the whole tensor as well.
        """
        if self.unread:
            self.unread.pop(row, None)
        with self.unread.instead_of(row):
            self._add(row, tensor, keep)

    def _add(self, row: int, tensor: torch.Tensor, keep: bool) -> None:
        self._whole.pop(row, None)
        if self._native is not None and self._native.add(row, tensor):
            if keep:
                self._whole[row] = tensor.clone()
            return
        if not has_memory(tensor):
            return
        self._begin_ticket()
        values = computable(stored(tensor))
        if values.numel() <= SMALL:
            values = values.clone()
        self._take(row, values, tensor.numel())
        if keep:
            shared = tensor.layout == torch.strided and values is not tensor
            self._whole[row] = values if shared else tensor.clone()

    @torch.no_grad()
    def add_many(
        self, rows: Sequence[int], tensors: Sequence[torch.Tensor], keep: bool = False
    ) -> None:
        """Add many tensors at once, as ``add`` would.

        They are held and not copied, so nobody may write to them before ``reduce``.
        """
        if keep:
            self._whole.update(
                (r, tensor) for r, tensor in zip(rows, tensors) if has_memory(tensor)
            )
        elif self._whole:
            for row in rows:
                self._whole.pop(row, None)
        others = []
        for place in self.add_plain(rows, tensors):
            with self.unread.instead_of(rows[place]):
                if has_memory(tensors[place]):
                    others.append((rows[place], tensors[place]))
        if not others:
            return
        self._begin_ticket()
        try:
            self._take_many([row for row, _ in others], [tensor for _, tensor in others])
        except Exception:  # one of them failed; if a row has two entries, the later one counts
            for row, tensor in others:
                self.add(row, tensor, keep)

    def add_plain(self, rows: Sequence[int], tensors: Sequence[torch.Tensor]) -> Sequence[int]:
        """Add the tensors that compiled code can reduce. It is fast.

        Returns:
            The places of the other tensors, which must be added in another way.
        """
        return range(len(rows)) if self._native is None else self._native.add_many(rows, tensors)

    def make_hook(
        self, slot_rows: tuple[tuple[int, ...], ...], otherwise: Callable[[Any, Any], None]
    ) -> Callable[[Any], None] | None:
        """Make a prehook of a node that reduces the gradient of each of its slots at once.

        Args:
            slot_rows: The rows that each slot fills; the first one counts.
            otherwise: Called with ``slot_rows`` and the gradients if compiled code cannot reduce
                one of them. It may ``add`` them all.

        Returns:
            The prehook, or None if there is no compiled code, without which it would be slow.
        """
        return None if self._native is None else self._native.hook(slot_rows, otherwise)

    def hook_slots(
        self,
        nodes: Sequence[Any],
        slots: bytes,
        carriers: Sequence[torch.Tensor],
        otherwise: Callable[[Any, Any], None],
    ) -> tuple[list[dict[int, Any]], list[int]] | None:
        """Put hooks on many slots of nodes, as ``HookSlots`` says; None if there is no compiled code."""
        if self._native is None:
            return None
        return self._native.hook_slots(nodes, slots, carriers, otherwise)

    def _begin_ticket(self) -> None:
        self._ticket = self._ticket + 1 if self._native is None else self._native.next_ticket()

    def _take_many(self, rows: Sequence[int], tensors: Sequence[torch.Tensor]) -> None:
        sizes = list(map(torch.Tensor.numel, tensors))
        if are_alike(tensors) and max(sizes) <= MOST and is_stackable(tensors[0]):
            self._hold(rows, tensors, sizes)
            return
        for row, tensor, size in zip(rows, tensors, sizes):
            values = computable(stored(tensor))
            if LEAST <= values.numel() <= MOST and is_stackable(values):
                self._stack(self._of_kind(values), values).add(row, values, self._ticket, size)
            else:
                self._take(row, values, size)

    def _hold(
        self, rows: Sequence[int], tensors: Sequence[torch.Tensor], sizes: Sequence[int]
    ) -> None:
        """Hold tensors of one type on the CPU. It is fast."""
        alike, ticket = self._of_kind(tensors[0]), self._ticket
        small: list[tuple[int, torch.Tensor, int]] = []
        for entry in zip(rows, tensors, sizes):
            row, tensor, size = entry
            if size < LEAST:
                small.append(entry)
            else:
                self._stack(alike, tensor).add(row, tensor, ticket, size)
        if small:
            of_rows, held, numel = zip(*small)
            alike.held.extend(held)
            alike.small.rows.extend(of_rows)
            alike.small.numel.extend(numel)
            alike.small.tickets.extend([ticket] * len(small))

    @torch.no_grad()
    def reduce_held(self) -> None:
        """Reduce the medium tensors that are held on the CPU, and release them."""
        for alike in self._alike.values():
            for stack in alike.stacks.values():
                try:
                    stack.reduce(self._limit)
                except Exception:
                    for row, tensor, size in stack.give_back():
                        with self.unread.instead_of(row):
                            self._take(row, tensor, size)

    @torch.no_grad()
    def reduce(
        self, divide_by: torch.Tensor | None = None, rows: int | None = None
    ) -> PendingStatistics:
        """Start the remaining reductions, and one copy to the host on each device.

        Afterwards the added tensors may be written to, and the batch is empty again.

        Args:
            divide_by: A tensor with one number (a GradScaler's factor), by which every element
                counts as divided. It is copied to the host together with the results.
            rows: How many rows the table gets, if those after them were not used.
        """
        self.reduce_held()
        taken = None if self._native is None else self._native.take_out()
        parts: list[Part] = [] if taken is None else [taken[0]]
        for (device, _), alike in self._alike.items():
            parts += self._parts_of(device, alike)
        blocks = [*([] if taken is None else taken[1]), *self._blocks()]
        self._alike.clear()
        self._whole.clear()
        if divide_by is not None:
            divide_by = real_floats(divide_by.detach().clone())
        count = self._rows if rows is None else rows
        return PendingStatistics(count, parts, blocks, divide_by, self.unread)

    def _parts_of(self, device: torch.device, alike: _Alike) -> list[Part]:
        def held(entries: Entries, tensors: Sequence[torch.Tensor]) -> Part:
            return part_of_held(device, entries, tensors, self._limit)

        parts = one_by_one(held, alike.small, alike.held, self.unread)
        parts += [stack.part() for stack in alike.stacks.values() if stack.entries.rows]
        return parts + one_by_one(part_of_reduced, alike.large, alike.reduced, self.unread)

    def _blocks(self) -> list[WholeBlock]:
        try:
            return whole_blocks(self._whole)
        except Exception:
            blocks = []
            for row, tensor in self._whole.items():
                with self.unread.instead_of(row):
                    blocks += whole_blocks({row: tensor})
            return blocks

    def finish(self) -> tuple[StatisticsTable, dict[int, np.ndarray]]:
        """Reduce all tensors; return the statistics, and the tensors kept whole by row.

        Waits for each device.
        """
        return self.reduce().collect()

    def _take(self, row: int, values: torch.Tensor, size: int) -> None:
        alike = self._of_kind(values)
        if values.numel() <= SMALL:
            entries = alike.small
            alike.held.append(values)
        else:
            entries = alike.large
            alike.reduced.append(reduce_large(values, self._limit))
        entries.add(row, self._ticket, size)

    def _stack(self, alike: _Alike, values: torch.Tensor) -> Stack:
        layout = values.shape, values.stride()
        stack = alike.stacks.get(layout)
        if stack is None:
            stack = alike.stacks[layout] = Stack(values)
        return stack

    def _of_kind(self, values: torch.Tensor) -> _Alike:
        kind = (values.device, values.dtype)
        alike = self._alike.get(kind)
        return self._alike.setdefault(kind, _Alike()) if alike is None else alike
