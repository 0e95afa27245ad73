"""What else observes a training, nested with a watch or out of order, sees what it would without.

And the training stays the same, bit for bit.
"""

from __future__ import annotations

import itertools
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.bits.observers import OBSERVERS, Observer, put_back
from tests.bits.outcome import bits_of, seed_all
from tests.bits.trainings import state_of

#: Where an observer may begin and end, as they come by.
PLACES = ("before the watch", "before a forward", "in a forward", "later in a forward",
          "after a forward", "after a backward", "after a step", "after the watch")  # fmt: skip
NESTINGS = [
    (begin, end)
    for begin, end in itertools.combinations(PLACES, 2)
    if (begin, end) != ("before the watch", "before a forward")
]

#: These also see the operations by which gradients are reduced, from the backward on.
SEE_OPERATIONS = ("dispatch mode", "function mode", "profiler")


class Net(nn.Module):
    """Says where it is in its forward."""

    def __init__(self, reach: Callable[[str], None]) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.drop = nn.Dropout(0.2)
        self._reach = reach

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        self._reach(PLACES[2])
        x = self.second(self.drop(x) * 2)
        self._reach(PLACES[3])
        return self.third(x.relu())


class Schedule:
    """Begins and ends an observer at their places in the first step, and notes when it is on."""

    def __init__(self, observer: Observer, begin: str, end: str) -> None:
        self._observer, self._begin, self._end = observer, begin, end
        self._has_begun = self._has_ended = False
        self.on: list[bool] = []

    def reach(self, place: str) -> None:
        if place == self._begin and not self._has_begun:
            self._has_begun = True
            self._observer.begin()
        if self._has_begun and not self._has_ended:
            self.on.append(self._observer.is_on())
        if place == self._end and not self._has_ended:
            self._has_ended = True
            self._observer.end()


def train(schedule: Schedule, logdir: pathlib.Path | None) -> Any:
    """Train two steps; give all that it leaves, in bits."""
    seed_all(0)
    net = Net(schedule.reach)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    schedule.reach(PLACES[0])
    writer = None if logdir is None else tb_gradgraph.SummaryWriter(str(logdir))
    if writer is not None:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, level="op", strict=True)
    for _ in range(2):
        schedule.reach(PLACES[1])
        loss = net(torch.randn(4, 3)).square().mean()
        schedule.reach(PLACES[4])
        loss.backward()
        schedule.reach(PLACES[5])
        optimizer.step()
        optimizer.zero_grad()
        schedule.reach(PLACES[6])
    if writer is not None:
        writer.close()
    schedule.reach(PLACES[7])
    return bits_of(state_of(net, optimizer))


def run(kind: str, begin: str, end: str, logdir: pathlib.Path | None) -> tuple[Any, Any, Any]:
    """Return what the training left, when the observer was on, and what it saw."""
    observer = OBSERVERS[kind]()
    schedule = Schedule(observer, begin, end)
    with put_back(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Anomaly Detection has been enabled")
        state = train(schedule, logdir)
    return state, schedule.on, observer.saw()


@pytest.mark.parametrize("kind", OBSERVERS)
def test_nested_and_out_of_order(kind: str, tmp_path: pathlib.Path) -> None:
    train(Schedule(Observer(), *NESTINGS[0]), None)  # what torch does once it has done
    nestings = NESTINGS[:: 1 if kind != "profiler" else 5]  # a profile takes long to begin
    for number, (begin, end) in enumerate(nestings):
        expected = run(kind, begin, end, None)
        found = run(kind, begin, end, tmp_path / str(number))
        where = f"{kind} from {begin} to {end}"
        assert found[0] == expected[0], f"{where}: the training"
        assert found[1] == expected[1], f"{where}: when it is on"
        assert any(expected[1]), where
        if kind in SEE_OPERATIONS and end not in PLACES[:5]:
            assert is_part_of(expected[2], found[2]), f"{where}: what was seen"
        else:
            assert found[2] == expected[2], f"{where}: what was seen"


def is_part_of(expected: list[Any], found: list[Any]) -> bool:
    """Return whether all of ``expected`` is in ``found``, in the same order."""
    rest = iter(found)
    return all(any(own == each for own in rest) for each in expected)
