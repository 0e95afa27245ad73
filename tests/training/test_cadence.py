"""Which steps are recorded, and the budget: on a clock that the test sets."""

from __future__ import annotations

import pathlib

import pytest
import torch

import tb_gradgraph
from tb_gradgraph.training.cadence import Cadence
from tests.logged import read_one_run
from tests.training.loops import small_net

BARE, RECORDED = 1.0, 3.0  # seconds of a step


class Training:
    """Steps of known length, and those of them that a cadence chose."""

    def __init__(self, every_n_steps: int, budget: float | None) -> None:
        self.now = 0.0
        self.cadence = Cadence(every_n_steps, budget, lambda: self.now)
        self.recorded: list[int] = []
        self.step = 0

    def run(self, steps: int, pause_at: int = -1) -> None:
        for _ in range(steps):
            due = self.cadence.is_due(self.step)
            self.now += RECORDED if due else BARE
            self.now += 100 if self.step == pause_at else 0
            self.cadence.end_step(self.step, due)
            self.recorded += [self.step] if due else []
            self.step += 1


@pytest.mark.parametrize("every_n_steps", [1, 3, 50])
def test_without_a_budget_multiples_are_recorded(every_n_steps: int) -> None:
    training = Training(every_n_steps, None)
    training.run(200)
    assert training.recorded == list(range(0, 200, every_n_steps))


@pytest.mark.parametrize("budget", [0.02, 0.1])
@pytest.mark.parametrize("every_n_steps", [1, 10])
def test_a_budget_is_kept(every_n_steps: int, budget: float) -> None:
    training = Training(every_n_steps, budget)
    training.run(5000)
    own = len(training.recorded) * (RECORDED - BARE)
    share = own / training.now
    assert 0.8 * budget < share <= 1.05 * budget  # the first steps find it out
    assert training.cadence.cost == pytest.approx(share, rel=0.1)
    assert training.cadence.every_n_steps > every_n_steps


def test_a_budget_that_is_kept_anyway_changes_nothing() -> None:
    training = Training(500, 0.1)
    training.run(3000)
    assert training.recorded == list(range(0, 3000, 500))


def test_an_evaluation_within_a_recorded_step_is_no_cost_of_ours() -> None:
    training = Training(10, 0.02)
    training.run(2000)
    before = training.cadence.every_n_steps
    training.run(2000, pause_at=training.recorded[-1] + before)
    assert training.cadence.every_n_steps == before


def test_the_cadence_and_its_cost_are_recorded(tmp_path: pathlib.Path) -> None:
    net = small_net()
    share = (RECORDED - BARE) / (RECORDED + 3 * BARE)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, every_n_steps=4, level="op")
        now = 0.0
        watch._steps.cadence = Cadence(4, clock=lambda: now)
        for step in range(13):
            now += BARE if step % 4 else RECORDED
            net(torch.randn(2, 3)).sum().backward()
        assert watch.every_n_steps == 4
        assert watch.cost == pytest.approx(share)
    records = read_one_run(tmp_path).records
    assert [record.step for record in records] == [0, 4, 8, 12]
    assert {record.every_n_steps for record in records} == {4}
    assert records[0].cost == records[1].cost == 0, "nothing to compare with yet"
    assert records[-1].cost == pytest.approx(share)
