"""Turn a built graph and the gradients of its backward passes into records."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch

from tb_gradgraph.api.grad_graph import BackwardPass, GradGraph
from tb_gradgraph.api.traced_values import ReadValues, own_of_weights, rows_of_kind
from tb_gradgraph.autograd import (
    BackwardObserver,
    BuiltGraph,
    Selector,
    SlotRows,
    matching_rows,
    selected_rows,
    warn_of_unread,
)
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.quantities import grad_norm
from tb_gradgraph.statistics import (
    FORWARD,
    RETAIN_LIMIT,
    WHOLE_LIMIT,
    StatisticsTable,
)
from tb_gradgraph.summarize import StatisticsBatch, whole_arrays
from tb_gradgraph.training import (
    OwnCalls,
    OwnGradients,
    OwnRows,
    own_rows,
    registered,
)

#: The levels at which values are read unless the user says otherwise: weights cost little. What
#: modules put out would add a tenth to a step of a model with many small modules.
_WITH_VALUES = ("param",)


@dataclasses.dataclass(frozen=True)
class Request:
    """What the user asked to read of a graph."""

    select: Selector = "*"
    exclude: Selector = ()
    retain: Selector = ()
    level: str = "op"
    where: str = "capture()"
    values: bool | None = None  # None: the default of the level

    @property
    def value_level(self) -> str:
        """The level at which values are read; "": none are."""
        reads = self.level in _WITH_VALUES if self.values is None else self.values
        return self.level if reads else ""


def check_values(request: Request) -> None:
    """Raise CaptureError if ``values`` is neither True nor False nor left out."""
    if not (request.values is None or isinstance(request.values, bool)):
        raise CaptureError(
            f"{request.where}: expected values to be True or False, got {request.values!r}."
        )


class GraphRecorder:
    """Makes the observer of one graph, and fills its ``GradGraph`` as backward runs."""

    def __init__(
        self,
        tag: Callable[[Graph], str],
        model: torch.nn.Module | None,
        request: Request,
        on_graph: Callable[[GradGraph], None] | None = None,
        on_pass: Callable[[GradGraph, int, BackwardPass], None] | None = None,
    ) -> None:
        self._tag = tag
        self._model = model
        self._request = request
        self._on_graph = on_graph
        self._on_pass = on_pass
        self.result: GradGraph | None = None
        #: Reads the tensors of the forward; None if values are not wanted.
        self.values: ReadValues | None = None
        self._own = own = OwnCalls(registered())
        if request.value_level or own.of("value"):
            self.values = ReadValues(bool(request.value_level), own)

    def prepare(
        self, built: BuiltGraph, objective: str
    ) -> tuple[BackwardObserver, frozenset[int] | None]:
        """Begin the result for ``built``; return its observer, and the rows to read."""
        request = self._request
        rows = selected_rows(
            built, self._model, request.select, request.exclude, request.level, request.where
        )
        retained = matching_rows(built, self._model, request.retain, request.where)
        warn_of_large(built.graph, retained, request.where)
        result = GradGraph(built.graph, self._tag(built.graph), whole_arrays(built.values))
        result.objective = objective
        if self.values is not None and request.value_level:
            self.values.fill(result, built, self._model, rows)
        own = self._add_own(result, built, rows)
        self.result = result
        if self._on_graph is not None:
            self._on_graph(result)
        on_pass = self._on_pass
        told: set[str] = set()

        def make_sink(number: int) -> _PassSink:
            gradients = OwnGradients(self._own, own, None)
            return _PassSink(result, number, frozenset(retained), on_pass, told, gradients)

        return BackwardObserver(make_sink), rows

    def _add_own(
        self, result: GradGraph, built: BuiltGraph, rows: frozenset[int] | None
    ) -> OwnRows:
        """Add what the user's own statistics give for weights and values; return where they are run."""
        if not self._own.statistics:
            return {}
        own = own_rows(self._own, built, self._model, rows)
        found = [own_of_weights(self._own, built, self._model, own)]
        if self.values is not None:
            found.append(self.values.own(built, own))
        for numbers, measures in found:
            result.own.update(numbers)
            result.own_measures.update(measures)
        return own


def _small_rows(graph: Graph) -> set[int]:
    """Return the rows of slots and edges whose gradients are small enough to be kept whole."""
    shapes = [slot.shape for node in graph.nodes for slot in node.slots]
    is_small = {shape: math.prod(shape) <= WHOLE_LIMIT for shape in set(shapes)}
    small = {row for row, shape in enumerate(shapes) if is_small[shape]}
    offsets = graph.slot_offsets.tolist()
    edges = zip(graph.edges, graph.edge_rows.tolist())
    return small | {row for e, row in edges if offsets[e.source] + e.source_slot in small}


