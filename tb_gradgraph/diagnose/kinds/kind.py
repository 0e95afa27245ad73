"""One kind of finding: its severity, what it means, and what to do."""

from __future__ import annotations

import dataclasses
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """The properties that all findings of one kind share.

    Attributes:
        name: Stable, for filters and tests.
        severity: How severe it is.
        meaning: What it says about the training, in a sentence.
        advice: What to do, in a sentence or two.
        when: When it is true: its thresholds, and where they come from.
        silent: What makes it silent.
        lasts: The share of a run's examined steps that must show it. Below that it is a note, below
            half of that nothing: stochastic depth and zero initialization are healthy. 0: once is
            enough.
        milder: Its severity if the rule calls it mild; ``None`` if the rule never does.
        is_of_node: Whether it concerns a node. Then the same finding at another node is a new
            finding. Otherwise it concerns the step, whichever node it names.
        is_of_nonfinite: Whether it is about NaN or infinity.
    """

    name: str
    severity: Severity
    meaning: str
    advice: str
    when: str = ""
    silent: str = ""
    lasts: float = 0.0
    milder: Severity | None = None
    is_of_node: bool = False
    is_of_nonfinite: bool = False
