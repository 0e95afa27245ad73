"""What one watch was asked for, and how far it has come."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.training.reading.parameter_rows import Parameters
from tb_gradgraph.training.reading.structures import Structures
from tb_gradgraph.training.step.applied import HiddenChanges
from tb_gradgraph.training.step.room import UPDATE_MEMORY


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """What is recorded of a training, and where it goes; decided when its watch begins."""

    tag: str
    parameters: Parameters
    structures: Structures
    follows_modules: bool  # whether module calls are followed until the graph is settled
    scaler: Any  # torch.amp.GradScaler that the user named, or None
    is_open: Callable[[], bool]  # whether records are still taken
    tell_end: Callable[[int, Exception], None]  # a fault ends the recording at a step; never raises
    write_graph: Callable[[str, Graph], None]
    write_later: Callable[[Callable[[], Sequence[Record]], int], None]
    is_opaque: bool = False  # whether the model computes with other tensors than its parameters
    update_memory: int = UPDATE_MEMORY  # bytes that copies of weights may take in a step


@dataclasses.dataclass(slots=True)
class Progress:
    """What the recorded steps of one watch have found out, for those that come after them."""

    scaler: Any  # the scaler that was named or found; None while there is none
    hidden: HiddenChanges = dataclasses.field(default_factory=HiddenChanges)
    recorded: int = 0  # steps
    shared: int = 0  # passes left out because another thread ran over the same graph
    told: set[str] = dataclasses.field(default_factory=set)  # nodes already reported as not read
