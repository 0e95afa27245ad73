"""What another training's loss sends through a watched net, and gradients that nobody used."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.graph import CLEARED
from tests.logged import read_tensor
from tests.training.loops import Bare, Log, run_both, small_net, state_of

LEVELS = ("param", "module", "op")
BOTH = ("backward", "applied")


class Gan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.g = nn.Linear(2, 3)
        self.d = nn.Linear(3, 1)


def _adversarial(critics: int, detaches: bool, set_to_none: bool, steps: int = 4) -> Any:
    """A loop as tutorials write it: each optimizer clears its own gradients before its backward."""

    def loop(run: Bare) -> Any:
        gan = Gan()
        of_d = torch.optim.SGD(gan.d.parameters(), 0.1)
        of_g = torch.optim.Adam(gan.g.parameters(), 0.1)
        run.watch(gan.d, optimizer=of_d, tag="d")
        run.watch(gan.g, optimizer=of_g, tag="g")
        for step in range(steps):
            for critic in range(critics):
                fake = gan.g(torch.randn(4, 2))
                loss_d = (
                    gan.d(fake.detach() if detaches else fake) - gan.d(torch.ones(4, 3))
                ).mean()
                of_d.zero_grad(set_to_none)
                loss_d.backward()
                _note(run, step * critics + critic, gan.d, "d")
                with run.stepping(step * critics + critic, gan.d, tag="d"):
                    of_d.step()
            of_g.zero_grad(set_to_none)
            loss_g = -gan.d(gan.g(torch.randn(4, 2))).mean()
            loss_g.backward()
            _note(run, step, gan.g, "g")
            with run.stepping(step, gan.g, tag="g"):
                of_g.step()
        return state_of(gan, of_d, of_g)

    return loop


def _note(run: Bare, step: int, net: nn.Module, tag: str) -> None:
    for stage in BOTH:
        run.note(step, stage, net, tag=tag)


def _places(log: Log, *stages: str) -> list[Any]:
    return [place for place in log.places if place[1] in stages]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize(("critics", "detaches"), [(1, True), (1, False), (3, True), (12, False)])
def test_a_step_of_each_net_is_one_pass_of_its_own_loss(
    critics: int, detaches: bool, set_to_none: bool, level: str, tmp_path: pathlib.Path
) -> None:
    """Nor is there a step at the end for what came through after the last one."""
    run_both(_adversarial(critics, detaches, set_to_none), tmp_path, level=level)
    for tag, steps in (("d", 4 * critics), ("g", 4)):
        log = Log(tmp_path, tag)
        assert _places(log, *BOTH) == [(s, stage, 0) for s in range(steps) for stage in BOTH]
        assert {record.objective for record in log.records} == {f"loss_{tag}"}


def test_what_is_not_cleared_is_used_and_so_recorded(tmp_path: pathlib.Path) -> None:
    """The mistake of a GAN that never clears what its generator's loss leaves in the discriminator."""

    def loop(run: Bare) -> Any:
        gan = Gan()
        of_d = torch.optim.SGD(gan.d.parameters(), 0.1)
        of_g = torch.optim.SGD(gan.g.parameters(), 0.1)
        run.watch(gan.d, optimizer=of_d)
        for step in range(3):
            number = min(step, 1)
            loss_d = gan.d(gan.g(torch.randn(4, 2)).detach()).mean()
            run.note_parts(step, loss_d, gan.d, number)
            loss_d.backward()
            run.note(step, "applied", gan.d, number)
            of_d.step()
            of_d.zero_grad()
            of_g.zero_grad()
            loss_g = -gan.d(gan.g(torch.randn(4, 2))).mean()
            if step < 2:
                run.note_parts(step + 1, loss_g, gan.d)
            loss_g.backward()
            of_g.step()
        return state_of(gan)

    log = run_both(loop, tmp_path)
    assert _places(log, "backward") == [
        (0, "backward", 0), (1, "backward", 0), (1, "backward", 1), (2, "backward", 0),
        (2, "backward", 1),
    ]  # fmt: skip


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("level", LEVELS)
def test_one_watch_of_both_with_a_scaler(
    level: str, set_to_none: bool, tmp_path: pathlib.Path
) -> None:
    """At no stage of an optimizer's step is there what flowed through the other net."""

    def loop(run: Bare) -> Any:
        gan = Gan()
        of = {name: torch.optim.SGD(getattr(gan, name).parameters(), 0.1) for name in "dg"}
        scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
        run.watch(gan, optimizer=list(of.values()))
        for step in range(4):
            for number, name in enumerate("dg"):
                for optimizer in of.values():
                    optimizer.zero_grad(set_to_none)
                loss = gan.d(gan.g(torch.randn(4, 2))).mean() * (-1) ** number
                scaler.scale(loss).backward()
                run.note(step, "backward", gan, number, 64)
                own = dict(getattr(gan, name).named_parameters(prefix=name))
                others = {n: None for n, _ in gan.named_parameters() if n not in own}
                for stage in ("unscaled", "applied"):
                    run.note(step, stage, own, number, 64)
                    run.give(step, stage, others, number)
                scaler.step(of[name])
            scaler.update()
        return state_of(gan)

    log = run_both(loop, tmp_path, level=level)
    stages = ("unscaled", "applied")
    assert _places(log, *stages) == [
        (step, stage, number) for step in range(4) for stage in stages for number in (0, 1)
    ]


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("level", LEVELS)
def test_a_gradient_that_was_left_unused_says_so(
    level: str, set_to_none: bool, tmp_path: pathlib.Path
) -> None:
    """A loop that leaves out the step where a gradient is not finite: that gradient is what one looks for."""

    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        step = number = 0
        for batch in range(5):
            loss = net(torch.randn(4, 3)).square().mean() * (torch.nan if batch in (1, 4) else 1)
            loss.backward()
            run.note(step, "backward", net, number)
            number += 1
            if net[0].weight.grad.isfinite().all():
                run.note(step, "applied", net, number - 1)
                optimizer.step()
                step, number = step + 1, 0
            optimizer.zero_grad(set_to_none)
        return state_of(net)

    log = run_both(loop, tmp_path, level=level)
    said = {place: r.objective for place, r in zip(log.places, log.records) if "back" in place[1]}
    left_out = "loss" + CLEARED
    assert said == {
        (0, "backward", 0): "loss", (1, "backward", 0): left_out, (1, "backward", 1): "loss",
        (2, "backward", 0): "loss", (3, "backward", 0): left_out,
    }  # fmt: skip


