"""The facts of trainings that a run's chunks hold."""

from __future__ import annotations

from collections.abc import Sequence

from tb_gradgraph.training_facts import TrainingFacts


class KeptFacts:
    """Facts by the tag of their chunk, which may be forgotten again."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, Sequence[TrainingFacts]]] = {}  # with the session

    def add(self, chunk: str, session: str, facts: Sequence[TrainingFacts]) -> None:
        """Keep the facts of a chunk."""
        if facts:
            self._found[chunk] = (session, facts)

    def forget(self, chunk: str) -> None:
        """Drop those of a chunk."""
        self._found.pop(chunk, None)

    def by_session(self) -> dict[str, dict[str, TrainingFacts]]:
        """Return the facts of each session by tag; those of later chunks count."""
        found: dict[str, dict[str, TrainingFacts]] = {}
        for _, (session, told) in sorted(self._found.items()):
            found.setdefault(session, {}).update({facts.tag: facts for facts in told})
        return found
