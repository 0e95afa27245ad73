"""The settings of one watch, and its progress."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.training.own.own_calls import OwnCalls
from tb_gradgraph.training.own.own_values import Places
from tb_gradgraph.training.quantities.loss_terms import Meetings
from tb_gradgraph.training.quantities.notes import Latest
from tb_gradgraph.training.reading.parameter_rows import Parameters
from tb_gradgraph.training.reading.structures import Structures
from tb_gradgraph.training.step.applied import HiddenChanges
from tb_gradgraph.training.step.room import UPDATE_MEMORY
from tb_gradgraph.training.step.weights import Copies
from tb_gradgraph.training_facts import TrainingFacts


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """What a watch records, and where it writes. It is fixed when the watch begins."""

    tag: str
    parameters: Parameters
    structures: Structures
    follows_modules: bool  # whether module calls are followed while graphs are new
    scaler: Any  # torch.amp.GradScaler that the user named, or None
    is_open: Callable[[], bool]  # whether records are still taken
    tell_end: Callable[[int, Exception], None]  # an error ends the recording at a step
    write_graph: Callable[[str, Graph], None]
    write_later: Callable[[Callable[[], Sequence[Record]], int], None]
    write_facts: Callable[[Callable[[], TrainingFacts]], None]
    flush: Callable[[float], None]  # waits so many seconds for the log
    is_opaque: bool = False  # whether the model computes with tensors other than its parameters
    update_memory: int = UPDATE_MEMORY  # bytes for copies of weights in a step
    #: What the names of each optimizer's groups begin with, by ``id``.
    prefixes: Mapping[int, str] = dataclasses.field(default_factory=dict)
    level: str = "param"  # what is read, as for ``watch``
    reads_values: bool = False
    own: OwnCalls = dataclasses.field(default_factory=lambda: OwnCalls(()))
    #: Makes what steps are recorded with in detail, from this; None: such steps are like others.
    denser: Callable[[Setting], Setting] | None = None
    find: Callable[[], list[Any]] = list  # what looks wrong in what was written so far


@dataclasses.dataclass(slots=True)
class Progress:
    """What the recorded steps of one watch have found, for the steps after them."""

    scaler: Any  # the scaler that was named or found; None while there is none
    hidden: HiddenChanges = dataclasses.field(default_factory=HiddenChanges)
    recorded: int = 0  # how many steps
    shared: int = 0  # passes left out because another thread ran over the same graph
    told: set[str] = dataclasses.field(default_factory=set)  # nodes that a warning has named
    latest: Latest = dataclasses.field(default_factory=Latest)  # quantities
    meetings: Meetings = dataclasses.field(default_factory=dict)  # where terms of losses meet
    copies: Copies = dataclasses.field(default_factory=Copies)  # memory for those of weights
    places: Places = dataclasses.field(default_factory=dict)  # of own statistics of values
