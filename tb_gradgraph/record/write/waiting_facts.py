"""Facts of trainings that wait for the next chunk."""

from __future__ import annotations

from tb_gradgraph.training_facts import TrainingFacts

#: How many are written with one chunk; more could exceed what readers accept.
_AT_ONCE = 4


class WaitingFacts:
    """Facts by tag, until it is sure that they are in the file. The latest of a tag counts."""

    def __init__(self) -> None:
        self._known: dict[str, TrainingFacts] = {}
        self._waiting: dict[str, None] = {}  # tags
        self._sent: dict[str, tuple[str, ...]] = {}  # tags of facts, by the chunk's tag

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def explain(self) -> bool:
        """Whether some say why nothing was recorded, so that they are written without records."""
        return any(self._known[tag].why_nothing for tag in self._waiting)

    def add(self, facts: TrainingFacts) -> None:
        """Write ``facts`` with the next chunk."""
        self._known[facts.tag] = facts
        self._waiting[facts.tag] = None

    def next(self) -> list[TrainingFacts]:
        """Return those that the next chunk is to hold."""
        return [self._known[tag] for tag in list(self._waiting)[:_AT_ONCE]]

    def sent(self, chunk: str) -> None:
        """Note that the next ones were sent with the chunk of this tag."""
        self._sent[chunk] = tuple(facts.tag for facts in self.next())
        for tag in self._sent[chunk]:
            del self._waiting[tag]

    def lost(self, chunk: str) -> None:
        """Send those of a chunk again, because it is not in the file."""
        self._waiting.update(dict.fromkeys(self._sent.pop(chunk, ())))

    def settle(self) -> None:
        """Note that all chunks that were sent are in the file, or were named as lost."""
        self._sent.clear()
