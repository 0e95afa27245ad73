"""Write findings as JSON; docs/findings-schema.md is the contract."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any

from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.health import Training
from tb_gradgraph.version import __version__

#: Raised if something is renamed, removed, or means something else; not if something is added.
SCHEMA = 1
_SPELLED = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def as_json(trainings: Sequence[Training], warnings: Sequence[str]) -> str:
    """Return all trainings and findings as one JSON document.

    NaN and infinity are the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``.
    """
    content = {
        "schema": SCHEMA,
        "tb_gradgraph": __version__,
        "trainings": [_training(each) for each in trainings],
        "findings": [_finding(one) for each in trainings for one in each.found],
        "warnings": list(warnings),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _training(training: Training) -> dict[str, Any]:
    steps = training.steps
    return {
        "run": training.run,
        "tag": training.tag,
        "healthy": training.is_healthy,
        "recorded_steps": len(steps),
        "first_step": steps[0] if steps else None,
        "last_step": steps[-1] if steps else None,
        "has_values": training.has_values,
        "ignored": training.ignored,
        "remarks": list(training.remarks),
    }


def _finding(finding: RunFinding) -> dict[str, Any]:
    found = {each.name: getattr(finding, each.name) for each in dataclasses.fields(finding)}
    numbers = [[step, _spell(number)] for step, number in finding.numbers]
    return {**found, "numbers": numbers, "meaning": finding.meaning}


def _spell(number: float) -> float | str:
    return number if math.isfinite(number) else _SPELLED[str(number)]
