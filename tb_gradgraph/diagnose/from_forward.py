"""Say where in the forward NaN and infinity began."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, describe_node, tell
from tb_gradgraph.diagnose.forward.causes import Cause, count_reached, find_causes
from tb_gradgraph.diagnose.forward.known_values import Value, has_nonfinite, known_values
from tb_gradgraph.diagnose.forward.likely_operation import (
    CTC_LOSS,
    GREATEST,
    is_entropy,
    is_normalizing,
)
from tb_gradgraph.diagnose.forward.value_flow import MASK, NAN, ValueFlow, follow, plain_name
from tb_gradgraph.graph import NO_SCOPE, Graph, Node
from tb_gradgraph.statistics import NONFINITE_COLUMNS, StatisticsTable

#: How many places are reported, and how many tensors a text names.
MOST_PLACES = 3
_NAMED = 5

#: Causes that are told as one, each with whether it is mild.
_Place = list[tuple[Cause, bool]]

_ALREADY = "The forward already gave NaN or infinity."


@dataclasses.dataclass(frozen=True)
class ForwardFindings:
    """What was found in the values of a forward.

    Attributes:
        found: The findings, the cause of the others first.
        origin: The name of the tensor or operation where it began, if it reached the backward; ""
            otherwise. If it did, no operation of the backward is to blame.
    """

    found: tuple[Finding, ...]
    origin: str


@dataclasses.dataclass(frozen=True)
class _Forward:
    graph: Graph
    flow: ValueFlow
    values: Mapping[int, Value]


def find_in_forward(
    graph: Graph,
    gradients: StatisticsTable,
    table: StatisticsTable | None,
    whole: Mapping[int, np.ndarray],
    loss_scale: float = 1.0,
) -> ForwardFindings:
    """Find the first values that hold NaN or infinity although what they were made of is finite.

    Infinity that a mask puts in and a softmax takes away is not reported, nor is other infinity that
    does not reach what was differentiated. NaN that does not reach it is a note if every gradient is
    finite.

    Args:
        graph: The graph that the pass ran over.
        gradients: Statistics of the gradients.
        table: Statistics of the values; None if they were not recorded.
        whole: Values that were kept whole, by row.
        loss_scale: The factor of a GradScaler on the loss.
    """
    if not has_nonfinite(table, whole):
        return ForwardFindings((), "")
    values = known_values(graph.slot_count, table, whole)
    forward = _Forward(graph, follow(graph, values), values)
    is_backward_bad = bool((gradients.values[gradients.present][:, NONFINITE_COLUMNS] > 0).any())
    told: dict[object, _Place] = {}
    for cause in find_causes(graph, forward.flow, values):
        is_mild = _is_mild(forward, cause, is_backward_bad, loss_scale)
        if cause.is_live or cause.how == "weight" or forward.flow.gave[cause.row] & NAN:
            told.setdefault((_place(graph, cause), is_mild), []).append((cause, is_mild))
    found, places = [], _rank(list(told.values()))
    for nr, place in enumerate(places[:MOST_PLACES]):
        further = len(places) - MOST_PLACES if nr == MOST_PLACES - 1 else 0
        found.append(_tell(forward, place, further))
    blamed = [place[0][0] for place in places if place[0][0].is_live or not place[0][1]]
    return ForwardFindings(tuple(found), graph.nodes[blamed[0].node].name if blamed else "")


def _is_mild(forward: _Forward, cause: Cause, is_backward_bad: bool, loss_scale: float) -> bool:
    """Return whether nothing is wrong with the training because of it."""
    if cause.how == "weight":
        return False
    if not cause.is_live:
        return not is_backward_bad
    if not is_backward_bad and _is_loss_finite(forward):
        return True
    return loss_scale > 1 and _is_scaled_loss(forward, cause)


def _is_loss_finite(forward: _Forward) -> bool:
    """Return whether all that was differentiated is known to be finite."""
    graph, values = forward.graph, forward.values
    roots = [at for at, node in enumerate(graph.nodes) if node.kind == "root"]
    known = [values.get(int(graph.slot_offsets[at])) for at in roots]
    return bool(known) and all(value is not None and value.is_finite for value in known)


def _is_scaled_loss(forward: _Forward, cause: Cause) -> bool:
    """Return whether nothing is seen to be infinite but a product that is differentiated."""
    graph = forward.graph
    last = cause.between[-1] if cause.between else cause.node
    users = graph.users.get(int(graph.slot_offsets[last]), ())
    is_root = any(graph.nodes[user].kind == "root" for user in users)
    is_product = plain_name(graph.nodes[last]) == "mul"
    return is_root and is_product and (not cause.is_named or cause.node == last)


def _place(graph: Graph, cause: Cause) -> object:
    """Return what all causes have in common that are told as one."""
    if cause.how in ("weight", "given"):
        return cause.how
    node = graph.nodes[cause.node]
    path = "" if node.scope == NO_SCOPE else graph.scopes[node.scope].path
    return path, node.operation, node.source


def _rank(places: Sequence[_Place]) -> list[_Place]:
    """Sort places: weights first, then tensors that were given, then in the order of the forward."""
    order = ("weight", "given")
    return sorted(
        places, key=lambda place: order.index(place[0][0].how) if place[0][0].how in order else 2
    )


def _tell(forward: _Forward, place: _Place, further: int) -> Finding:
    causes, is_mild = [cause for cause, _ in place], place[0][1]
    text = _tell_place(forward, causes, is_mild)
    if further > 0:
        text += f" It began at {further} further place{'' if further == 1 else 's'}."
    if is_mild and causes[0].is_live and _is_loss_finite(forward):
        text += " The loss and every gradient are finite all the same."
    elif is_mild and causes[0].is_live:
        text += (
            " Only the factor of the GradScaler made it: the scaler skips the step and lowers it."
        )
    node = forward.graph.nodes[causes[0].node]
    kind = "nonfinite_weight" if causes[0].how == "weight" else "nonfinite_value"
    return tell(kind, int(forward.graph.slot_offsets[causes[0].node]), node.name, text, is_mild)


def _tell_place(forward: _Forward, causes: Sequence[Cause], is_mild: bool) -> str:
    first = causes[0]
    tell_first = _tell_given if first.how in ("weight", "given") else _tell_made
    parts = [tell_first(forward, causes), _tell_reached(forward, first)]
    if first.how in ("made", "masked") and len(causes) > 1:
        parts.append(f"It began so at {len(causes) - 1} further calls of the same line.")
    if not first.is_live and first.how != "weight":
        but = "" if is_mild else ", but gradients that come back to it are not finite"
        parts.append(f"It does not reach what was differentiated{but}.")
    return " ".join(part for part in parts if part)


def _tell_given(forward: _Forward, causes: Sequence[Cause]) -> str:
    """Say that tensors that no operation made are not finite."""
    nodes, first = [forward.graph.nodes[cause.node] for cause in causes], causes[0]
    what, count = describe_node(forward.graph, nodes[0]), forward.values[first.row].count()
    if first.how == "given":
        kind = "tensor" if nodes[0].kind == "constant" else nodes[0].kind
        text = f"{_ALREADY} It began with what was given to it: the {kind} {what} holds {count}."
        return text + (f" So do {_list_names(nodes[1:])}." if len(nodes) > 1 else "")
    if len(nodes) == 1:
        return (
            f"{what}: this weight already held {count} when the forward began. "
            "An earlier step made it so."
        )
    return (
        f"{len(nodes)} weights already held NaN or infinity when the forward began: "
        f"{_list_names(nodes)}. An earlier step made them so. The first is {what}: {count}."
    )


def _list_names(nodes: Sequence[Node]) -> str:
    more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    return ", ".join(node.name for node in nodes[:_NAMED]) + more


def _tell_made(forward: _Forward, causes: Sequence[Cause]) -> str:
    graph, first = forward.graph, causes[0]
    count, what = forward.values[first.row].count(), describe_node(graph, graph.nodes[first.node])
    shows = graph.nodes[forward.flow.owners[first.row]]
    if not first.got:
        text = (
            f"The first tensor seen to hold it is {what}: {count}. What was read before it is too "
            "little to say where it began; values=True reads more."
        )
    elif _is_one_call(graph, first):
        text = f"It began at {what}: {_tell_got(forward, first)} went in, and {count} came out."
    else:
        rivals = _list_names([graph.nodes[at] for at in first.rivals])
        named = f"{f'or {rivals} ' if rivals else ''}is the likeliest to have made it"
        named = named if first.is_named else "is the last"
        text = (
            f"Of {len(first.between)} operations that were not read one by one, {what} {named}: "
            f"{_tell_got(forward, first)} went in, and {count} came out at {describe_node(graph, shows)}."
        )
    parts = (_tell_type(shows, forward.values[first.row]), _tell_masks(forward, first))
    return " ".join(part for part in (_ALREADY, text, *parts, _tell_unread(graph, first)) if part)


def _is_one_call(graph: Graph, cause: Cause) -> bool:
    """Return whether what may have made it is all of one line of one module call."""
    nodes = [graph.nodes[at] for at in cause.between]
    return len({(node.scope, node.source or node.name) for node in nodes}) == 1


def _tell_got(forward: _Forward, cause: Cause) -> str:
    """Say between which numbers the values are that were read last."""
    own = forward.flow.sources[cause.node]
    rows = own if all(row in forward.values for row in own) else cause.got
    values = [(row, forward.values[row]) for row in rows]
    finite = [(row, value) for row, value in values if not math.isnan(value.low)]
    if not finite:
        return "nothing finite"
    low = min(value.low for _, value in finite)
    high = max(value.high for _, value in finite)
    names = _list_names([forward.graph.nodes[forward.flow.owners[row]] for row, _ in finite])
    masked = " and the -inf of a mask" if cause.how == "masked" else ""
    return f"finite elements from {low + 0.0:.3g} to {high + 0.0:.3g}{masked} ({names})"


def _tell_type(node: Node, value: Value) -> str:
    """Say where a short type ends, if something was too large for it."""
    if (value.posinf or value.neginf) and node.slots[0].dtype == "float16":
        return f"The greatest number of float16 is {GREATEST['float16']:,.0f}."
    return ""


def _tell_masks(forward: _Forward, cause: Cause) -> str:
    node = forward.graph.nodes[cause.node]
    if plain_name(node) == CTC_LOSS:
        return (
            "A CTC loss is infinite where a target is longer than its input; zero_infinity=True "
            "leaves it out."
        )
    if is_entropy(forward.graph, forward.flow, cause.node):
        return "A probability of 0 times its logarithm of -inf is NaN: torch.special.entr gives 0 for it."
    if cause.how != "masked" and not (cause.is_named and is_normalizing(plain_name(node))):
        return ""
    masks = [forward.flow.owners[row] for row in cause.got if forward.flow.gave[row] & MASK]
    where = (
        f" The mask is in {describe_node(forward.graph, forward.graph.nodes[masks[0]])}."
        if masks
        else ""
    )
    what = "A softmax gives NaN for a row that is masked out entirely."
    if not forward.values[cause.row].nan:
        what = "A loss is infinite if the class that is wanted is masked out."
    return f"{what}{where}"


def _tell_unread(graph: Graph, cause: Cause) -> str:
    nodes = [graph.nodes[at] for at in cause.unread]
    return f"Not read: {_list_names(nodes)}." if nodes else ""


def _tell_reached(forward: _Forward, cause: Cause) -> str:
    count = count_reached(forward.graph, forward.flow, forward.values, cause)
    if not count:
        return ""
    return f"{count} further value{' is' if count == 1 else 's are'} not finite because of it."
