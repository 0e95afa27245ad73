"""Say what an operation makes of a factor on one of its inputs: it passes, is removed, or has an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tb_gradgraph.diagnose.structure.axes import Pattern, broadcast
from tb_gradgraph.diagnose.structure.shift import (
    NORMS,
    VIEWS,
    Patterns,
    Use,
    is_removed,
    passed_on,
)

#: Operations whose result has the same factor as their input: all of it, or what is greater than
#: zero, as long as no other limit is reached.
_ALONG = frozenset(
    ("relu", "leakyrelu", "hardtanh", "prelu", "rrelu", "threshold", "alias", "clone", "tocopy", "neg")
    + ("contiguous", "expand", "nativedropout")
)  # fmt: skip


def begins(name: str, use: Use) -> bool:
    """Return whether a parameter is a factor of what an operation gives.

    The bias that a normalization adds has to be zero, as it is at the start; otherwise it has a
    gradient.
    """
    return name == "mul" or (name in NORMS and use.at == 1)


def first_pattern(name: str, pattern: Pattern, use: Use) -> Pattern:
    """Return along which axes the factor is constant that a parameter begins."""
    if name in NORMS and name != "nativelayernorm" and len(use.to) > 1:
        return tuple(axis != 1 or size == 1 for axis, size in enumerate(use.to))
    return broadcast(pattern, use.shape, use.to)


def is_factor_removed(name: str, pattern: Pattern, use: Use) -> bool:
    """Return whether an operation divides by the factor again: a norm by its standard deviation."""
    return name in NORMS and is_removed(name, pattern, use)


def factor_passed_on(name: str, pattern: Pattern, use: Use) -> Patterns:
    """Return along which axes the factor of a result is constant; none: it has an effect."""
    if name in _ALONG or name == "mul":
        return {broadcast(pattern, use.shape, use.to)}
    if name in VIEWS:
        return passed_on(name, pattern, use)
    rule = _RULES.get(name)
    return set() if rule is None else rule(pattern, use)


def _convolved(pattern: Pattern, use: Use) -> Patterns:
    weight = use.others.get(1, ())
    if use.at != 0 or 2 in use.others or len(weight) != len(use.to) or not all(pattern[2:]):
        return set()
    space = (True,) * (len(use.to) - 2)
    if pattern[1]:
        return {(pattern[0], True, *space)}
    is_depthwise = weight[1] == 1 and use.shape[1] == use.to[1]
    return {(pattern[0], False, *space)} if is_depthwise else set()


def _multiplied(pattern: Pattern, use: Use) -> Patterns:
    """Return the pattern after a product of matrices, of which each row has its own factor."""
    return {(*pattern[:-1], True)} if use.at == 0 and pattern and pattern[-1] else set()


_RULES: Mapping[str, Callable[[Pattern, Use], Patterns]] = {
    **dict.fromkeys(("convolution", "mkldnnconvolution", "cudnnconvolution"), _convolved),
    **dict.fromkeys(("mm", "bmm", "matmul"), _multiplied),
}
