"""Say what an operation makes of a shift of one of its inputs: it passes, is removed, or has an effect."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence

from tb_gradgraph.diagnose.structure.axes import (
    Pattern,
    Shape,
    both,
    broadcast,
    drops,
    grows,
    pattern_of,
    permutations,
    slices,
    swaps,
    view,
)

_SUFFIX = re.compile(r"(Backward)?\d*$")


@dataclasses.dataclass(frozen=True)
class Use:
    """One use of a shifted tensor.

    Attributes:
        at: Which input of the operation it is.
        shape: Its shape.
        to: The shape of the output through which it goes on.
        others: The shapes of the operation's inputs, by position, as far as they are nodes.
        further: The shapes of the operation's further outputs.
    """

    at: int
    shape: Shape
    to: Shape
    others: Mapping[int, Shape]
    further: Sequence[Shape]


#: The patterns with which a shift goes on; none: it is not known to be removed.
Patterns = set[Pattern]


def short_name(operation: str) -> str:
    """Return the name of an operation in small letters: "NativeLayerNormBackward0" is "nativelayernorm"."""
    return _SUFFIX.sub("", operation).replace("_", "").lower()


def is_removed(name: str, pattern: Pattern, use: Use) -> bool:
    """Return whether an operation subtracts the shift again.

    The axes over which a softmax or a variance runs are not known. If any axis but the first one
    can be it, it is; the gradient has to agree anyway.
    """
    rule = _REMOVING.get(name)
    return rule is not None and rule(pattern, use)


def passed_on(name: str, pattern: Pattern, use: Use) -> Patterns:
    """Return the patterns of what an operation makes of a shift, if it is linear in it."""
    rule = _PASSING.get(name)
    return set() if rule is None else rule(pattern, use)


def _by_softmax(pattern: Pattern, use: Use) -> bool:
    if use.at != 0 or not pattern:
        return False
    inner = range(len(pattern) - 1 if len(pattern) < 3 else 1, len(pattern))
    return any(pattern[at] and use.shape[at] > 1 for at in inner)


def _by_layer_norm(pattern: Pattern, use: Use) -> bool:
    return use.at == 0 and bool(pattern) and pattern[-1]


def _by_batch_norm(pattern: Pattern, use: Use) -> bool:
    return use.at == 0 and all(one for axis, one in enumerate(pattern) if axis != 1)


def _by_group_norm(pattern: Pattern, use: Use) -> bool:
    groups = use.further[0][-1] if use.further and use.further[0] else 0
    is_alone = len(use.shape) > 1 and use.shape[1] == groups
    return use.at == 0 and all(pattern[2:]) and (is_alone or all(pattern[1:2]))


def _by_attention(pattern: Pattern, use: Use) -> bool:
    """Return whether a key is shifted in the same way at every position."""
    return use.at == 1 and len(pattern) > 1 and pattern[-2]


def _by_variance(pattern: Pattern, use: Use) -> bool:
    kept = drops(pattern_of(use.shape), use.shape, use.to) if len(use.to) < len(use.shape) else ()
    if kept:  # some choice of the axes that were reduced
        return any(pattern[1:])
    return all(one or old == new for one, old, new in zip(pattern, use.shape, use.to))


def _same(pattern: Pattern, use: Use) -> Patterns:
    return {pattern} if list(use.shape) == list(use.to) else set()


def _added(pattern: Pattern, use: Use) -> Patterns:
    return {broadcast(pattern, use.shape, use.to)}


def _multiplied(pattern: Pattern, use: Use) -> Patterns:
    made = broadcast(pattern, use.shape, use.to)
    for at, other in use.others.items():
        if at != use.at:
            made = both(made, broadcast(pattern_of(other), other, use.to))
    return {made}


def _divided(pattern: Pattern, use: Use) -> Patterns:
    return _multiplied(pattern, use) if use.at == 0 else set()


def _viewed(pattern: Pattern, use: Use) -> Patterns:
    made = view(pattern, use.shape, use.to)
    return set() if made is None else {made}


def _of_axes(
    rule: Callable[[Pattern, Shape, Shape], set[Pattern]],
) -> Callable[[Pattern, Use], Patterns]:
    return lambda pattern, use: rule(pattern, use.shape, use.to)


def _reduced(pattern: Pattern, use: Use) -> Patterns:
    if len(use.to) == len(use.shape):
        return slices(pattern, use.shape, use.to)
    return drops(pattern, use.shape, use.to)


def _multiplied_as_matrix(first: int) -> Callable[[Pattern, Use], Patterns]:
    """Return the rule of a product of matrices, whose left factor is the input ``first``."""

    def rule(pattern: Pattern, use: Use) -> Patterns:
        if use.at < first:
            return _added(pattern, use)
        other = use.others.get(2 * first + 1 - use.at, ())
        if len(pattern) < 2 or len(other) < 2:
            return set()
        batch = both(pattern[:-2], pattern_of(other)[:-2])
        if len(batch) != len(use.to) - 2:
            return set()
        if use.at == first:
            return {(*batch, pattern[-2], other[-1] == 1)}
        return {(*batch, other[-2] == 1, pattern[-1])}

    return rule


def _of_linear(pattern: Pattern, use: Use) -> Patterns:
    if use.at == 2:
        return _added(pattern, use)
    return {(*pattern[:-1], use.to[-1] == 1)} if use.at == 0 and pattern else set()


def _of_convolution(pattern: Pattern, use: Use) -> Patterns:
    if use.at == 2:  # a bias of each channel
        return {tuple(axis != 1 or size == 1 for axis, size in enumerate(use.to))}
    weight = use.others.get(1, ())
    if use.at != 0 or len(weight) != len(use.to) or len(weight) != len(use.shape):
        return set()
    space = (
        one and _is_without_padding(*sizes)
        for one, *sizes in zip(pattern[2:], use.shape[2:], use.to[2:], weight[2:])
    )
    return {(pattern[0], use.to[1] == 1, *space)}


def _of_norm(pattern: Pattern, use: Use) -> Patterns:
    """Return the pattern of a bias that a normalization adds to each channel."""
    return _of_convolution(pattern, use) if use.at == 2 else set()


def _of_layer_norm(pattern: Pattern, use: Use) -> Patterns:
    return _added(pattern, use) if use.at == 2 else set()


def _is_without_padding(old: int, new: int, kernel: int) -> bool:
    """Return whether no element beyond the edge can have been used. There the shift is missing."""
    return kernel == 1 or new == old - kernel + 1 or new * kernel <= old


_Removing = Callable[[Pattern, Use], bool]
_BATCH_NORMS = ("nativebatchnorm", "batchnorm", "cudnnbatchnorm", "miopenbatchnorm") + (
    "syncbatchnorm",
)
_REMOVING: Mapping[str, _Removing] = {
    **dict.fromkeys(("softmax", "safesoftmax", "logsoftmax", "maskedsoftmax"), _by_softmax),
    **dict.fromkeys(("nativelayernorm", "layernorm"), _by_layer_norm),
    **dict.fromkeys(("nativegroupnorm", "groupnorm"), _by_group_norm),
    **dict.fromkeys(("var", "std", "varmean", "stdmean"), _by_variance),
    **dict.fromkeys(_BATCH_NORMS, _by_batch_norm),
    **dict.fromkeys(
        ("scaleddotproductflashattentionforcpu", "scaleddotproductflashattention")
        + ("scaleddotproductefficientattention", "scaleddotproductcudnnattention")
        + ("scaleddotproductattention", "scaleddotproductfusedattentionoverrideable"),
        _by_attention,
    ),
}
#: Normalizations that divide by a standard deviation.
NORMS = frozenset(name for name in _REMOVING if "norm" in name)

#: Normalizations, of which each of the outputs is zero on average.
CENTERING = NORMS | {"softmax", "safesoftmax"}

_Passing = Callable[[Pattern, Use], Patterns]
_PASSING: Mapping[str, _Passing] = {
    **dict.fromkeys(("alias", "clone", "contiguous", "tocopy", "neg", "maskedfill"), _same),
    **dict.fromkeys(("add", "sub", "rsub", "where", "expand"), _added),
    "mul": _multiplied,
    "div": _divided,
    **dict.fromkeys(
        ("view", "unsafeview", "reshapealias", "reshape", "flatten", "unflatten"), _viewed
    ),
    **dict.fromkeys(("unsqueeze", "squeeze"), _viewed),
    **dict.fromkeys(("transpose", "t", "swapaxes", "mt"), _of_axes(swaps)),
    **dict.fromkeys(("permute", "movedim"), _of_axes(permutations)),
    **dict.fromkeys(("select", "unbind"), _of_axes(drops)),
    **dict.fromkeys(
        ("split", "splitwithsizes", "slice", "narrow", "chunk", "avgpool2d", "avgpool1d")
        + ("adaptiveavgpool2d", "mkldnnadaptiveavgpool2d", "maxpool2dwithindices"),
        _of_axes(slices),
    ),
    **dict.fromkeys(("cat", "constantpadnd"), _of_axes(grows)),
    **dict.fromkeys(("mean", "sum"), _reduced),
    **dict.fromkeys(("mm", "bmm", "matmul"), _multiplied_as_matrix(0)),
    **dict.fromkeys(("addmm", "baddbmm"), _multiplied_as_matrix(1)),
    "linear": _of_linear,
    **dict.fromkeys((*_BATCH_NORMS, "nativegroupnorm", "groupnorm"), _of_norm),
    **dict.fromkeys(("nativelayernorm", "layernorm"), _of_layer_norm),
    **dict.fromkeys(("convolution", "mkldnnconvolution", "cudnnconvolution"), _of_convolution),
}

#: Operations that move elements, or take some of them.
VIEWS = frozenset(
    (
        "view",
        "unsafeview",
        "reshapealias",
        "reshape",
        "flatten",
        "unflatten",
        "unsqueeze",
        "squeeze",
    )
    + ("transpose", "t", "swapaxes", "mt", "permute", "movedim", "select", "unbind", "split")
    + ("splitwithsizes", "slice", "narrow", "chunk", "avgpool2d", "avgpool1d", "adaptiveavgpool2d")
    + ("maxpool2dwithindices", "mean", "sum")
)
