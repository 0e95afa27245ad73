"""A GradScaler: its factor is in no number, however it is found, and skipped steps are marked."""

from __future__ import annotations

import copy
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tb_gradgraph
from tb_gradgraph.statistics import HISTOGRAM_BINS
from tests.summarize.oracle import histogram_of
from tests.training.loops import Bare, Log, run_both, small_net, state_of

FACTOR = 1024.0
HUGE = 3.0e38


def _scaled(
    given: bool = True,
    unscales: bool = False,
    clips: bool = False,
    parts: int = 1,
    make: Callable[..., torch.optim.Optimizer] = torch.optim.SGD,
    factor: float = FACTOR,
    enabled: bool = True,
) -> Any:
    """Make a loop of three steps."""

    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = make(net.parameters(), lr=0.1)
        trainer = _Trainer(torch.amp.GradScaler("cpu", init_scale=factor, enabled=enabled))
        options = {"grad_scaler": trainer.scaler} if given else {}
        run.watch(net, optimizer=optimizer, **options)
        by = factor if enabled else 1.0
        for step in range(3):
            optimizer.zero_grad()
            for part in range(parts):
                loss = net(torch.randn(4, 3)).square().mean()
                run.note_parts(step, loss, net, part)
                trainer.scaler.scale(loss).backward()
            if enabled or parts > 1:
                run.note(step, "unscaled" if enabled else "accumulated", net, parts - 1, by)
            if unscales:
                trainer.scaler.unscale_(optimizer)
            if clips:
                torch.nn.utils.clip_grad_norm_(net.parameters(), 0.01)
                run.note(step, "clipped", net, parts - 1)
            run.note(step, "applied", net, parts - 1, 1 if unscales else by)
            with run.stepping(step, net):
                trainer.scaler.step(optimizer)
            trainer.scaler.update()
        return state_of(net, optimizer), trainer.scaler.state_dict()

    return loop


class _Trainer:
    """Holds the scaler where no variable of the loop does, nor an attribute of one."""

    def __init__(self, scaler: torch.amp.GradScaler) -> None:
        self._held = [scaler]

    @property
    def scaler(self) -> torch.amp.GradScaler:
        return self._held[0]


