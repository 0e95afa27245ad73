"""All that is known about a forward besides autograd's own graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence, Set

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.origins import Cut, Origin, SlotKey, TracedSource
from tb_gradgraph.autograd.torch_internals.engine import sequence_nr
from tb_gradgraph.graph import NO_SCOPE, NodeKind, NoGradientReason, Scope


@dataclasses.dataclass(frozen=True, slots=True)
class WhyNone:
    """Why no gradient can arrive at a tensor: a code, and a sentence for the user."""

    reason: NoGradientReason = ""
    note: str = ""


NOT_KNOWN = WhyNone()


@dataclasses.dataclass(frozen=True, slots=True)
class NamedTensor:
    """A tensor and its name for the user."""

    name: str
    tensor: torch.Tensor


@dataclasses.dataclass(frozen=True, slots=True)
class KnownTensor:
    """A tensor's part in the model: kind, names (the first is shown), owning module call."""

    kind: NodeKind
    names: tuple[str, ...]
    scope: int = NO_SCOPE
    is_owned: bool = True  # by the model; if so, it is drawn in the model's modules
    stands_for: torch.Tensor | None = None  # the parameter that it temporarily replaces


def _nowhere(_sequence_nr: int) -> int:
    return NO_SCOPE


@dataclasses.dataclass(frozen=True)
class Forward:
    """Scopes, lines, names and values of one forward; empty if nothing was observed.

    Nodes are identified by the number that ``number_of`` returns. A node of another forward has a
    negative number and is in no table.
    """

    number_of: Callable[[AutogradNode], int] = sequence_nr
    scopes: Sequence[Scope] = ()
    scope_at: Callable[[int], int] = _nowhere
    lines: Mapping[int, str] = dataclasses.field(default_factory=dict)
    # Names of operations by number, if a training uses different ones.
    operations: Mapping[int, str] = dataclasses.field(default_factory=dict)
    names: Mapping[SlotKey, str] = dataclasses.field(default_factory=dict)
    source_names: Mapping[tuple[int, int], str] = dataclasses.field(default_factory=dict)
    leaf_names: Mapping[int, str] = dataclasses.field(default_factory=dict)  # by id
    inside: Mapping[int, str] = dataclasses.field(default_factory=dict)  # see ``Node.inside``
    second_order: Set[int] = frozenset()  # numbers of nodes made while a backward ran
    known: Mapping[int, KnownTensor] = dataclasses.field(default_factory=dict)  # by id
    sources: Sequence[TracedSource] = ()
    untracked_inputs: Mapping[int, Sequence[tuple[int, Origin]]] = dataclasses.field(
        default_factory=dict
    )
    leaf_origins: Mapping[int, Origin] = dataclasses.field(default_factory=dict)  # by id
    hidden_leaves: Mapping[int, Mapping[int, torch.Tensor]] = dataclasses.field(
        default_factory=dict
    )  # used by a custom Function that was not given them, by ``RunningFunction.number``, by id
    cuts: Mapping[int, AutogradNode] = dataclasses.field(default_factory=dict)
    # Ids of leaves and given tensors that an operation used, with the line of the first use.
    seen: Mapping[int, str] | None = dataclasses.field(default_factory=dict)
    # If no operation was seen: parameters whose module was called, by id, with the line, and
    # whether with gradient.
    called: Mapping[int, tuple[str, bool]] | None = None
    # In that case also: leaves behind tensors that were cut off from gradients, by id, with the cuts.
    taken_off: Mapping[int, Sequence[Cut]] = dataclasses.field(default_factory=dict)
    cut_leaves: Mapping[int, WhyNone] = dataclasses.field(default_factory=dict)  # by id
    feeding: Sequence[
        tuple[torch.Tensor, WhyNone]
    ] = ()  # parameters used without gradient, and how
    unused: Sequence[tuple[torch.Tensor, WhyNone]] = ()  # parameters not in the graph, and why
    made: Mapping[SlotKey, torch.Tensor] = dataclasses.field(default_factory=dict)
    used: Mapping[SlotKey, torch.Tensor] = dataclasses.field(default_factory=dict)
    retaining: frozenset[SlotKey] = frozenset()
