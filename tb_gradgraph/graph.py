"""The types that all rooms share: graph, node, slot, edge, scope, and one recorded backward pass."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from tb_gradgraph.own_statistics import OwnMeasure
from tb_gradgraph.statistics import StatisticsTable

#: The beginning of the note of a node that a user's torch.autograd.Function made.
OF_FUNCTION = "torch.autograd.Function "
#: Ends the objective of a pass whose gradient was cleared before an optimizer of the watch stepped.
CLEARED = " (cleared before an optimizer stepped)"
#: operation: an autograd node (grad_fn), or a traced forward operation whose output needs no gradient.
#: parameter: a leaf that the model owns. leaf: any other tensor that requires grad and has no grad_fn.
#: input: a tensor handed to the model. buffer: one that the model holds. constant: any other tensor
#: without gradient. root: what was differentiated (a loss or an output).
NodeKind = Literal["operation", "parameter", "leaf", "input", "buffer", "constant", "root"]
NODE_KINDS: tuple[NodeKind, ...] = (
    "operation", "parameter", "leaf", "input", "buffer", "constant", "root",
)  # fmt: skip
#: The label of a kind, if it differs from the kind itself.
KIND_LABELS: Mapping[NodeKind, str] = {"root": "loss or output"}

#: Why no gradient can arrive at a node, if that is known; ``Node.note`` says it in a sentence.
#: frozen: it does not require grad. unused: the forward did not use it. no_grad: used only by
#: operations without gradient. cut: detached from the loss at some place. not_in_loss: its results
#: are not part of the objective. "": a gradient can arrive, or the reason is unknown.
NoGradientReason = Literal["", "frozen", "unused", "no_grad", "cut", "not_in_loss"]
NO_GRADIENT_REASONS: tuple[NoGradientReason, ...] = (
    "", "frozen", "unused", "no_grad", "cut", "not_in_loss",
)  # fmt: skip
#: The same as a short label, for a box of the panel.
REASON_LABELS: Mapping[NoGradientReason, str] = {
    "frozen": "frozen",
    "unused": "unused",
    "no_grad": "under no_grad",
    "cut": "cut off",
    "not_in_loss": "not in loss",
}

NO_SCOPE = -1
#: The type of a slot of which only is known that it is a tensor.
UNKNOWN_DTYPE = "unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class Slot:
    """One output of a node: the tensor to which a gradient belongs."""

    name: str  # variable or qualified name; "" if none was found
    shape: tuple[int, ...]
    dtype: (
        str  # torch's name without "torch."; ``UNKNOWN_DTYPE`` if neither it nor the shape is known
    )
    requires_grad: bool = True
    retains_grad: bool = False
    placement: str = ""  # how its gradient is split over processes; "": it is not

    @property
    def has_shape(self) -> bool:
        """Return whether shape and type are known; if not, the shape is ``()``."""
        return self.dtype != UNKNOWN_DTYPE

    @property
    def is_part(self) -> bool:
        """Return whether its numbers cover only a part of the gradient, which this process has."""
        return any(how.rpartition(":")[2] != "R" for how in self.placement.split(",") if how)


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """An operation, or a tensor that no operation made. It has one slot for each tensor that it makes.

    ``key`` identifies the node at other steps and in other runs: ``scope
    path#call/operation.ordinal`` for operations, ``kind:name`` for the rest.
    """

    key: str
    name: str
    kind: NodeKind
    operation: (
        str  # autograd's name, such as "MulBackward0", or the forward operation's; "" for tensors
    )
    scope: int  # index into Graph.scopes, or NO_SCOPE
    slots: tuple[Slot, ...]
    is_leaf: bool
    source: str = ""  # "path/file.py:12 in forward"
    order: int = 1
    aliases: tuple[str, ...] = ()  # further names of a tied parameter
    note: str = ""  # one sentence: why it is opaque, or has no gradient
    reason: NoGradientReason = ""
    #: The call of a torch function that made it together with other nodes, so that only what the
    #: call returned was seen; "" if it is alone, or if calls were not seen.
    inside: str = ""

    @property
    def requires_grad(self) -> bool:
        """Return whether any output requires a gradient."""
        return any(slot.requires_grad for slot in self.slots)


@dataclasses.dataclass(frozen=True, slots=True)
class Edge:
    """The use of a slot by a node. Data flows along it, and the gradient flows against it."""

    source: int
    source_slot: int
    target: int
    target_input: int


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """One call of a module: ``lin#2`` is the third call of ``lin``."""

    path: str  # qualified name; "" for the model itself
    call: int
    module: str  # class name
    parent: int  # index of the enclosing call, or NO_SCOPE


