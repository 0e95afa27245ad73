"""Judge which of several operations made NaN or infinity, if only their common result was read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tb_gradgraph.diagnose.forward.known_values import Value
from tb_gradgraph.diagnose.forward.value_flow import (
    MASK,
    MASKING,
    UNREAD,
    ValueFlow,
    is_given,
    plain_name,
)
from tb_gradgraph.graph import Graph

#: From this on, an operation is named.
NAMED = 0.5
_CERTAIN, _LIKELY, _POSSIBLE, _HARDLY = 2.0, 1.0, 0.6, 0.2

#: The greatest element of each type.
GREATEST = {
    "float16": 65504.0,
    "float64": 1.7976931348623157e308,
    "complex128": 1.7976931348623157e308,
}
_GREATEST_OTHER = 3.4e38

_Judge = Callable[[Value], bool]
#: Operations of one tensor, and whether its elements are outside of what they can take.
_OUTSIDE: Mapping[str, _Judge] = {
    **dict.fromkeys(("log", "log2", "log10", "rsqrt"), lambda value: value.low <= 0),
    **dict.fromkeys(("log1p", "atanh"), lambda value: value.low <= -1),
    "sqrt": lambda value: value.low < 0,
    "reciprocal": lambda value: value.zeros > 0,
    **dict.fromkeys(("acos", "asin", "erfinv"), lambda value: value.greatest > 1),
    "acosh": lambda value: value.low < 1,
    "logit": lambda value: value.low <= 0 or value.high >= 1,
}
_EXPONENTIAL = frozenset(["exp", "expm1", "exp2", "sinh", "cosh"])
#: Operations whose results are never negative, so that a root of them is a number.
_NOT_NEGATIVE = frozenset(
    ("exp", "relu", "abs", "softmax", "sigmoid", "softplus", "var", "std", "square", "pow")
    + ("clamp", "clampmin", "linalgvectornorm", "norm")
)
_PASSING = frozenset(
    ("mean", "sum", "view", "reshape", "unsqueeze", "squeeze", "expand", "clone", "tocopy")
)
_SPREADS = frozenset(("std", "var", "stdmean", "varmean"))
_SOME = frozenset(("pow", "xlogy", "logsumexp", "prod", "cumprod", "lgamma", "maskedfill"))
#: Its loss is infinite where a target is longer than its input, whatever the input holds.
CTC_LOSS = "ctcloss"
_GROWING = frozenset(
    ("addmm", "mm", "bmm", "baddbmm", "mul", "convolution", "mkldnnconvolution", "linear")
    + ("mseloss", "sum", "add", "pow", "square", "cumsum")
)


def is_normalizing(name: str) -> bool:
    """Return whether an operation divides by a sum of exponentials, as softmax and attention do."""
    return "softmax" in name or "attention" in name or name == "logsumexp"


def judge(graph: Graph, flow: ValueFlow, values: Mapping[int, Value], index: int) -> float:
    """Return how likely an operation made NaN or infinity of finite values; at least 2: surely."""
    node = graph.nodes[index]
    name, rows = plain_name(node), flow.sources[index]
    known = [values[row] for row in rows if row in values]
    limit = GREATEST.get(node.slots[0].dtype, _GREATEST_OTHER) if node.slots else _GREATEST_OTHER
    if is_normalizing(name):
        return _of_masks(flow.came[index])
    if name in _OUTSIDE:
        return _of_one(_OUTSIDE[name], known) * (
            1 if _may_be_negative(graph, flow, name, rows) else 0.3
        )
    if name in _EXPONENTIAL:
        return _of_one(lambda value: value.high > math.log(limit), known)
    if name in ("div", "truedivide"):
        return _of_division(values, rows)
    if name in _SPREADS:
        return _CERTAIN if _is_of_one_element(graph, flow, index) else _HARDLY
    if name == "tocopy":
        return _of_conversion(known, node.slots[0].dtype, limit)
    return _of_rest(graph, flow, values, index, limit)


def _of_rest(
    graph: Graph, flow: ValueFlow, values: Mapping[int, Value], index: int, limit: float
) -> float:
    name = plain_name(graph.nodes[index])
    known = [values[row] for row in flow.sources[index] if row in values]
    if name == CTC_LOSS:
        return _LIKELY + 0.5
    if name in _GROWING and _may_overflow(known, limit):
        return _LIKELY + 0.2
    if is_entropy(graph, flow, index):
        return _LIKELY + 0.8
    return _POSSIBLE if name in _SOME else _HARDLY * (name in _GROWING)


def takes_unread(graph: Graph, flow: ValueFlow, values: Mapping[int, Value], index: int) -> float:
    """Return how likely an operation got infinity from a tensor that was given to it, and not read."""
    rows = flow.sources[index]
    is_any = any(row not in values and is_given(graph.nodes[flow.owners[row]]) for row in rows)
    return _POSSIBLE + 0.1 if is_any else 0.0


def is_entropy(graph: Graph, flow: ValueFlow, index: int) -> bool:
    """Return whether chances, some masked out, are multiplied by their logarithms: 0 times -inf is NaN."""
    if plain_name(graph.nodes[index]) != "mul" or not flow.came[index] & (MASK | MASKING):
        return False
    makers = {_maker(graph, flow, row) for row in flow.sources[index]}
    return bool(makers & {"log", "logsoftmax"}) and bool(makers & {"exp", "softmax"})


def _maker(graph: Graph, flow: ValueFlow, row: int) -> str:
    """Return the name of the operation that computed a row, behind what only passes it on."""
    for _ in range(4):
        index = flow.owners[row]
        name = plain_name(graph.nodes[index])
        if name not in _PASSING or not flow.sources[index]:
            break
        row = flow.sources[index][0]
    return name


def _of_masks(came: int) -> float:
    """Judge a softmax by the masks that may have reached it."""
    if came & MASK:
        return _CERTAIN + 1
    if came & MASKING:
        return _LIKELY + 0.5
    return _POSSIBLE if came & UNREAD else _HARDLY


def _is_of_one_element(graph: Graph, flow: ValueFlow, index: int) -> bool:
    """Return whether each result is the spread of one element, which is 0 / 0."""
    if not flow.sources[index]:
        return False
    row = flow.sources[index][0]
    maker = flow.owners[row]
    before = graph.nodes[maker].slots[row - int(graph.slot_offsets[maker])]
    return math.prod(before.shape) <= math.prod(graph.nodes[index].slots[0].shape)


def _of_one(is_outside: _Judge, known: Sequence[Value]) -> float:
    if not known:
        return _LIKELY
    return _CERTAIN if is_outside(known[0]) else 0.0


def _of_division(values: Mapping[int, Value], rows: Sequence[int]) -> float:
    if len(rows) < 2:
        return _HARDLY  # by a number
    if rows[1] not in values:
        return _LIKELY
    return _CERTAIN if values[rows[1]].zeros > 0 else _HARDLY


def _of_conversion(known: Sequence[Value], dtype: str, limit: float) -> float:
    if not known:
        return NAMED if dtype == "float16" else 0.0
    return _CERTAIN if known[0].greatest > limit else 0.0


def _may_overflow(known: Sequence[Value], limit: float) -> bool:
    """Return whether a sum of 1,000 products of these values could be greater than the limit."""
    product = math.prod(
        max(1.0, value.greatest) for value in known if value.greatest == value.greatest
    )
    return product * max(1.0, max((value.greatest for value in known), default=1.0)) > limit / 1000


def _may_be_negative(graph: Graph, flow: ValueFlow, name: str, rows: Sequence[int]) -> bool:
    """Return whether the operand of a root may be negative, as far as is seen."""
    if name != "sqrt":
        return True
    for _ in range(4):
        if not rows:
            return True
        before = flow.owners[rows[0]]
        maker = plain_name(graph.nodes[before])
        if maker in _NOT_NEGATIVE:
            return False
        if maker not in _PASSING:
            return True
        rows = flow.sources[before]
    return True
