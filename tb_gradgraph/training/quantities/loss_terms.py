"""The terms of a loss: their values, their shares of the gradient, and whether they conflict."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from tb_gradgraph.autograd import (
    BackwardCall,
    Branch,
    Term,
    find_meeting,
    functions_not_overridden,
    input_metadata,
    split_sum,
)
from tb_gradgraph.quantities import LOSS, LOSS_COSINE, LOSS_SHARE, made_name, made_unique
from tb_gradgraph.summarize import Transfer, wide_dtype
from tb_gradgraph.training.quantities.late_number import LateNumber
from tb_gradgraph.training.reading.structures import Met, Structure

#: A loss of more terms is not split: it is rather a sum over samples or parameters.
MOST_TERMS = 16
#: Larger graphs are not searched for the node where terms meet.
MOST_NODES = 50_000
#: How many searches of a watch are kept.
MOST_MEETINGS = 200
#: How many bytes of gradients are held until all terms have arrived, and of how many edges.
MOST_HELD = 16 * 2**20
MOST_EDGES = 1000

MANY = f"The loss is a sum of more than {MOST_TERMS} terms."
NO_MEETING = "The gradients of the terms meet in no node each of whose edges belongs to one term."
MEETS_LATER = "Its gradient meets those of the others only where some of them have met before."
NO_VARIABLE = "No variable holds its value where backward is called."
LARGE_GRAPH = f"The graph has more than {MOST_NODES:,} nodes."
LARGE = f"The gradients where the terms meet are larger than {MOST_HELD // 2**20} MB."
NOT_ARRIVED = "The backward did not send a dense gradient along each edge."

#: Edges where terms meet, with their structure, by its ``id`` and the places of the terms.
Meetings = dict[tuple[int, tuple[int, ...]], tuple[Structure, tuple[Branch, ...]]]
#: Gradients by term, and by the node where they meet and its slot.
Taken = dict[tuple[int, tuple[int, int]], list[torch.Tensor]]


@dataclasses.dataclass(frozen=True, slots=True)
class TermNumbers:
    """Numbers of the terms of one pass, on their way to the host."""

    names: tuple[str, ...]
    values: tuple[LateNumber | None, ...]
    weights: tuple[tuple[tuple[LateNumber, bool], ...], ...]
    met: tuple[int, ...]  # the terms whose gradients meet
    products: Transfer | None  # their inner products, if they were read
    why: str  # they were not

    def read(self, scale: float) -> tuple[dict[str, float], dict[str, str]]:
        """Return the quantities and the reasons for missing ones; waits for the copies."""
        found: dict[str, float] = {}
        why: dict[str, str] = {}
        for name, value, weight in zip(self.names, self.values, self.weights):
            number = _weighted(value, weight)
            if number is None:
                why[f"{LOSS}/{name}"] = NO_VARIABLE
            else:
                found[f"{LOSS}/{name}"] = number / scale
        if self.products is None:
            return found, {**why, LOSS_SHARE: self.why, LOSS_COSINE: self.why}
        products = self.products.wait()[0].reshape(len(self.met), -1).astype(np.float64)
        met = [self.names[nr] for nr in self.met]
        late = (name for name in self.names if name not in met)
        why.update((f"{LOSS_SHARE}/{name}", MEETS_LATER) for name in late)
        return {**found, **_shares(met, products)}, why


def _weighted(value: LateNumber | None, weight: Sequence[tuple[LateNumber, bool]]) -> float | None:
    number = None if value is None else value.read()
    for factor, divides in weight:
        by = factor.read()
        if number is None or by is None:
            return None
        with np.errstate(all="ignore"):
            number = float(np.float64(number) / by) if divides else number * by
    return number


def _shares(names: Sequence[str], products: np.ndarray) -> dict[str, float]:
    """Return each term's share of the sum of the norms, and the cosine of each two terms."""
    norms = [
        math.sqrt(square) if square >= 0 else math.nan for square in np.diag(products).tolist()
    ]
    whole = sum(norms)
    found = {}
    if whole > 0 and math.isfinite(whole):
        found = {f"{LOSS_SHARE}/{name}": norm / whole for name, norm in zip(names, norms)}
    for (a, first), (b, second) in itertools.combinations(enumerate(names), 2):
        if norms[a] > 0 and norms[b] > 0 and math.isfinite(norms[a] * norms[b]):
            cosine = products[a, b] / norms[a] / norms[b]
            found[f"{LOSS_COSINE}/{first}/{second}"] = max(-1.0, min(1.0, float(cosine)))
    return found