@dataclasses.dataclass(frozen=True)
class Graph:
    """The structure of one forward's graph, with nodes in forward order.

    Numbers are stored in *rows*. Row k belongs to the k-th slot, counted over all nodes in order.
    After the slots there is one row for each edge whose slot has several users, because such an
    edge carries only its own share of the slot's gradient.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    scopes: tuple[Scope, ...]

    @functools.cached_property
    def slot_offsets(self) -> np.ndarray:
        """The first row of each node; one more entry gives the number of slots."""
        counts = [len(node.slots) for node in self.nodes]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)

    @functools.cached_property
    def slot_count(self) -> int:
        """The number of slots of all nodes."""
        return int(self.slot_offsets[-1])

    @functools.cached_property
    def edge_rows(self) -> np.ndarray:
        """The row of each edge: the row of its slot if it is the only use of the slot, else its own row."""
        offsets = self.slot_offsets.tolist()
        slot_of = np.array(
            [offsets[edge.source] + edge.source_slot for edge in self.edges], np.int64
        )
        consumers = np.bincount(slot_of, minlength=self.slot_count)
        shared = consumers[slot_of] > 1 if len(slot_of) else np.zeros(0, bool)
        own = self.slot_count + np.cumsum(shared) - 1
        return np.where(shared, own, slot_of)

    @functools.cached_property
    def row_count(self) -> int:
        """The number of rows: slots, then edges with their own share."""
        rows = self.edge_rows
        return max(self.slot_count, int(rows.max()) + 1 if len(rows) else 0)

    @functools.cached_property
    def users(self) -> Mapping[int, Sequence[int]]:
        """Indices of the nodes that use a slot, by the slot's row."""
        found: dict[int, list[int]] = {}
        offsets = self.slot_offsets.tolist()
        for edge in self.edges:
            found.setdefault(offsets[edge.source] + edge.source_slot, []).append(edge.target)
        return found

    def placed(self, placements: Mapping[int, str]) -> Graph:
        """Return the graph with ``Slot.placement`` set, by row."""
        nodes = list(self.nodes)
        offsets = self.slot_offsets.tolist()
        for index, (node, first) in enumerate(zip(self.nodes, offsets)):
            slots = tuple(
                dataclasses.replace(slot, placement=placements.get(first + nr, slot.placement))
                for nr, slot in enumerate(node.slots)
            )
            if slots != node.slots:
                nodes[index] = dataclasses.replace(node, slots=slots)
        return dataclasses.replace(self, nodes=tuple(nodes))

    @functools.cached_property
    def part_rows(self) -> frozenset[int]:
        """Rows of slots of whose gradient this process has only a part."""
        slots = (slot for node in self.nodes for slot in node.slots)
        return frozenset(row for row, slot in enumerate(slots) if slot.is_part)

    @functools.cached_property
    def row_keys(self) -> tuple[str, ...]:
        """The stable name of each row, which joins the numbers of different graphs to one series."""
        keys = [f"{node.key}:{nr}" for node in self.nodes for nr in range(len(node.slots))]
        keys += [""] * (self.row_count - len(keys))
        for edge, row in zip(self.edges, self.edge_rows.tolist()):
            if row >= self.slot_count:
                source, target = self.nodes[edge.source], self.nodes[edge.target]
                keys[row] = f"{source.key}:{edge.source_slot}->{target.key}:{edge.target_input}"
        return tuple(keys)

    @functools.cached_property
    def hash(self) -> str:
        """A hash of the structure, without values and source lines, as 16 hexadecimal digits."""
        parts = []
        for node in self.nodes:
            slots = [(slot.shape, slot.dtype, slot.requires_grad) for slot in node.slots]
            parts.append(repr((node.key, node.kind, node.operation, node.order, slots)))
        parts += [
            f"{edge.source}.{edge.source_slot}>{edge.target}.{edge.target_input};"
            for edge in self.edges
        ]
        return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]


