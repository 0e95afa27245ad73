"""Join the sessions of one run: if they repeat steps, later records hide earlier ones."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from tb_gradgraph.statistics import FORWARD, STAGES
from tb_gradgraph.training_facts import TrainingFacts

_STAGE_ORDER = {stage: number for number, stage in enumerate(STAGES)}

#: How to avoid that records are hidden.
CURE = (
    "a script that resumes a training sets watch.step = n before its loop; a training that starts "
    "from scratch gets its own directory"
)


class Locatable(Protocol):
    """A record, or its index, with the tag, step, backward pass and stage that it belongs to."""

    @property
    def tag(self) -> str: ...  # noqa: D102

    @property
    def step(self) -> int: ...  # noqa: D102

    @property
    def backward_pass(self) -> int: ...  # noqa: D102

    @property
    def stage(self) -> str: ...  # noqa: D102


Located = TypeVar("Located", bound=Locatable)


@dataclasses.dataclass(frozen=True, slots=True)
class HiddenRecords:
    """Records of one tag and session that a later session of the run replaces.

    Attributes:
        tag: The records' tag.
        session: The session's name.
        number: The number of the session in the run, from 1 on.
        by: The number of the session that hides them.
        from_step: The step at which that session began.
        records: How many records are hidden.
        steps: Their steps, each once, ascending.
    """

    tag: str
    session: str
    number: int
    by: int
    from_step: int
    records: int
    steps: tuple[int, ...]

    @property
    def text(self) -> str:
        """Return a sentence about them."""
        first, last = self.steps[0], self.steps[-1]
        span = (
            f"step {first}" if first == last else f"{len(self.steps):,} steps, {first} to {last},"
        )
        records = "1 record" if self.records == 1 else f"{self.records:,} records"
        return (
            f"{records} of tag {self.tag} at {span} of session {self.number} ({_began(self.session)}) "
            f"are hidden: session {self.by} began at step {self.from_step} in the same directory."
        )


def session_run(run: str, number: int) -> str:
    """Return the name of one session of a run, when it is shown separately."""
    return f"{run} (session {number})"


def find_hidden(sessions: Mapping[str, Sequence[Located]]) -> list[HiddenRecords]:
    """Find the records of gradients that ``join_sessions`` leaves out, by tag and session."""
    names = sorted(sessions)
    firsts = [_first_steps(sessions[name]) for name in names]
    found = []
    for at, name in enumerate(names):
        for tag in firsts[at]:
            later = {by: firsts[by][tag] for by in range(at + 1, len(names)) if tag in firsts[by]}
            if not later:
                continue
            by = min(later, key=later.__getitem__)
            hidden = {
                (record.step, record.backward_pass, record.stage)
                for record in sessions[name]
                if record.tag == tag and record.step >= later[by] and record.stage != FORWARD
            }
            if hidden:
                steps = tuple(sorted({step for step, _, _ in hidden}))
                found.append(
                    HiddenRecords(tag, name, at + 1, by + 1, later[by], len(hidden), steps)
                )
    return found


def latest_facts(sessions: Mapping[str, Mapping[str, TrainingFacts]]) -> dict[str, TrainingFacts]:
    """Return the facts of each tag, as the latest of several sessions says."""
    return {tag: facts for session in sorted(sessions) for tag, facts in sessions[session].items()}


def join_sessions(sessions: Iterable[Sequence[Located]]) -> list[Located]:
    """Join the records of several sessions and sort them by step.

    Sessions are given oldest first, and their records in the order of writing. Within a step, the
    result is sorted by stage and then by backward pass.

    From its first step of a tag on, a later session replaces earlier ones, because it is a training
    that was restarted from a checkpoint. Within a session, a later record of the same backward pass
    and stage replaces an earlier one, because the structure is written before the gradients.
    """
    kept: dict[str, dict[tuple[int, int, str], Located]] = {}
    for session in sessions:
        for tag, step in _first_steps(session).items():
            earlier = kept.get(tag, {})
            kept[tag] = {key: record for key, record in earlier.items() if record.step < step}
        for record in session:
            kept[record.tag][record.step, record.backward_pass, record.stage] = record
    every = [record for records in kept.values() for record in records.values()]
    return sorted(every, key=_place)


def _first_steps(session: Sequence[Locatable]) -> dict[str, int]:
    first: dict[str, int] = {}
    for record in session:
        first[record.tag] = min(record.step, first.get(record.tag, record.step))
    return first


def _place(record: Locatable) -> tuple[str, int, int, int]:
    stage = _STAGE_ORDER.get(record.stage, len(STAGES))
    return record.tag, record.step, stage, record.backward_pass


def _began(session: str) -> str:
    """Return when a session began, from its name."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(int(session[:14], 16) / 1e6))
    except (ValueError, OverflowError, OSError):
        return "begun at an unknown time"