def warn_of_large(graph: Graph, rows: set[int], where: str) -> None:
    """Warn of tensors to retain that are too large to keep whole."""
    if not rows:
        return
    slots = [(node.name, slot) for node in graph.nodes for slot in node.slots]
    large = [
        f"{slot.name or name} of shape {list(slot.shape)}"
        for row, (name, slot) in enumerate(slots)
        if row in rows and slot.requires_grad and math.prod(slot.shape) > RETAIN_LIMIT
    ]
    if large:
        more = f" and {len(large) - 1} more" if len(large) > 1 else ""
        warnings.warn(
            f"{where}: expected tensors to retain to have at most {RETAIN_LIMIT:,} elements, got "
            f"{large[0]}{more}; only the statistics of these are kept.",
            UserWarning,
            stacklevel=2,
        )


class _PassSink:
    """Takes the gradients of one backward pass and adds it to the result."""

    def __init__(
        self,
        result: GradGraph,
        number: int,
        retained: frozenset[int],
        on_pass: Callable[[GradGraph, int, BackwardPass], None] | None,
        told: set[str],
        own: OwnGradients,
    ) -> None:
        """Prepare; ``told`` holds the nodes that earlier warnings have named."""
        self._own = own
        self._told = told
        self._result = result
        self._number = number
        self._retained = retained
        self._on_pass = on_pass
        kept = _small_rows(result.graph) | retained
        self._batch = StatisticsBatch(result.graph.row_count, kept=kept)
        self._placements: dict[int, str] = {}

    def add(self, row: int, gradient: torch.Tensor, placement: str = "") -> None:
        """Reduce one gradient; copy it if it is kept whole and this process has all of it."""
        limit = RETAIN_LIMIT if row in self._retained else WHOLE_LIMIT
        if placement:
            self._placements[row] = placement
        self._batch.add(row, gradient, keep=gradient.numel() <= limit and not placement)
        self._own.see(row, gradient)

    def make_hook(
        self, rows: SlotRows, otherwise: Callable[[Any, Any], None]
    ) -> Callable[..., None] | None:
        """Make a hook that takes a node's gradients itself; None if Python has to get them."""
        if not self._own.rows.isdisjoint(itertools.chain(*rows)):
            return None
        return self._batch.make_hook(rows, otherwise)

    def leave_out(self, row: int, error: Exception) -> None:
        """Note that a gradient could not be read."""
        self._batch.unread.note(row, error)

    def finish(self) -> None:
        """Add the pass to the graph and hand it on."""
        pending = self._batch.reduce()
        own = self._own.choose().collect(self._result.graph)
        found = BackwardPass(*pending.collect(), pending.unread, *own)
        warn_of_unread(self._result.graph, found.unread, self._told)
        if self._placements:
            self._result.graph = self._result.graph.placed(self._placements)
        self._result.backward_passes.append(found)
        if self._on_pass is not None:
            self._on_pass(self._result, self._number, found)


def record_of(
    result: GradGraph, step: int, number: int, found: BackwardPass | None = None
) -> Record:
    """Make the record of one backward pass, or of the structure alone if none ran."""
    found = found or BackwardPass(StatisticsTable.empty(result.graph.row_count), {})
    total = grad_norm(found.table, rows_of_kind(result.graph, ("parameter",)))
    record = _record(result, step, number, found)
    return dataclasses.replace(record, values=result.values, quantities=total)


def forward_record_of(result: GradGraph, step: int, number: int) -> Record | None:
    """Make the record of the values before one backward pass; None if they were not read."""
    table = result.value_table
    if table is None and not result.own_measures:
        return None
    numbers = StatisticsTable.empty(result.graph.row_count) if table is None else table
    found = BackwardPass(numbers, {}, result.value_unread, result.own, result.own_measures)
    values = {} if table is None else result.values
    return dataclasses.replace(_record(result, step, number, found), stage=FORWARD, values=values)


def _record(result: GradGraph, step: int, number: int, found: BackwardPass) -> Record:
    return Record(
        tag=result.tag,
        graph_hash=result.hash,
        step=step,
        wall_time=time.time(),
        backward_pass=number,
        objective=result.objective,
        table=found.table,
        gradients=found.gradients,
        unread=found.unread,
        own=found.own,
        own_measures=found.own_measures,
    )
