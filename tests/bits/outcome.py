"""All that one run of a sample leaves, bit by bit, so that two runs can be compared."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree

#: What is compared, in the order in which a difference is told.
PARTS = ("error", "outputs", "gradients", "state", "names", "randomness")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came out of one forward and one backward."""

    error: str  # what raised, or empty
    outputs: Any
    gradients: Any  # of every parameter
    state: Any  # parameters and buffers afterwards
    names: Any  # of the graph's nodes, and how they are wired
    randomness: Any  # the state of all three generators


def differing(found: Outcome, expected: Outcome) -> list[str]:
    """Return the names of the parts that differ."""
    return [name for name in PARTS if getattr(found, name) != getattr(expected, name)]


def bits_of(tree: Any) -> Any:
    """Return something that is equal for equal bits alone; NaN equals NaN of the same bits."""
    leaves, spec = _pytree.tree_flatten(tree)
    return str(spec), [_bits_of_leaf(leaf) for leaf in leaves]


def _bits_of_leaf(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return _bits_of_tensor(leaf)
    if leaf is None or isinstance(leaf, (bool, int, float, complex, str)):
        return repr(leaf)
    return type(leaf).__name__


def _bits_of_tensor(tensor: torch.Tensor) -> Any:
    if torch.nn.parameter.is_lazy(tensor):
        return "not made yet"
    kind = (type(tensor).__name__, tensor.dtype, tuple(tensor.shape), tensor.layout)
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        return kind, [_bits_of_tensor(part) for part in _parts_of_sparse(tensor)]
    if tensor.is_nested:
        return kind, [_bits_of_tensor(part) for part in tensor.unbind()]
    if tensor.is_quantized:
        return kind, str(tensor.qscheme()), _bits_of_tensor(tensor.int_repr())
    strides = tuple(tensor.stride())
    plain = (
        tensor.resolve_conj().resolve_neg().reshape(-1).clone(memory_format=torch.contiguous_format)
    )
    return kind, strides, plain.view(torch.uint8).numpy().tobytes()


def _parts_of_sparse(tensor: torch.Tensor) -> list[torch.Tensor]:
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor.to_dense()]


def names_of(roots: Iterable[torch.Tensor]) -> list[tuple[str, tuple[tuple[int, int], ...]]]:
    """Return name and edges of every node behind ``roots``, in the order of a walk."""
    numbers: dict[Any, int] = {}
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    for node in waiting:
        numbers.setdefault(node, len(numbers))
    order = list(numbers)
    for node in order:
        for following, _ in node.next_functions:
            if following is not None and following not in numbers:
                numbers[following] = len(numbers)
                order.append(following)
    return [
        (node.name(), tuple((numbers.get(n, -1), slot) for n, slot in node.next_functions))
        for node in order
    ]


def randomness() -> Any:
    """Return the state of torch's, Python's and numpy's generator."""
    legacy = np.random.get_state()
    return (
        torch.get_rng_state().numpy().tobytes(),
        random.getstate(),
        (legacy[0], legacy[1].tobytes(), *legacy[2:]),
    )


def seed_all(seed: int) -> None:
    """Set all three generators; ``torch.manual_seed`` also asks for devices, 1 ms."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