def is_step(step: int) -> bool:
    """Return whether a step can be stored: TensorBoard uses signed 64-bit integers."""
    return -(2**63) <= step < 2**63


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """The facts about its step that a record holds besides its numbers.

    To add a fact, add a field here. The code that writes, reads, serves and exports facts loops
    over :data:`FACTS`. A fact is stored in the column of the same name in ``gradgraph.proto``. The
    texts of a record are stored in the order of the fields.
    """

    #: What was differentiated: "loss_fn(output)", "sum of all floating outputs", ...
    objective: str = dataclasses.field(metadata={"plural": "objectives", "is_always_stored": True})
    #: One of ``statistics.STAGES``, or ``statistics.FORWARD``.
    stage: str = dataclasses.field(
        default="backward", metadata={"plural": "stages", "is_always_stored": True}
    )
    #: The factor of a GradScaler on the loss, which was divided out of all numbers.
    loss_scale: float = dataclasses.field(default=1.0, metadata={"plural": "loss_scales"})
    #: Whether the GradScaler skipped this optimizer step.
    skipped: bool = dataclasses.field(default=False, metadata={"plural": "skipped"})
    #: The cadence of the watch; 0: not recorded by ``watch``.
    every_n_steps: int = dataclasses.field(default=0, metadata={"plural": "every_n_steps"})
    #: Share of the time since the last recorded step that recording took; 0: unknown.
    cost: float = dataclasses.field(default=0.0, metadata={"plural": "costs"})


class Fact(NamedTuple):
    """A field of :class:`StepFacts`, for loops over all facts."""

    name: str
    plural: str  # the column of many records in ``runs``
    is_text: bool  # stored as an index into a table of texts
    is_always_stored: bool  # otherwise only if some record of a segment differs from the default
    default: Any  # the value for records of writers that did not have the fact


def _fact(field: dataclasses.Field[Any]) -> Fact:
    is_always_stored = field.metadata.get("is_always_stored", False)
    is_text = field.type in ("str", str)
    return Fact(field.name, field.metadata["plural"], is_text, is_always_stored, field.default)


FACTS: tuple[Fact, ...] = tuple(map(_fact, dataclasses.fields(StepFacts)))


@dataclasses.dataclass(frozen=True)
class Record(StepFacts):
    """One backward pass over one graph at one step, or one stage of its optimizer's step.

    ``gradients`` and ``values`` hold whole tensors by row (float32, float64, complex64 or
    complex128; 16-bit floats are widened): the small ones, and those that the user asked to retain.
    If no backward ran, only the structure was written, and ``table`` has no row present.
    """

    tag: str
    graph_hash: str
    step: int
    wall_time: float  # seconds since the epoch
    backward_pass: int  # 0, 1, ... for this graph at this step
    table: StatisticsTable
    gradients: Mapping[int, np.ndarray] = dataclasses.field(default_factory=dict)
    values: Mapping[int, np.ndarray] = dataclasses.field(default_factory=dict)
    #: Rows that could not be read, and why.
    unread: Mapping[int, str] = dataclasses.field(default_factory=dict)
    #: Numbers of the record as a whole, by name (``docs/quantities.md``).
    quantities: Mapping[str, float] = dataclasses.field(default_factory=dict)
    #: Why a quantity is missing that one might expect, by name.
    quantity_reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Numbers of statistics of the user's own, by name and row (``docs/statistics.md``).
    own: Mapping[str, Mapping[int, float]] = dataclasses.field(default_factory=dict)
    #: What is known about them, by name.
    own_measures: Mapping[str, OwnMeasure] = dataclasses.field(default_factory=dict)
