"""Split a loss into the scalars that were added up to it, and find where their gradients meet."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.torch_internals.engine import input_metadata, node_name, saved_tensors

#: Operations that pass the value of a scalar on.
_SAME = frozenset(
    f"{name}Backward0"
    for name in (
        "ToCopy",
        "Clone",
        "Alias",
        "View",
        "ReshapeAlias",
        "UnsafeView",
        "Squeeze",
        "Unsqueeze",
    )
)

_SUMS = ("AddBackward0", "SubBackward0")

#: An input of a node that takes a gradient: its position, and the node and slot that made it.
_Given = tuple[int, AutogradNode, int]
#: A number that multiplies a term, or divides it.
Factor = tuple["torch.Tensor | float", bool]


@dataclasses.dataclass(frozen=True, slots=True)
class Term:
    """One scalar that is added up to a loss: the node that made it, and the factors before it."""

    node: AutogradNode
    slot: int
    factors: tuple[Factor, ...] = ()


class _Summand(NamedTuple):
    node: AutogradNode
    slot: int
    factors: tuple[Factor, ...]
    is_whole: bool  # nothing was added to it
    is_unit: bool = False  # it was multiplied by a number within a sum


def split_sum(
    root: AutogradNode, slot: int, is_named: Callable[[AutogradNode], bool], most: int
) -> list[Term]:
    """Return the terms of a loss, in the order in which they were added.

    Additions, subtractions, multiplications by numbers and sums of stacked scalars are walked
    through. Within the sum, what has a name of its own and sums that are multiplied by a number are
    split only if all their parts have names. Of more than ``most`` terms, some are returned, but
    more than ``most``.
    """
    return _split(_Summand(root, slot, (), True), is_named, most)


def _split(summand: _Summand, is_named: Callable[[AutogradNode], bool], most: int) -> list[Term]:
    found: list[Term] = []
    pending = [summand]
    while pending and len(found) + len(pending) <= 2 * most:  # a sum of thousands ends early
        one = pending.pop()
        parts = _parts_of(one)
        is_closed = one.is_unit and len(parts) > 1
        if parts and not one.is_whole and (is_closed or is_named(one.node)):
            inner = [term for part in parts for term in _split(part, is_named, most)]
            if not all(is_named(term.node) for term in inner):
                parts = []
        if not parts:
            found.append(Term(one.node, one.slot, one.factors))
        pending += reversed(parts)
    return found + [Term(one.node, one.slot, one.factors) for one in pending]


def _parts_of(one: _Summand) -> list[_Summand]:
    """Return what a scalar is the sum of, itself multiplied by a number; nothing if it is a term."""
    node = one.node
    name = node_name(node)
    if not node.next_functions or not _is_scalar(node, one.slot):
        return []
    given = [(at, source, slot) for at, (source, slot) in enumerate(node.next_functions) if source]
    if name in _SUMS:
        return _added(one, given, -1.0 if name == "SubBackward0" else 1.0)
    if name in _SAME and len(given) == 1:
        return [_Summand(*given[0][1:], one.factors, one.is_whole, one.is_unit)]
    if name == "NegBackward0":
        return [_multiplied(one, given[0], (-1.0, False))]
    if name in ("MulBackward0", "DivBackward0") and len(given) == 1:
        factor, divides = _factor_of(node, given[0][0]), name == "DivBackward0"
        if factor is None or (divides and given[0][0]):
            return []
        return [_multiplied(one, given[0], (factor, divides))]
    return _stacked(one, name)


def _added(one: _Summand, given: Sequence[_Given], sign: float) -> list[_Summand]:
    alpha = sign * float(getattr(one.node, "_saved_alpha", 1))
    whole = one.is_whole and len(given) == 1
    return [
        _Summand(source, slot, one.factors + ((alpha, False),) * (at > 0 and alpha != 1), whole)
        for at, source, slot in given
    ]


def _multiplied(one: _Summand, given: _Given, factor: Factor) -> _Summand:
    _, source, slot = given
    return _Summand(source, slot, (*one.factors, factor), one.is_whole, not one.is_whole)


def _factor_of(node: AutogradNode, place: int) -> torch.Tensor | None:
    """Return the number with which the input at ``place`` was multiplied or by which it was divided."""
    wanted = "self" if place else "other"
    found = [tensor for name, tensor in saved_tensors(node, (wanted,)) if name == wanted]
    return found[0] if len(found) == 1 and found[0].numel() == 1 else None


def _stacked(one: _Summand, name: str) -> list[_Summand]:
    """Return the scalars of ``torch.stack([..]).sum()`` or ``.mean()``."""
    if name not in ("SumBackward0", "MeanBackward0"):
        return []
    ((stack, _),) = one.node.next_functions
    if stack is None or node_name(stack) != "StackBackward0":
        return []
    shape = input_metadata(stack)[0][0]
    inputs = stack.next_functions
    if len(shape) != 1 or len(inputs) != shape[0]:
        return []
    mean: tuple[Factor, ...] = ((float(len(inputs)), True),) if name == "MeanBackward0" else ()
    factors = one.factors + mean
    return [_Summand(source, slot, factors, False) for source, slot in inputs if source is not None]


def _is_scalar(node: AutogradNode, slot: int) -> bool:
    shapes = input_metadata(node)
    return slot < len(shapes) and all(size == 1 for size in shapes[slot][0])


class Branch(NamedTuple):
    """An edge into a node where terms meet: by the places of node and user, and the user's input."""

    at: int
    user: int
    position: int
    term: int
    slot: int


def find_meeting(
    order: Sequence[AutogradNode], terms: Sequence[AutogradNode]
) -> tuple[Branch, ...]:
    """Return the edges into the nodes in which gradients of several terms meet first; none if there are none.

    Each edge of such a node belongs to exactly one term. Terms of one forward often meet in one node;
    terms of several forwards meet in each parameter. If nodes differ in how many terms they join,
    those with the most count. Takes about 2 us per node and term.

    Args:
        order: What ``reach`` returned.
        terms: The nodes of the terms.
    """
    places = {node: place for place, node in enumerate(order)}
    of = _terms_of(places, terms)
    edges: dict[int, list[Branch]] = {}
    unclear: set[int] = set()
    for user, mask in of.items():
        for position, (source, slot) in enumerate(order[user].next_functions):
            place = places.get(source) if source is not None else None
            if place is None or _is_single(of.get(place, 0)):
                continue
            if _is_single(mask):
                branch = Branch(place, user, position, mask.bit_length() - 1, slot)
                edges.setdefault(place, []).append(branch)
            else:
                unclear.add(place)
    clear = {at: found for at, found in sorted(edges.items()) if at not in unclear}
    most = max((len({one.term for one in found}) for found in clear.values()), default=0)
    joining = (found for found in clear.values() if len({one.term for one in found}) == most)
    return tuple(branch for found in joining for branch in found) if most > 1 else ()


def _terms_of(places: Mapping[AutogradNode, int], terms: Sequence[AutogradNode]) -> dict[int, int]:
    """Return for each place the terms, as bits, whose gradient reaches it; only where one does."""
    of: dict[int, int] = {}
    for number, term in enumerate(terms):
        bit, pending = 1 << number, [term]
        while pending:
            node = pending.pop()
            place = places.get(node)
            if place is None or of.get(place, 0) & bit:
                continue
            of[place] = of.get(place, 0) | bit
            pending += [source for source, _ in node.next_functions if source is not None]
    return of


def _is_single(mask: int) -> bool:
    return mask & (mask - 1) == 0
