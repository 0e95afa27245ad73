"""Concatenate many small tensors to one flat tensor, and copy such blocks to numpy arrays."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter

import numpy as np
import torch

from tb_gradgraph.summarize.arithmetic.elements import computable, is_readable

#: numpy lacks bfloat16 and torch's float8 types. float16 is widened too, so that readers get one type.
_KEPT = (torch.float32, torch.float64, torch.complex64, torch.complex128)
_LAYOUT, _DTYPE, _IS_CPU, _DEVICE, _SHAPE = map(
    attrgetter, ("layout", "dtype", "is_cpu", "device", "shape")
)
_ALIKE = 16  # with this many tensors per shape, on average, torch.stack saves time


def are_alike(tensors: Collection[torch.Tensor]) -> bool:
    """Return whether all tensors are dense, of one type and on one device. It is fast."""
    return (
        set(map(_LAYOUT, tensors)) == {torch.strided}
        and len(set(map(_DTYPE, tensors))) == 1
        and (all(map(_IS_CPU, tensors)) or len(set(map(_DEVICE, tensors))) == 1)
    )


def flattened(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Concatenate copies of tensors of one type, each in row-major order."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def laid_end_to_end(
    tensors: Sequence[torch.Tensor],
) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
    """Concatenate copies of many small tensors of one type. Equal shapes are stacked if that is faster.

    Returns:
        The flat copy, the order of ``tensors`` in it, and their sizes in that order.
    """
    places: dict[torch.Size, list[int]] = {}
    for place, shape in enumerate(map(_SHAPE, tensors)):
        try:
            places[shape].append(place)
        except KeyError:
            places[shape] = [place]
    sizes = np.array([shape.numel() for shape in places])
    lengths = np.array([len(alike) for alike in places.values()])
    order = np.array([place for alike in places.values() for place in alike])
    if _ALIKE * len(places) > len(tensors):
        flat = flattened([tensors[place] for place in order.tolist()])
    else:
        flat = _stacked(tensors, places, int(sizes @ lengths))
    return flat, order, np.repeat(sizes, lengths)


def _stacked(
    tensors: Sequence[torch.Tensor], places: Mapping[torch.Size, Sequence[int]], total: int
) -> torch.Tensor:
    flat = torch.empty(total, dtype=tensors[0].dtype, device=tensors[0].device)
    rest = flat
    for shape, alike in places.items():
        part, rest = rest.tensor_split((shape.numel() * len(alike),))
        torch.stack([tensors[place] for place in alike], out=part.view(len(alike), *shape))
    return flat


@dataclasses.dataclass(frozen=True)
class WholeBlock:
    """Copies of tensors of one type, concatenated on their device.

    Attributes:
        tensor: All elements, in a type that numpy has.
        rows: Each tensor's row.
        shapes: Each tensor's shape.
    """

    tensor: torch.Tensor
    rows: Sequence[int]
    shapes: Sequence[tuple[int, ...]]

    def split(self, content: np.ndarray) -> dict[int, np.ndarray]:
        """Return each tensor, by its row, as a part of ``content``, which is the block on the host."""
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
    """Copy tensors, given by row, to one block for each device and type. Sparse tensors become dense."""
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