def test_an_attack_before_the_training_step(tmp_path: pathlib.Path) -> None:
    """FGSM: the backward for the input's gradient leaves some in the parameters, which is cleared."""

    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(3):
            x = torch.randn(4, 3, requires_grad=True)
            net(x).square().mean().backward()
            run.note(step, "backward", net, 0)
            optimizer.zero_grad()
            net((x + x.grad.sign()).detach()).square().mean().backward()
            for stage in BOTH:
                run.note(step, stage, net, 1)
            optimizer.step()
            optimizer.zero_grad()
        return state_of(net)

    log = run_both(loop, tmp_path)
    marked = [r.objective.endswith(CLEARED) for r in log.records if r.stage == "backward"]
    assert marked == [True, False] * 3


@pytest.mark.parametrize("level", ["module", "op"])
def test_a_training_beside_it_has_nothing_to_do_with_it(level: str, tmp_path: pathlib.Path) -> None:
    """An optimizer of parameters that a pass did not reach has not used it."""
    net, other = small_net(), small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    others = torch.optim.SGD(other.parameters(), 0.1)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level)
        for stepping in (False, True):
            net(torch.ones(2, 3)).sum().backward()
            other(torch.ones(2, 3)).sum().backward()
            others.step()
            if stepping:
                optimizer.step()
            optimizer.zero_grad()
    assert Log(tmp_path).places == [(0, "backward", 0), (0, "backward", 1), (0, "applied", 1)]


def test_an_optimizer_within_another_uses_our_gradients(tmp_path: pathlib.Path) -> None:
    """As of sharpness-aware minimization in two steps, whose inner optimizer is not the one watched."""
    net = small_net()
    inner, optimizer = (torch.optim.SGD(net.parameters(), 0.1) for _ in range(2))
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for stepping in (inner, optimizer):
            net(torch.ones(2, 3)).sum().backward()
            stepping.step()
            stepping.zero_grad()
    log = Log(tmp_path)
    assert log.places == [(0, "backward", 0), (0, "backward", 1), (0, "applied", 1)]
    assert read_tensor(log.run, log.record(0, "backward", 0), "0.weight").statistics is not None
