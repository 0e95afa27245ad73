"""Pass records on to the session, and search them for errors on its thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tb_gradgraph.api.at_step.reaction import Reaction
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.training_facts import TrainingFacts


class Log(Protocol):
    """The session, as far as this module needs it."""

    def write_graph(self, tag: str, graph: Graph) -> None:
        """Queue a graph."""

    def write_later(self, make: Callable[[], Sequence[Record]], size: int = 0) -> None:
        """Queue what makes records."""

    def write_facts(self, make: Callable[[], TrainingFacts]) -> None:
        """Queue what makes facts."""


class Writing:
    """Passes graphs, records and facts on, after a reaction has looked at them.

    Attributes:
        reaction: Tells of what is found; None if nobody wants to know.
    """

    def __init__(self, log: Log, reaction: Reaction | None) -> None:
        self.reaction = reaction
        self._log = log

    def write_graph(self, tag: str, graph: Graph) -> None:
        """Queue a graph for the records to come."""
        if self.reaction is not None:
            self.reaction.know(graph)
        self._log.write_graph(tag, graph)

    def write_later(self, make: Callable[[], Sequence[Record]], size: int) -> None:
        """Queue what makes records."""
        reaction = self.reaction
        found = make if reaction is None else lambda: reaction.looked_at(make())
        self._log.write_later(found, size)

    def write_facts(self, make: Callable[[], TrainingFacts]) -> None:
        """Queue what makes facts."""
        reaction = self.reaction
        found = make if reaction is None else lambda: reaction.looked_at_facts(make())
        self._log.write_facts(found)
