"""Find what no gradient can reach, and why: cut off, not part of the loss, unused, frozen."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import torch

from tb_gradgraph.autograd.forward.forward import Forward, WhyNone
from tb_gradgraph.autograd.forward.origins import Cut, Origin, TracedSource
from tb_gradgraph.autograd.torch_internals.engine import accumulated_leaf
from tb_gradgraph.autograd.torch_internals.walk import Walk, walk
from tb_gradgraph.graph import NoGradientReason

FROZEN = WhyNone("frozen", "Frozen: it does not require grad.")
UNUSED = WhyNone("unused", "Unused: no operation of this forward used it.")
NOT_CALLED = WhyNone(
    "unused", "Unused, as far as is seen: its module was not called, and no result of it was found."
)
NOT_DRAWN = WhyNone("", "No operation of this graph uses it.")
INSIDE = WhyNone(
    "no_grad",
    "Used inside a reentrant checkpoint, or another custom Function, none of whose inputs "
    "requires a gradient: nothing inside gets one. Make an input require it, or pass "
    "use_reentrant=False.",
)
INSIDE_ELSEWHERE = WhyNone(
    "not_in_loss",
    "Used inside a custom Function that ran without gradient, or that is not part of what is "
    "differentiated.",
)

#: Operations whose result has no gradient in any net, such as the choice of an index. Of several
#: cuts they are told last, because another one is more likely to be the one that was not meant.
_NEVER_DIFFERENTIATED = frozenset(
    ("argmin", "argmax", "argsort", "multinomial", "bernoulli", "eq", "ne", "lt", "le", "gt", "ge")
    + ("isnan", "isinf", "isfinite", "long", "int", "bool", "nonzero", "searchsorted", "bucketize")
    + (
        "bincount",
        "one_hot",
        "isclose",
        "logical_not",
        "logical_and",
        "logical_or",
        "item",
        "tolist",
    )
)

#: Of so many cuts, each is followed on its own to the leaves behind it.
_MOST_CUTS = 8


def walk_behind_cuts(
    roots: Sequence[torch.Tensor],
    reached: Walk,
    forward: Forward,
    parameters: Iterable[torch.Tensor],
) -> tuple[Walk, Forward]:
    """Walk from ``roots``, and then from every tensor of the graph that was cut off from gradients.

    Args:
        roots: What is differentiated.
        reached: The walk from ``roots``.
        forward: What was seen of the forward.
        parameters: The parameters of the model.

    Returns:
        The walk, and ``forward`` with three additions: where each leaf behind a cut was cut off,
        which of ``parameters`` are not in the graph at all, and the numbers of the walk's nodes.
    """
    walked = reached
    number_of = forward.number_of
    forward = _numbered(reached, forward)
    cuts: dict[int, TracedSource] = {}  # the cut in front of each node, by the node's number
    while True:
        read = list(_read_without_gradient(walked, forward))
        new = {number: source for kind, number, source in read if kind == "slot"}
        new = {number: new[number] for number in new.keys() & forward.cuts.keys() - cuts.keys()}
        cuts.update(new)
        if new.keys() <= set(map(forward.number_of, walked.nodes)):
            break
        walked = walk(roots, [forward.cuts[number] for number in cuts])
        forward = _numbered(walked, dataclasses.replace(forward, number_of=number_of))
    cut_leaves = _cut_leaves(reached, cuts, forward)
    by_leaf = {identity: source for kind, identity, source in reversed(read) if kind == "leaf"}
    missing = _missing(walked, forward, parameters)
    inside = _inside(forward)
    feeding = [
        (leaf, inside.get(id(leaf)) or _by("no_grad", "Used without gradient", by_leaf[id(leaf)]))
        for leaf in missing
        if id(leaf) in by_leaf
    ]
    unused = [
        (leaf, inside.get(id(leaf)) or _reason(leaf, forward))
        for leaf in missing
        if id(leaf) not in by_leaf
    ]
    return walked, dataclasses.replace(
        forward, cut_leaves=cut_leaves, feeding=feeding, unused=unused
    )


def _numbered(walked: Walk, forward: Forward) -> Forward:
    """Look up the numbers of all nodes once. Two nodes that share a number get none.

    Each thread counts for itself, so one of these two is not ours.
    """
    numbers = list(map(forward.number_of, walked.nodes))
    counts = collections.Counter(numbers)
    table = {
        node: number if counts[number] == 1 else -1 for node, number in zip(walked.nodes, numbers)
    }
    return dataclasses.replace(forward, number_of=table.__getitem__)


def _read_without_gradient(
    walked: Walk, forward: Forward
) -> Iterator[tuple[str, int, TracedSource]]:
    """Yield each slot and leaf that feeds the graph through operations without gradient.

    Each is yielded as kind and identity, as in ``Origin``, with the operation that reads it.
    """
    pending: list[Origin] = []
    if forward.untracked_inputs:
        for number in map(forward.number_of, walked.nodes):
            pending += [origin for _, origin in forward.untracked_inputs.get(number, ())]
    for leaf in walked.leaves.values():
        if id(leaf) in forward.leaf_origins:
            pending.append(forward.leaf_origins[id(leaf)])
    seen: set[int] = set()
    while pending:
        kind, index, _ = pending.pop()
        if kind != "source" or index in seen:
            continue
        seen.add(index)
        source = forward.sources[index]
        pending += [origin for _, origin in source.inputs]
        yield from ((kind, identity, source) for _, (kind, identity, _) in source.inputs)


def _cut_leaves(
    reached: Walk, cuts: dict[int, TracedSource], forward: Forward
) -> dict[int, WhyNone]:
    """Say where the cuts are, for each leaf (by ``id``) that is reached only through cuts."""
    found: dict[int, list[TracedSource]] = {}
    inside = set(reached.nodes)
    seen = set(inside)
    for nr, (number, source) in enumerate(sorted(cuts.items(), key=lambda cut: cut[0])):
        if nr < _MOST_CUTS:  # the others together look at each node once
            seen = set(inside)
        pending = [forward.cuts[number]]
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            leaf = accumulated_leaf(node)
            if leaf is not None:
                found.setdefault(id(leaf), []).append(source)
            pending += [parent for parent, _ in node.next_functions if parent is not None]
    return {leaf: _by_cuts(sources) for leaf, sources in found.items()}


def _by_cuts(sources: Sequence[TracedSource]) -> WhyNone:
    places = _list_cuts([(source.operation, source.source) for source in sources])
    return WhyNone("cut", f"Cut off from the loss by {places}.")


def _list_cuts(cuts: Iterable[tuple[str, str]]) -> str:
    """List operations and lines, those first that are more likely to be a fault."""
    ranked = sorted(dict.fromkeys(cuts), key=lambda cut: cut[0].strip("_") in _NEVER_DIFFERENTIATED)
    told = [f"{operation} ({line})" if line else operation for operation, line in ranked]
    return " and by ".join(told[:3]) + (f" and {len(told) - 3} more" if len(told) > 3 else "")


def _by(reason: NoGradientReason, what: str, source: TracedSource) -> WhyNone:
    place = f" ({source.source})" if source.source else ""
    return WhyNone(reason, f"{what} by {source.operation}{place}.")


def _missing(
    walked: Walk, forward: Forward, parameters: Iterable[torch.Tensor]
) -> list[torch.Tensor]:
    """Return the parameters that are not in the graph."""
    drawn = set(map(id, walked.leaves.values()))
    stand_ins = (forward.known[leaf].stands_for for leaf in drawn & forward.known.keys())
    drawn |= {id(parameter) for parameter in stand_ins if parameter is not None}
    for number in forward.hidden_leaves.keys() & set(map(forward.number_of, walked.nodes)):
        drawn.update(forward.hidden_leaves[number])
    return [parameter for parameter in parameters if id(parameter) not in drawn]


def _inside(forward: Forward) -> dict[int, WhyNone]:
    """Say why some leaves are not in the graph: a custom Function uses them without having them as inputs."""
    found: dict[int, WhyNone] = {}
    for number, hidden in forward.hidden_leaves.items():
        for key, leaf in hidden.items():
            if leaf.requires_grad:
                found.setdefault(key, INSIDE if number < 0 else INSIDE_ELSEWHERE)
    return found


def _reason(parameter: torch.Tensor, forward: Forward) -> WhyNone:
    if forward.seen is None:
        return NOT_DRAWN if parameter.requires_grad else FROZEN
    used = id(parameter) in forward.seen
    if parameter.requires_grad:
        if id(parameter) in forward.taken_off:
            return _taken_off(forward.taken_off[id(parameter)])
        if used:
            return _not_in_loss(forward.seen[id(parameter)])
        return UNUSED if forward.called is None else _as_called(forward.called.get(id(parameter)))
    if used or forward.called is not None:
        return FROZEN
    return WhyNone(FROZEN.reason, f"{FROZEN.note} {UNUSED.note}")


def _as_called(call: tuple[str, bool] | None) -> WhyNone:
    """Say why parameters are not in the graph, if only module calls were seen and not operations."""
    if call is None:
        return NOT_CALLED
    line, has_gradient = call
    place = f" ({line})" if line else ""
    if has_gradient:
        text = f"its module was called{place}, but no result of that call was seen to use this."
        return WhyNone("unused", f"Unused, as far as is seen: {text}")
    return WhyNone("no_grad", f"Its module was called without gradient, under no_grad{place}.")


def _taken_off(cuts: Sequence[Cut]) -> WhyNone:
    places = _list_cuts((cut.operation, cut.line) for cut in cuts)
    text = f"What was computed from it was cut off by {places}, and does not reach the loss in another way."
    return WhyNone("cut", text)


def _not_in_loss(line: str) -> WhyNone:
    place = f" ({line})" if line else ""
    text = f"What was computed from it{place} is not part of what is differentiated."
    return WhyNone("not_in_loss", text)
