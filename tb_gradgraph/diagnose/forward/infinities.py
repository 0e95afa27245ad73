"""Follow NaN, +inf and -inf through operations: which of them can come out where one of them was made."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tb_gradgraph.diagnose.forward.known_values import Value
from tb_gradgraph.diagnose.forward.value_flow import ValueFlow, plain_name
from tb_gradgraph.graph import Graph

NAN, POSITIVE, NEGATIVE = 1, 2, 4
ANY = NAN | POSITIVE | NEGATIVE
_BOTH = POSITIVE | NEGATIVE

#: What operations make of finite elements that they cannot take, or that are too large.
_MADE: Mapping[str, int] = {
    **dict.fromkeys(("log", "log2", "log10", "log1p"), NAN | NEGATIVE),
    **dict.fromkeys(("sqrt", "acos", "asin", "acosh"), NAN),
    **dict.fromkeys(("exp", "expm1", "exp2", "cosh", "square", "logsumexp", "ctcloss"), POSITIVE),
    **dict.fromkeys(("sinh", "tocopy"), _BOTH),
    **dict.fromkeys(("rsqrt", "pow"), NAN | POSITIVE),
}
#: What becomes of NaN, +inf and -inf in an operation of one tensor: a set of results for each.
_Change = tuple[int, int, int]
_CHANGED: Mapping[str, _Change] = {
    "neg": (NAN, NEGATIVE, POSITIVE),
    **dict.fromkeys(("exp", "exp2", "relu", "softplus", "elu", "selu"), (NAN, POSITIVE, 0)),
    **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt"), (NAN, POSITIVE, NAN)),
    **dict.fromkeys(("square", "abs", "cosh"), (NAN, POSITIVE, POSITIVE)),
    **dict.fromkeys(
        ("sigmoid", "tanh", "hardsigmoid", "hardtanh", "erf", "atan", "reciprocal", "rsqrt"),
        (NAN, 0, 0),
    ),
    **dict.fromkeys(("gelu", "silu"), (NAN, POSITIVE, NAN)),
    **dict.fromkeys(("softmax", "sin", "cos"), (NAN, NAN, NAN)),
    "logsoftmax": (NAN, NAN, NAN | NEGATIVE),
}
#: Operations that only choose, place or average elements.
_KEPT = frozenset(
    ("view", "reshape", "unsafeview", "unsqueeze", "squeeze", "expand", "clone", "tocopy", "cat")
    + ("stack", "select", "slice", "index", "indexselect", "gather", "permute", "transpose", "t")
    + ("split", "unbind", "repeat", "contiguous", "alias", "maskedfill", "where", "dropout")
    + ("asstrided", "flatten", "max", "min", "amax", "amin", "maximum", "minimum")
)
_SUMS = frozenset(("mean", "sum", "add", "cumsum"))
_DIFFERENCES = frozenset(("sub", "rsub"))


def can_show(
    graph: Graph,
    flow: ValueFlow,
    values: Mapping[int, Value],
    made_by: int,
    between: Collection[int],
    row: int,
) -> bool:
    """Return whether what an operation may make of finite values can come out at a row as it was seen.

    Args:
        graph: The graph.
        flow: How values go through it.
        values: The values that are known, by row.
        made_by: The operation that is asked about, by its index.
        between: The operations between the values that were read last and the row, by index.
        row: A row that is known to hold NaN or infinity.
    """
    offsets = graph.slot_offsets.tolist()
    shows = flow.owners[row]
    held = dict.fromkeys(
        range(offsets[made_by], offsets[made_by + 1]),
        _MADE.get(plain_name(graph.nodes[made_by]), ANY),
    )
    for index in sorted({*between, shows}):
        used = zip(flow.places[index], flow.sources[index])
        came = [(place, held[row_of]) for place, row_of in used if held.get(row_of)]
        if came and index != made_by:
            gives = _after(graph, flow, values, index, came)
            held.update(dict.fromkeys(range(offsets[index], offsets[index + 1]), gives))
    seen = values[row]
    wanted = NAN * bool(seen.nan) | POSITIVE * bool(seen.posinf) | NEGATIVE * bool(seen.neginf)
    return bool(held.get(row, 0) & wanted)


def _after(
    graph: Graph,
    flow: ValueFlow,
    values: Mapping[int, Value],
    index: int,
    came: list[tuple[int, int]],
) -> int:
    """Return what an operation may give if its inputs, by number, may hold what came."""
    name = plain_name(graph.nodes[index])
    if graph.nodes[index].kind == "root" or name in _KEPT:
        return _union(came)
    if name in _CHANGED:
        return _change(_union(came), _CHANGED[name])
    if name in _SUMS:
        return _summed(_union(came))
    if name in _DIFFERENCES:
        taken_off = 1 if name == "sub" else 0
        return _summed(_union([_turned(one) if one[0] == taken_off else one for one in came]))
    if name in ("mul", "div"):
        return _scaled(values, flow.sources[index], name, came)
    return ANY


def _union(came: list[tuple[int, int]]) -> int:
    found = 0
    for _, held in came:
        found |= held
    return found


def _change(held: int, change: _Change) -> int:
    """Return the results of what is held, by a table of what becomes of each."""
    found = 0
    for kind, result in zip((NAN, POSITIVE, NEGATIVE), change):
        found |= result if held & kind else 0
    return found


def _summed(held: int) -> int:
    return held | (NAN if held & _BOTH == _BOTH else 0)


def _turned(came: tuple[int, int]) -> tuple[int, int]:
    return came[0], _change(came[1], _CHANGED["neg"])


def _scaled(
    values: Mapping[int, Value], sources: list[int], name: str, came: list[tuple[int, int]]
) -> int:
    """Return what a product or quotient gives: the sign is known if the other operand's is."""
    found = 0
    for nr, held in came:
        if name == "div" and nr == 1:
            found |= held & NAN  # a number divided by infinity is 0
            continue
        other = values.get(sources[1 - nr]) if len(sources) == 2 else None
        if other is not None and other.low > 0:
            found |= held
        elif other is not None and other.high < 0:
            found |= _change(held, _CHANGED["neg"])
        else:
            found |= held & NAN | (_BOTH | NAN if held & _BOTH else 0)
    return found
