"""The graphs of a training, so that each is built and written once."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd import BuiltGraph, Replay, TrainingForward, fingerprint, reach
from tb_gradgraph.graph import Graph, Slot
from tb_gradgraph.statistics import STATISTICS
from tb_gradgraph.training.own.own_numbers import OwnRows
from tb_gradgraph.training.reading.given_rows import GivenRows
from tb_gradgraph.training.reading.parameter_rows import Parameters

#: How many graphs one watch builds at most. A model that changes at every step would otherwise
#: spend its time on building. After that only its parameters are recorded.
MOST_GRAPHS = 100
#: If a step has this many module calls (10 us each), we stop following them after this many
#: backward passes in a row over known graphs. A new graph then lacks modules at its first step.
MANY_CALLS = 500
_SETTLED = 4
_MORE_SETTLED = 16  # so many times as many, whenever stopping was wrong
_TRIES = 3  # how often a graph is built, until its forward was followed from the start


@dataclasses.dataclass(frozen=True)
class Structure:
    """One graph, with the data to find its rows again."""

    replay: Replay
    parameter_rows: Mapping[int, int]  # rows to read, by ``id`` of the parameter
    root_rows: tuple[int, ...]
    whole_rows: frozenset[int]  # rows of tensors kept whole
    is_noted: bool
    tries: int  # how often it was built
    given_rows: Mapping[int, int]  # rows of tensors without gradient from outside, by ``id``
    own_rows: OwnRows  # where statistics of the user's own are run
    #: How the same rows are found in later passes.
    inputs: GivenRows = dataclasses.field(default_factory=GivenRows)

    @property
    def size(self) -> int:
        """The bytes of a full table, an estimate of the data that waits for the disk."""
        return 8 * len(STATISTICS) * self.graph.row_count

    @functools.cached_property
    def slots(self) -> Sequence[Slot]:
        """The slot of each row."""
        return [slot for node in self.graph.nodes for slot in node.slots]

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.replay.graph


@dataclasses.dataclass(frozen=True, slots=True)
class Met:
    """The structure behind one backward. If nodes are read, it includes the live nodes and leaves."""

    structure: Structure
    order: Sequence[AutogradNode] = ()
    leaves: Sequence[torch.Tensor] = ()
    is_new: bool = False


class Structures:
    """Finds the structure behind a backward, and builds it if it is new."""

    def __init__(
        self,
        parameters: Parameters,
        build: Callable[[Sequence[Any], TrainingForward], BuiltGraph],
        select: Callable[[BuiltGraph], tuple[frozenset[int] | None, frozenset[int]]],
        reads_nodes: bool,
        select_own: Callable[[BuiltGraph, frozenset[int] | None], OwnRows],
    ) -> None:
        """Prepare.

        Args:
            parameters: The parameters of the watch, which identify leaves.
            build: Builds the graph behind the roots of a backward.
            select: Returns the rows to read (None: all), and the rows to keep whole.
            reads_nodes: Whether more than parameters is read. Then every graph is walked.
            select_own: Returns where statistics of the user's own are run, among the rows to read.
        """
        self._parameters = parameters
        self._build = build
        self._select = select
        self._reads_nodes = reads_nodes
        self._select_own = select_own
        self._found: dict[Hashable, Structure] = {}
        self._known_in_a_row = 0
        self._enough = _SETTLED
        self._thread = threading.get_ident()
        self._is_on_many = False
        self.wants_notes = True

    @property
    def last(self) -> Structure | None:
        """Return the last new structure; None if there is none yet."""
        return next(reversed(self._found.values()), None)

    @property
    def wanted_inputs(self) -> set[int] | None:
        """Return at which places among what modules are given inputs are expected; None: at any."""
        wanted = [structure.inputs.wanted for structure in self._found.values()]
        known = [places for places in wanted if places is not None]
        return set().union(*known) if known and len(known) == len(wanted) else None

    @property
    def is_settled(self) -> bool:
        """Return whether the next graph is probably a known one, which needs no module calls."""
        return self._known_in_a_row >= self._enough

    def meet(self, roots: Sequence[Any], forward: TrainingForward) -> Met | None:
        """Return the structure behind ``roots``; None if no parameter of ours is reached.

        Args:
            roots: What the backward begins with.
            forward: What was seen of the forwards of this step so far.
        """
        if not self._reads_nodes:
            return self._meet_parameters(roots, forward)
        order, leaves, wiring = reach(roots)
        if not self._are_ours(leaves):
            return None
        key = fingerprint(order, wiring, self._parameters.numbers_of(leaves))
        found = self._found.get(key)
        if found is not None and (found.is_noted or not forward.has_notes):
            self.wants_notes = False
            if self.is_settled or forward.calls >= MANY_CALLS:
                self._known_in_a_row += 1
            return Met(found, order, leaves)
        return self._add(key, roots, order, leaves, forward)

    def _meet_parameters(self, roots: Sequence[Any], forward: TrainingForward) -> Met | None:
        key = self._parameters.signature()
        found = self._found.get(key)
        if found is not None and (found.is_noted or not forward.has_notes):
            if self._is_on_many_threads() and not self._are_ours(reach(roots)[1]):
                return None
            self.wants_notes = False
            return Met(found)
        order, leaves, _ = reach(roots)
        if not self._are_ours(leaves):
            return None
        met = self._add(key, roots, order, leaves, forward)
        return None if met is None else Met(met.structure, is_new=met.is_new)

    def _are_ours(self, leaves: Sequence[torch.Tensor]) -> bool:
        own = self._parameters.known
        return any(id(leaf) in own for leaf in leaves)

    def _is_on_many_threads(self) -> bool:
        """Return whether other threads run backwards, which may run at the same time over other models."""
        self._is_on_many = self._is_on_many or threading.get_ident() != self._thread
        return self._is_on_many

    def _add(
        self,
        key: Hashable,
        roots: Sequence[Any],
        order: Sequence[AutogradNode],
        leaves: Sequence[torch.Tensor],
        forward: TrainingForward,
    ) -> Met | None:
        if len(self._found) >= MOST_GRAPHS:
            self.wants_notes = False
            return None if self.last is None else Met(self.last)
        if self.is_settled:
            self._enough *= _MORE_SETTLED
        self._known_in_a_row = 0
        before = self._found.pop(key, None)
        tries = 1 if before is None else before.tries + 1
        built = self._build(roots, forward)
        structure = self._structure(built, order, leaves, forward, tries)
        self.wants_notes = not structure.is_noted
        self._found[key] = structure
        return Met(structure, order, leaves, True)

    def _structure(
        self,
        built: BuiltGraph,
        order: Sequence[AutogradNode],
        leaves: Sequence[torch.Tensor],
        forward: TrainingForward,
        tries: int,
    ) -> Structure:
        wanted, whole = self._select(built)
        offsets = built.graph.slot_offsets.tolist()
        drawn = {identity: offsets[index] for identity, index in built.drawn.items()}
        rows = {
            identity: row
            for identity, row in drawn.items()
            if identity in self._parameters.known and (wanted is None or row in wanted)
        }
        nodes = enumerate(built.graph.nodes)
        roots = tuple(offsets[index] for index, node in nodes if node.kind == "root")
        replay = Replay(built, order, leaves, wanted)
        # A part of the graph that existed before, such as a hidden state that is carried on, never has names.
        is_noted = forward.has_notes and (tries >= _TRIES or forward.has_followed(order))
        given = {of: offsets[index] for of, index in built.given.items()}
        own = self._select_own(built, wanted)
        return Structure(replay, rows, roots, whole, is_noted, tries, given, own)