class LossTerms:
    """Reads the terms of one backward. Its hooks are on few nodes, and ``finish`` removes them."""

    def __init__(
        self, met: Met, call: BackwardCall, variables: Mapping[str, Any], meetings: Meetings
    ) -> None:
        """Split the loss, and put hooks where the gradients of its terms meet. Nothing is raised."""
        self._handles: list[Any] = []
        self._taken: Taken = {}
        self._branches: tuple[Branch, ...] = ()
        self._told: dict[str, Any] | None = None
        try:
            with functions_not_overridden():  # modes of the user's do not notice
                self._begin(met, call, variables, meetings)
        except Exception:
            self.drop()

    def _begin(
        self, met: Met, call: BackwardCall, variables: Mapping[str, Any], meetings: Meetings
    ) -> None:
        root = call.roots[0] if len(call.roots) == 1 else None
        if not isinstance(root, torch.Tensor) or root.grad_fn is None or root.numel() != 1:
            return
        held = _Held(variables)
        terms = split_sum(root.grad_fn, root.output_nr, held.names, MOST_TERMS)
        if len(terms) > MOST_TERMS:
            self._told, self._why = {"names": (), "values": (), "weights": ()}, MANY
        if not 1 < len(terms) <= MOST_TERMS or len({term.node for term in terms}) < len(terms):
            return
        named = [held.by_node.get(term.node) for term in terms]
        plain = [made_name(_name_of(term, one, met)) for term, one in zip(terms, named)]
        self._told = {
            "names": tuple(made_unique(plain)),
            "values": tuple(None if one is None else LateNumber(one[1]) for one in named),
            "weights": tuple(
                tuple((LateNumber(factor), divides) for factor, divides in term.factors)
                for term in terms
            ),
        }
        self._why = self._attach(met, [term.node for term in terms], meetings)

    def _attach(self, met: Met, nodes: Sequence[Any], meetings: Meetings) -> str:
        """Put on the hooks; return why not, if not."""
        order = met.order
        if len(order) > MOST_NODES:
            return LARGE_GRAPH
        key = (id(met.structure), tuple(map(order.index, nodes)))  # terms come early in ``order``
        structure, branches = meetings.get(key, (None, ()))
        if structure is not met.structure:
            if len(meetings) >= MOST_MEETINGS:
                meetings.clear()
            branches = find_meeting(order, nodes)
            meetings[key] = (met.structure, branches)
        if (
            len(branches) > MOST_EDGES
            or sum(_bytes_along(order, one) for one in branches) > MOST_HELD
        ):
            return LARGE
        self._branches = branches
        by_user: dict[int, list[Branch]] = {}
        for branch in branches:
            by_user.setdefault(branch.user, []).append(branch)
        for user, of_user in by_user.items():
            take = partial(_take, self._taken, tuple(of_user))
            self._handles.append(order[user].register_hook(take))
        return "" if self._branches else NO_MEETING

    def finish(self, well: bool) -> TermNumbers | None:
        """Remove the hooks, and begin to read; None if the loss has no terms."""
        told, why = self._told, getattr(self, "_why", "")
        products, met = None, tuple(sorted({branch.term for branch in self._branches}))
        try:
            if well and told is not None and not why:
                with functions_not_overridden():
                    products, why = _products(self._taken, self._branches, met)
        except Exception:  # gradients of an unusual class
            why = NOT_ARRIVED
        self.drop()
        if told is None or not well:
            return None
        return TermNumbers(**told, met=met, products=products, why=why)

    def drop(self) -> None:
        """Remove the hooks, and release everything."""
        while self._handles:
            self._handles.pop().remove()
        self._taken.clear()
        self._branches = ()
        self._told = None


