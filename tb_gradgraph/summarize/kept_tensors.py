"""Tensors kept whole, as numpy arrays of the same or a wider type."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from operator import attrgetter

import numpy as np
import torch

from tb_gradgraph.summarize.arithmetic.elements import (
    are_alike,
    computable,
    is_readable,
    laid_end_to_end,
)

#: numpy lacks bfloat16 and torch's float8 kinds; float16 is treated alike, so that readers see one.
_KEPT = (torch.float32, torch.float64, torch.complex64, torch.complex128)
_SHAPE = attrgetter("shape")


@dataclasses.dataclass(frozen=True)
class WholeBlock:
    """Tensors of one type, copied end to end on their device.

    Attributes:
        tensor: All elements, of a type that numpy has.
        rows: Each tensor's row.
        shapes: Each tensor's shape.
    """

    tensor: torch.Tensor
    rows: Sequence[int]
    shapes: Sequence[tuple[int, ...]]

    def split(self, content: np.ndarray) -> dict[int, np.ndarray]:
        """Return each tensor by its row as a part of ``content``, the block on the host."""
        result: dict[int, np.ndarray] = {}
        rows = iter(self.rows)
        start = 0
        for shape, alike in itertools.groupby(self.shapes):
            count = len(list(alike))
            end = start + count * math.prod(shape)
            part = content[start:end].reshape(count, *shape)
            result.update((next(rows), part[place, ...]) for place in range(count))
            start = end
        return result


def whole_blocks(tensors: Mapping[int, torch.Tensor]) -> list[WholeBlock]:
    """Copy tensors, given by row, to one block for each device and type. Sparse ones are made dense."""
    if are_alike(tensors.values()) and next(iter(tensors.values())).dtype in _KEPT:
        return [_block_of(tensors)]
    alike: dict[tuple[torch.device, torch.dtype], dict[int, torch.Tensor]] = {}
    for row, tensor in tensors.items():
        dense = computable(tensor if tensor.layout == torch.strided else tensor.to_dense())
        alike.setdefault((dense.device, dense.dtype), {})[row] = dense
    return [_block_of(group) for group in alike.values()]


def _block_of(tensors: Mapping[int, torch.Tensor]) -> WholeBlock:
    flat, places, _ = laid_end_to_end(list(tensors.values()))
    order = places.tolist()
    rows, shapes = list(tensors), list(map(_SHAPE, tensors.values()))
    return WholeBlock(_widened(flat), [rows[i] for i in order], [shapes[i] for i in order])


def whole_arrays(tensors: Mapping[int, torch.Tensor]) -> dict[int, np.ndarray]:
    """Copy small tensors to the host, with one copy for each device and type.

    Waits for the devices. 16-bit floats are widened to float32, integers to float64, sparse
    tensors made dense. The arrays of one type are parts of one block of memory. Tensors of a
    type that torch cannot read are left out.
    """
    result: dict[int, np.ndarray] = {}
    tensors = {row: tensor for row, tensor in tensors.items() if is_readable(tensor.dtype)}
    with torch.no_grad():
        for block in whole_blocks(tensors):
            result.update(block.split(block.tensor.cpu().numpy()))
    return {row: result[row] for row in tensors}


def _widened(flat: torch.Tensor) -> torch.Tensor:
    if flat.dtype not in _KEPT:
        flat = flat.to(_wider(flat.dtype))
    return flat.detach().resolve_conj().resolve_neg()


def _wider(dtype: torch.dtype) -> torch.dtype:
    if dtype.is_complex:
        return torch.complex64
    return torch.float32 if dtype.is_floating_point else torch.float64
