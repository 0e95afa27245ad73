"""Check in a test that a training is healthy."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Sequence

from tb_gradgraph.diagnose import KINDS, RunFinding
from tb_gradgraph.health.logged import findings


class UnhealthyError(AssertionError):
    """Something is wrong with a training.

    Attributes:
        findings: What was found.
    """

    def __init__(self, found: Sequence[RunFinding]) -> None:
        self.findings = tuple(found)
        lines = [
            f"{one.severity} {one.kind}{_where(one)}: {one.text} {one.advice}" for one in found
        ]
        super().__init__("expected a healthy training, got\n  " + "\n  ".join(lines))


def assert_healthy(
    logdir: str | os.PathLike[str],
    *,
    ignore: Iterable[str] = (),
    fail_on: str = "warning",
) -> None:
    """Raise ``UnhealthyError`` if something is wrong with a training below a directory.

    Args:
        logdir: The log directory.
        ignore: Kinds of findings that do not count, such as ``"vanishing"``, or
            ``"dead_units:encoder.*"`` for those at nodes that match.
        fail_on: "error" or "warning": what is at least as bad counts.

    Raises:
        UnhealthyError: An ``AssertionError`` that lists what was found.
        ValueError: If nothing was recorded, or for an unknown kind or severity.
    """
    found = left(findings(logdir), ignore)
    bad = [one for one in found if counts(one, fail_on)]
    if bad:
        raise UnhealthyError(bad)


def counts(finding: RunFinding, fail_on: str) -> bool:
    """Return whether a finding is at least as bad as ``fail_on``."""
    if fail_on not in ("error", "warning"):
        raise ValueError(f'expected fail_on to be "error" or "warning", got {fail_on!r}.')
    return finding.severity == "error" or finding.severity == fail_on


def left(found: Sequence[RunFinding], ignore: Iterable[str]) -> list[RunFinding]:
    """Return the findings that are not ignored.

    Raises:
        ValueError: For a kind that does not exist.
    """
    rules = [rule.partition(":") for rule in ignore]
    for kind, _, _ in rules:
        if kind not in KINDS:
            raise ValueError(f"unknown kind of finding {kind!r}; there are {', '.join(KINDS)}.")
    return [one for one in found if not any(_matches(one, *rule) for rule in rules)]


def _matches(one: RunFinding, kind: str, colon: str, pattern: str) -> bool:
    if one.kind != kind:
        return False
    nodes = one.nodes or (one.node,)
    return not colon or all(fnmatch.fnmatchcase(node, pattern) for node in nodes)


def _where(one: RunFinding) -> str:
    steps = f"step {one.first_step}" + (
        f" to {one.last_step}" if one.last_step > one.first_step else ""
    )
    return f" at {one.node}, {steps}" if one.node else f", {steps}"
