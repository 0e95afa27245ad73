"""One sample, bare and watched."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from tests.bits.outcome import Outcome, differing
from tests.bits.samples import Sample
from tests.bits.shell import Shell, visit

SEED = 5
VISITS = 2  # the first over a new graph, where most is on, the second over a known one

#: They give memory that nobody has written to: it may happen to be the same twice, and then not.
UNWRITTEN = re.compile(r"(new_)?empty(_like|_permuted|_strided)?$|resize_?$|resize_as_$")

Outcomes = list[list[Outcome]]  # by visit and way


@dataclasses.dataclass(frozen=True)
class Result:
    """What comparing one sample in one way came to."""

    place: str
    left_out: str = ""  # in what two bare runs differ
    differs: str = ""  # in what, and at which visit
    raises: str = ""  # what it raises bare; watched it does so too


class Checker:
    """Compares samples, each with its own watch, because then its graph is new."""

    def __init__(self, writer: Any, level: str) -> None:
        self._writer, self._level = writer, level

    def check(self, sample: Sample) -> Iterator[Result]:
        """Run a sample bare twice, then watched, all ways in one graph; one by one where that fails."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = _visits(Shell(sample.ways))
            with _unwritten_memory_filled(UNWRITTEN.match(sample.operator) is not None):
                again = _visits(Shell(sample.ways))
            is_odd = expected != again or any(outcome.error for outcome in expected[0])
            if is_odd and len(sample.ways) > 1:
                for single in sample.split():
                    yield from self.check(single)
            elif expected != again:
                yield Result(sample.place, left_out=_differences(again, expected, 0))
            else:
                yield from _compare(sample, self._watched(Shell(sample.ways)), expected)

    def _watched(self, shell: Shell) -> Outcomes:
        options: Any = {"level": self._level, "every_n_steps": 1, "tag": "bits", "strict": True}
        options["values"] = True
        watch = self._writer.watch(shell, **options)
        found = _visits(shell)
        ran = sum(not outcomes[0].error for outcomes in found)
        assert watch.step == ran, f"{ran} passes ran, {watch.step} were followed"
        watch.close()
        return found


@contextlib.contextmanager
def _unwritten_memory_filled(is_filled: bool) -> Iterator[None]:
    """Have torch write NaN or the greatest integer where it otherwise leaves what was there."""
    torch.use_deterministic_algorithms(is_filled)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def _compare(sample: Sample, found: Outcomes, expected: Outcomes) -> Iterator[Result]:
    for number, single in enumerate(sample.split()):
        raises = expected[0][number].error
        yield Result(single.place, differs=_differences(found, expected, number), raises=raises)


def _visits(shell: Shell) -> Outcomes:
    return [visit(shell, SEED) for _ in range(VISITS)]


def _differences(found: Outcomes, expected: Outcomes, way: int) -> str:
    parts = [
        f"{' and '.join(different)} at visit {number}"
        for number, (own, bare) in enumerate(zip(found, expected), 1)
        if (different := differing(own[way], bare[way]))
    ]
    return ", ".join(parts)
