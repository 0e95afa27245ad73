"""Follow through views and broadcasts along which axes of a tensor a shift is constant."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

Shape = Sequence[int]
#: Whether a shift is constant, for each axis of a tensor. Along an axis of length 1 it always is.
Pattern = tuple[bool, ...]

#: Of tensors with more axes, no permutation is searched for.
_MOST_AXES = 6


def pattern_of(shape: Shape) -> Pattern:
    """Return the pattern of a shift of which nothing is known."""
    return tuple(size == 1 for size in shape)


def broadcast(pattern: Pattern, shape: Shape, to: Shape) -> Pattern:
    """Return the pattern after a tensor was broadcast: it is constant along the axes that were added."""
    missing = len(to) - len(shape)
    kept = (one or size == 1 for one, size in zip(pattern, shape))
    return (True,) * missing + tuple(kept)


def both(first: Pattern, second: Pattern) -> Pattern:
    """Return the pattern of a product, which is constant where both factors are."""
    return tuple(one and other for one, other in zip(first, second))


def view(pattern: Pattern, shape: Shape, to: Shape) -> Pattern | None:
    """Return the pattern after a view that splits and merges axes; None if the sizes do not match."""
    made: list[bool] = []
    at, size = 0, 1  # what was read of `shape`, and the product of the present group
    group: list[bool] = []
    outer, new = 1, list[int]()
    for wanted in to:
        new.append(wanted)
        outer *= wanted
        while size < outer and at < len(shape):
            size *= shape[at]
            group.append(pattern[at] or shape[at] == 1)
            at += 1
        if size == outer:
            made += _regroup(group, new)
            group, new, size, outer = [], [], 1, 1
    if new or any(length != 1 for length in shape[at:]):
        return None
    return tuple(made)


def _regroup(group: Sequence[bool], new: Sequence[int]) -> Iterator[bool]:
    is_constant = all(group)
    for size in new:
        yield is_constant or size == 1


def swaps(pattern: Pattern, shape: Shape, to: Shape) -> set[Pattern]:
    """Return the patterns after two axes were swapped: several if sizes do not tell which."""
    count = len(shape)
    pairs = itertools.combinations(range(count), 2)
    orders = ([_swapped(at, *pair) for at in range(count)] for pair in pairs)
    return _ordered(pattern, shape, to, orders)


def _swapped(at: int, one: int, other: int) -> int:
    return {one: other, other: one}.get(at, at)


def permutations(pattern: Pattern, shape: Shape, to: Shape) -> set[Pattern]:
    """Return the patterns after axes were permuted: several if sizes do not tell how."""
    if len(shape) > _MOST_AXES:
        return set()
    return _ordered(pattern, shape, to, itertools.permutations(range(len(shape))))


def _ordered(
    pattern: Pattern, shape: Shape, to: Shape, orders: Iterator[Sequence[int]]
) -> set[Pattern]:
    return {
        tuple(pattern[at] for at in order)
        for order in orders
        if [shape[at] for at in order] == list(to)
    }


def drops(pattern: Pattern, shape: Shape, to: Shape) -> set[Pattern]:
    """Return the patterns after axes were left out: several if sizes do not tell which."""
    return {
        tuple(pattern[at] for at in kept)
        for kept in itertools.combinations(range(len(shape)), len(to))
        if [shape[at] for at in kept] == list(to)
    }


def slices(pattern: Pattern, shape: Shape, to: Shape) -> set[Pattern]:
    """Return the pattern after a part of each axis was taken."""
    if len(shape) != len(to):
        return set()
    return {tuple(one or size == 1 for one, size in zip(pattern, to))}


def grows(pattern: Pattern, shape: Shape, to: Shape) -> set[Pattern]:
    """Return the pattern after other elements were put beside the tensor, along some axes."""
    if len(shape) != len(to):
        return set()
    return {tuple(one and old == new for one, old, new in zip(pattern, shape, to))}