@pytest.mark.parametrize("given", [True, False], ids=["given", "found"])
@pytest.mark.parametrize(("unscales", "clips"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("parts", [1, 3])
def test_numbers_are_without_the_factor(
    given: bool, unscales: bool, clips: bool, parts: int, tmp_path: pathlib.Path
) -> None:
    log = run_both(_scaled(given, unscales, clips, parts), tmp_path, level="op")
    stages = ["unscaled", *["clipped"] * clips, "applied"]
    each = [("backward", part) for part in range(parts)]
    each += [(stage, parts - 1) for stage in stages]
    assert log.places == [(step, *place) for step in range(3) for place in each]
    assert {record.loss_scale for record in log.records} == {FACTOR}
    assert not any(record.skipped for record in log.records)


@pytest.mark.parametrize(
    ("factor", "has_histograms"), [(1024.0, True), (2.0**-6, True), (2048.0, False)]
)
def test_a_scaler_that_is_found_late_leaves_histograms(
    factor: float, has_histograms: bool, tmp_path: pathlib.Path
) -> None:
    """Where its factor moves them by whole bins, which are two powers of two wide."""
    torch.manual_seed(0)
    net = small_net()
    trainer = _Trainer(torch.amp.GradScaler("cpu", init_scale=factor))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        trainer.scaler.scale(net(torch.randn(4, 3)).square().mean()).backward()
        expected = {n: p.grad.div(factor).flatten().tolist() for n, p in net.named_parameters()}
        trainer.scaler.step(optimizer)
    log = Log(tmp_path)
    for name, gradient in expected.items():
        for stage in ("backward", "unscaled"):
            found = log.tensor(0, stage, name).statistics
            assert found is not None
            own = histogram_of(gradient) if has_histograms else [0] * HISTOGRAM_BINS
            assert list(found.histogram) == own, (name, stage)
        assert sum(log.tensor(0, "applied", name).statistics.histogram) > 0


@pytest.mark.parametrize("given", [True, False], ids=["given", "found"])
@pytest.mark.parametrize("fused", [False, True])
def test_optimizers_that_unscale_themselves(
    given: bool, fused: bool, tmp_path: pathlib.Path
) -> None:
    def adam(parameters: Any, lr: float) -> torch.optim.Optimizer:
        return torch.optim.Adam(parameters, lr, fused=fused)

    log = run_both(_scaled(given, make=adam), tmp_path)
    assert [place[1] for place in log.places] == ["backward", "unscaled", "applied"] * 3


def test_a_scaler_that_is_switched_off(tmp_path: pathlib.Path) -> None:
    log = run_both(_scaled(enabled=False), tmp_path)
    assert [place[1] for place in log.places] == ["backward", "applied"] * 3
    assert {record.loss_scale for record in log.records} == {1.0}


@pytest.mark.parametrize("given", [True, False], ids=["given", "found"])
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("unscales", [False, True])
def test_skipped_steps_count_and_are_marked(
    given: bool, fused: bool, unscales: bool, tmp_path: pathlib.Path
) -> None:
    """The first factor makes infinities; the scaler halves it until there are none."""

    def loop(run: Bare) -> Any:
        net = small_net().double()
        optimizer = torch.optim.Adam(net.parameters(), 0.1, fused=fused)
        trainer = _Trainer(torch.amp.GradScaler("cpu", init_scale=HUGE, backoff_factor=2.0**-60))
        watch = run.watch(
            net, optimizer=optimizer, **({"grad_scaler": trainer.scaler} if given else {})
        )
        taken = []
        for step in range(4):
            loss = (net(torch.ones(4, 3, dtype=torch.double)).float() * 100).square().mean()
            optimizer.zero_grad()
            trainer.scaler.scale(loss).backward()
            before = net[0].weight.detach().clone()
            if unscales:
                trainer.scaler.unscale_(optimizer)
            trainer.scaler.step(optimizer)
            trainer.scaler.update()
            taken.append(not torch.equal(before, net[0].weight))
            assert watch is None or watch.step == step + 1
        assert taken == [False, True, True, True]
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path)
    assert [record.skipped for record in log.records if record.stage == "unscaled"] == [
        True, False, False, False,
    ]  # fmt: skip
    applied = [record.step for record in log.records if record.stage == "applied"]
    assert applied == [1, 2, 3], "a step that was left out applied nothing"
    skipped = log.tensor(0, "unscaled", "2.bias").statistics
    assert skipped is not None and skipped.nonfinite == 2


def test_steps_that_are_not_recorded_and_skipped_count_too(tmp_path: pathlib.Path) -> None:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=HUGE)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, grad_scaler=scaler, every_n_steps=3)
        for step in range(4):
            assert watch.step == step
            optimizer.zero_grad()
            scaler.scale(net(torch.ones(1, 3)).square().sum() * 1e20).backward()
            scaler.step(optimizer)
            scaler.update()
    log = Log(tmp_path)
    assert [(r.step, r.stage, r.skipped) for r in log.records if r.stage != "backward"] == [
        (0, "unscaled", True), (3, "unscaled", True),
    ]  # fmt: skip


def test_one_scaler_of_two_watched_trainings(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        nets = small_net(), small_net()
        optimizers = [torch.optim.SGD(net.parameters(), 0.1) for net in nets]
        scaler = torch.amp.GradScaler("cpu", init_scale=HUGE, backoff_factor=2.0**-118)
        watches = [
            run.watch(net, optimizer=optimizer, grad_scaler=scaler, tag=tag)
            for net, optimizer, tag in zip(nets, optimizers, "ab")
        ]
        for step in range(3):
            for net, optimizer, watch in zip(nets, optimizers, watches):
                optimizer.zero_grad()
                scaler.scale(net(torch.ones(4, 3)).square().sum() * 100).backward()
                scaler.step(optimizer)
                assert watch is None or watch.step == step + 1
            scaler.update()
            if step == 1 and watches[0] is not None:
                watches[0].close()
                watches[0] = None
        for watch in watches[1:]:
            if watch is not None:
                watch.close()
        assert "step" not in vars(scaler)
        return [state_of(*pair) for pair in zip(nets, optimizers)]

    run_both(loop, tmp_path)
    skipped = {
        tag: [r.skipped for r in Log(tmp_path, tag).records if r.stage == "unscaled"]
        for tag in "ab"
    }
    assert skipped == {"a": [True, False], "b": [True, False, False]}


def test_a_scaler_is_copied_and_pickled_without_us(tmp_path: pathlib.Path) -> None:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=FACTOR)
    scaler.scale(torch.ones(()))
    before = dict(vars(scaler))
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, grad_scaler=scaler)
        assert vars(scaler) == before
        for twin in (copy.deepcopy(scaler), pickle.loads(pickle.dumps(scaler))):
            assert twin.get_scale() == FACTOR and twin.state_dict() == scaler.state_dict()
    assert torch.amp.GradScaler.step.__qualname__ == "GradScaler.step"
    assert not hasattr(torch.amp.GradScaler.step, "__wrapped__")
