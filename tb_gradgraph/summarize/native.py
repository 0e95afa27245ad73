"""Reduce tensors on the CPU in one pass by compiled code, if it was built.

It only saves time: torch's kernels reduce all tensors that it does not take.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch

from tb_gradgraph.statistics import HISTOGRAM_BINS, WHOLE_LIMIT
from tb_gradgraph.summarize.arithmetic.end_to_end import WholeBlock
from tb_gradgraph.summarize.arithmetic.moments import COLUMNS
from tb_gradgraph.summarize.pending import Part

try:
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise ImportError("importing it would turn the global lock on again, for all threads")
    import tb_gradgraph.summarize._native as _native
except ImportError:  # the package was built without a compiler, or Python has no global lock
    _native = None

compiled: Any = _native
#: Set to 0 to switch off the compiled code.
SWITCH = "TB_GRADGRAPH_NATIVE"

#: The record of one tensor; ``Entry`` of csrc/module.c has the same fields.
DTYPE = np.dtype(
    [
        ("row", np.int64),
        ("ticket", np.int64),
        ("numel", np.int64),
        ("sampled", np.int64),
        ("ndim", np.int64),
        ("moments", np.float64, len(COLUMNS)),
    ]
)

_ALL = 2**62
_KEPT_IF_SMALL = 2  # as csrc/reducer.c has it
#: From this size on, several threads of torch reduce a tensor faster than one thread of ours.
_MOST_OF_ONE_THREAD = 1_048_576


def is_built() -> bool:
    """Return whether the package was built with its compiled code."""
    return _native is not None


def is_available() -> bool:
    """Return whether tensors are reduced by compiled code."""
    return is_built() and os.environ.get(SWITCH, "1") != "0"


def native_grad_states(tensors: Sequence[torch.Tensor]) -> list[tuple[int, int] | None] | None:
    """Return identity and version of each ``.grad``, None where there is none; None without compiled code.

    Raises an error if one has no version.
    """
    find = getattr(_native, "grad_states", None) if is_available() else None
    return None if find is None else find(list(tensors))


class NativeCounts:
    """What only values have, by compiled code; None for a tensor that it cannot read."""

    def dead_units(self, values: torch.Tensor, dim: int) -> int | None:
        """Return how many units along ``dim`` are zero."""
        return _native.dead_units(values, dim)

    def near_ends(self, values: torch.Tensor, low: float, high: float) -> int | None:
        """Return how many elements are at most ``low`` or at least ``high``."""
        return _native.near_ends(values, low, high)

    def mean_entropy(self, values: torch.Tensor, step: int) -> float | None:
        """Return the mean entropy of every ``step``-th distribution along the last dimension."""
        return _native.mean_entropy(values, step)


class NativeReducer:
    """Reduces each tensor of a batch at once; none is held."""

    def __init__(
        self, rows: int, sample_limit: int, kept: Collection[int] = (), keeps_small: bool = False
    ) -> None:
        """Begin.

        Args:
            rows: How many rows the table has.
            sample_limit: How many elements of a tensor its histogram samples.
            kept: Rows that ``add_many`` and hooks keep whole. They do not take a tensor that is not
                small, or whose elements are not in row-major order.
            keeps_small: Whether ``take`` keeps the small tensors of all rows instead.
        """
        mask = np.zeros(rows, np.uint8)
        mask[np.fromiter(kept, np.int64, len(kept))] = 1
        whole = bytes([_KEPT_IF_SMALL]) * rows if keeps_small else mask.tobytes()
        self.reducer = _native.Reducer(rows, sample_limit, _most(), whole, WHOLE_LIMIT)
        #: The same as ``add``, but keeps whole what the rows say.
        self.take: Callable[[int, torch.Tensor], bool] = self.reducer.take
        #: ``add(row, tensor)`` returns whether it took the tensor, which it does not keep whole.
        self.add: Callable[[int, torch.Tensor], bool] = self.reducer.add
        #: Returns a number greater than those of all tensors so far.
        self.next_ticket: Callable[[], int] = self.reducer.next_ticket

    def add_many(self, rows: Sequence[int], tensors: Sequence[torch.Tensor]) -> list[int]:
        """Reduce many tensors; return the places of those that were not taken."""
        return self.reducer.add_many(list(rows), list(tensors))

    def hook(
        self, slot_rows: tuple[tuple[int, ...], ...], otherwise: Callable[[Any, Any], None]
    ) -> Callable[[Any], None]:
        """Make a prehook of a node that reduces the gradient of each slot.

        Args:
            slot_rows: The rows that each slot fills; the first one counts.
            otherwise: Called with ``slot_rows`` and the gradients if one of them is not taken.
        """
        return _native.hook(self.reducer, slot_rows, otherwise)

    def hook_slots(
        self,
        nodes: Sequence[Any],
        slots: bytes,
        carriers: Sequence[torch.Tensor],
        otherwise: Callable[[Any, Any], None],
    ) -> tuple[list[dict[int, Any]], list[int]] | None:
        """Put a hook on each of many slots of nodes, which reduces its gradient at once.

        Args:
            nodes: Nodes of autograd.
            slots: The place of a node, the number of a slot of it, and the row to fill (int64 each).
            carriers: Tensors with these numbers, whose tables of hooks the nodes are given.
            otherwise: As for ``hook``.

        Returns:
            The tables, which hold one hook each, and the index of each slot whose node refused its
            hook. None if the compiled code is older than this file.
        """
        put = getattr(_native, "hook_slots", None)
        if put is None:
            return None
        return put(self.reducer, list(nodes), slots, tuple(carriers), otherwise)

    def take_out(self) -> tuple[Part, list[WholeBlock]] | None:
        """Return and remove all results, and the tensors kept whole; None if there are none."""
        content, samples, shapes = self.reducer.take_out()
        if not content:
            return None
        table = np.frombuffer(content, DTYPE)

        def read(_: object, divisor: float | None) -> tuple[np.ndarray, np.ndarray]:
            sizes = table["sampled"].tobytes()
            counted = _native.histograms(samples, sizes, 1.0 if divisor is None else divisor)
            histograms = np.frombuffer(counted, np.uint16).reshape(-1, HISTOGRAM_BINS)
            return table["moments"], histograms

        part = Part(np.stack([table["row"], table["ticket"], table["numel"]]), [], read)
        return part, _whole_blocks(table, samples, shapes)


def _whole_blocks(table: np.ndarray, samples: bytes, shapes: bytes) -> list[WholeBlock]:
    """Find the tensors that were kept whole: their samples are all of their elements."""
    whole = table["ndim"] >= 0
    if not whole.any():
        return []
    elements = np.frombuffer(samples, np.float32)[np.repeat(whole, table["sampled"])]
    sizes = iter(np.frombuffer(shapes, np.int64).tolist())
    found = [tuple(itertools.islice(sizes, ndim)) for ndim in table["ndim"][whole].tolist()]
    return [WholeBlock(torch.from_numpy(elements), table["row"][whole].tolist(), found)]


class NativeSnapshot:
    """Norms of tensors, and copies that show later how far the tensors moved.

    The memory of the copies is kept for the next ``read``, because memory that is new to the
    process takes three times as long to fill.
    """

    def __init__(self) -> None:
        self._snapshot = _native.Snapshot()

    def read(
        self, tensors: Sequence[torch.Tensor], exact: int, sample: int, room: int = 0
    ) -> list[int]:
        """Read tensors; return the places of those that cannot be read.

        Args:
            tensors: They are held until ``compare`` has read them again.
            exact: Of a tensor with more elements, a sample is kept instead of a copy.
            sample: The minimum number of elements of a sample.
            room: How many bytes the copies will probably take.
        """
        return self._snapshot.read(list(tensors), exact, sample, _most(), room)

    def compare(self) -> np.ndarray:
        """Return each tensor's old norm, and the norm of its change since; NaN if it was not read.

        The tensors are no longer held afterwards.
        """
        return np.frombuffer(self._snapshot.compare(), np.float64).reshape(-1, 2)


def native_norms(tensors: Sequence[torch.Tensor]) -> tuple[np.ndarray, list[int]]:
    """Return the l2 norm of each tensor, and the places of those that compiled code did not take."""
    if not tensors or not is_available():
        return np.full(len(tensors), np.nan), list(range(len(tensors)))
    snapshot = NativeSnapshot()
    left = snapshot.read(tensors, 1, 1)  # it copies no more than an element or two of each
    return snapshot.compare()[:, 0].copy(), left


def _most() -> int:
    return _ALL if torch.get_num_threads() == 1 else _MOST_OF_ONE_THREAD


def read_tensors(asks: bool = False) -> None:
    """Let compiled code find tensors by torch's exchange table, if there is one, unless ``asks``.

    Otherwise each tensor is asked for its address, sizes and type (about 2 us more).
    """
    kinds = (torch.strided, torch.float32, torch.float16, torch.bfloat16)
    _native.use(torch.Tensor, torch.nn.Parameter, kinds, asks)


if _native is not None:
    read_tensors()