def _take(
    taken: Taken,
    branches: Sequence[Branch],
    inputs: Sequence[torch.Tensor | None],
    _outputs: Any,
) -> None:
    """Hold the gradients that a node sends to the places where terms meet. Never raises."""
    for branch in branches:
        gradient = inputs[branch.position] if branch.position < len(inputs) else None
        if gradient is not None:
            taken.setdefault((branch.term, (branch.at, branch.slot)), []).append(gradient)


@torch.no_grad()
def _products(
    taken: Taken, branches: Sequence[Branch], terms: Sequence[int]
) -> tuple[Transfer | None, str]:
    """Begin to read the inner products of all pairs of terms; else return why not.

    The gradients of a term at all places where terms meet are one long vector.
    """
    given = [one for parts in taken.values() for one in parts]
    if len(branches) != len(given) or any(one.is_complex() for one in given):
        return None, NOT_ARRIVED
    if sum(map(_bytes_of, given)) > MOST_HELD:
        return None, LARGE
    shapes = {place: parts[0] for (_, place), parts in taken.items()}
    device = given[0].device
    rows = []
    for term in terms:
        parts = []
        for place, shape in shapes.items():
            whole = torch.zeros(shape.numel(), dtype=wide_dtype(device), device=device)
            for gradient in taken.get((term, place), ()):
                whole += gradient.detach().reshape(-1).to(device, whole.dtype)
            parts.append(whole)
        rows.append(torch.cat(parts))
    stacked = torch.stack(rows)
    products = torch.stack([(stacked * row).sum(1) for row in stacked])  # without cuBLAS's memory
    return Transfer(device, [products]), ""


def _bytes_along(order: Sequence[Any], branch: Branch) -> int:
    """Return how many bytes the gradient along an edge has, of four for each element."""
    shapes = input_metadata(order[branch.at])
    return 4 * math.prod(shapes[branch.slot][0]) if branch.slot < len(shapes) else 0


def _bytes_of(gradient: torch.Tensor) -> int:
    return gradient.numel() * gradient.element_size()


class _Held:
    """The scalars with a gradient that variables hold, or lists and dicts in them; found when asked for."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._variables = variables

    def names(self, node: Any) -> bool:
        """Return whether one of them was made by ``node``."""
        return node in self.by_node

    @functools.cached_property
    def by_node(self) -> Mapping[Any, tuple[str, torch.Tensor]]:
        """Name and tensor of each, by its node. A variable counts before a container."""
        found: dict[Any, tuple[str, torch.Tensor]] = {}
        for name, value in (*self._variables.items(), *self._contained()):
            if type(value) is torch.Tensor and value.requires_grad and value.numel() == 1:
                # Asking for the node of a view that was written to would make one.
                if not (value._is_view() and value._version) and value.grad_fn is not None:
                    found.setdefault(value.grad_fn, (name, value))
        return found

    def _contained(self) -> Iterator[tuple[str, Any]]:
        for name, value in self._variables.items():
            if type(value) is dict and len(value) <= MOST_TERMS:
                yield from ((str(key), one) for key, one in value.items())
            elif type(value) in (list, tuple) and len(value) <= MOST_TERMS:
                yield from ((f"{name}[{place}]", one) for place, one in enumerate(value))


def _name_of(term: Term, held: tuple[str, torch.Tensor] | None, met: Met) -> str:
    """Return the variable's name, or that of the node's slot in the graph, or the operation's."""
    return (held[0] if held is not None else _slot_name(term, met)) or term.node.name().partition(
        "Backward"
    )[0]


def _slot_name(term: Term, met: Met) -> str:
    graph = met.structure.graph
    rows = met.structure.replay.rows_at.get(met.order.index(term.node), ())
    if term.slot >= len(rows) or not rows[term.slot]:
        return ""
    row = rows[term.slot][0]
    index = int(np.searchsorted(graph.slot_offsets, row, "right")) - 1
    return graph.nodes[index].slots[row - int(graph.slot_offsets[index])].name
