"""One and several optimizers, closures, parameters of their own, groups added later."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.record import read_logdir
from tests.logged import read_tensor
from tests.training.loops import Bare, Log, run_both, small_net, state_of

LEVELS = ("param", "module", "op")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_optimizers_of_one_model_after_one_backward(
    order: tuple[int, int], level: str, tmp_path: pathlib.Path
) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizers = [
            torch.optim.SGD(net[0].parameters(), 0.1),
            torch.optim.Adam(net[2].parameters(), 0.1),
        ]
        watch = run.watch(net, optimizer=optimizers)
        for step in range(3):
            for optimizer in optimizers:
                optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            run.note(step, "backward", net)
            run.note(step, "applied", net)
            with run.stepping(step, net):
                for index in order:
                    assert watch is None or watch.step == step
                    optimizers[index].step()
        return state_of(net, *optimizers)

    log = run_both(loop, tmp_path, level=level)
    assert log.places == [(s, stage, 0) for s in range(3) for stage in ("backward", "applied")]


class Gan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.g = nn.Linear(2, 3)
        self.d = nn.Linear(3, 1)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("set_to_none", [True, False])
def test_a_gan_with_a_watch_each(set_to_none: bool, level: str, tmp_path: pathlib.Path) -> None:
    """The gradient that D gets in G's step is no update of D's."""

    def loop(run: Bare) -> Any:
        gan = Gan()
        of_d = torch.optim.SGD(gan.d.parameters(), 0.1)
        of_g = torch.optim.SGD(gan.g.parameters(), 0.1)
        run.watch(gan.d, optimizer=of_d, tag="d")
        run.watch(gan.g, optimizer=of_g, tag="g")
        for step in range(3):
            fake = gan.g(torch.randn(4, 2))
            loss_d = (gan.d(fake.detach()) - gan.d(torch.randn(4, 3))).mean()
            of_d.zero_grad(set_to_none)
            loss_d.backward()
            run.note(step, "backward", gan.d, tag="d")
            run.note(step, "applied", gan.d, tag="d")
            with run.stepping(step, gan.d, tag="d"):
                of_d.step()
            of_g.zero_grad(set_to_none)
            of_d.zero_grad(set_to_none)
            loss_g = -gan.d(fake).mean()
            loss_g.backward()
            run.note(step, "backward", gan.g, tag="g")
            run.note(step, "applied", gan.g, tag="g")
            with run.stepping(step, gan.g, tag="g"):
                of_g.step()
        return state_of(gan, of_d, of_g)

    run_both(loop, tmp_path, level=level)
    for tag in "gd":
        log = Log(tmp_path, tag)
        stages = [place for place in log.places if place[1] in ("backward", "applied")]
        assert stages == [(s, stage, 0) for s in range(3) for stage in ("backward", "applied")]
        assert {record.objective for record in log.records} == {f"loss_{tag}"}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("first", ["d", "g"])
@pytest.mark.parametrize("critics", [1, 3])
def test_a_gan_with_one_watch(critics: int, first: str, level: str, tmp_path: pathlib.Path) -> None:
    """Each optimizer's gradients, and what it did, belong to the pass that they came from."""
    applied: list[tuple[str, float]] = []

    def loop(run: Bare) -> Any:
        gan = Gan()
        of = {
            "d": torch.optim.SGD(gan.d.parameters(), 0.1),
            "g": torch.optim.Adam(gan.g.parameters(), 0.1),
        }
        run.watch(gan, optimizer=list(of.values()))
        order = ["d"] * critics + ["g"] if first == "d" else ["g"] + ["d"] * critics
        for _ in range(3):
            for each in order:
                for optimizer in of.values():
                    optimizer.zero_grad()
                sign = 1 if each == "d" else -1
                (gan.d(gan.g(torch.randn(4, 2))).mean() * sign).backward()
                applied.append((each, gan.get_submodule(each).weight.grad.norm().item()))
                of[each].step()
        return state_of(gan, *of.values())

    log = run_both(loop, tmp_path, level=level)
    updates = [
        (name[0], found.l2_norm)
        for record in log.records
        if record.stage == "applied"
        for name in ("d.weight", "g.weight")
        if (found := read_tensor(log.run, record, name).statistics) is not None
    ]
    half = len(applied) // 2  # the bare run and the watched one
    assert updates == [(each, pytest.approx(norm, rel=1e-5)) for each, norm in applied[:half]]


def test_parameters_outside_the_model(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        temperature = nn.Parameter(torch.tensor(2.0))
        hidden = [nn.Parameter(torch.ones(2))]
        optimizer = torch.optim.SGD(
            [{"params": net.parameters()}, {"params": [temperature, *hidden]}], 0.1
        )
        run.watch(net, optimizer=optimizer)
        named = {
            **dict(net.named_parameters()),
            "temperature": temperature,
            "SGD.param_groups[1].params[1]": hidden[0],
        }
        for step in range(2):
            optimizer.zero_grad()
            (net(torch.randn(4, 3)) / temperature * hidden[0]).square().mean().backward()
            run.note(step, "backward", named)
            run.note(step, "applied", named)
            with run.stepping(step, named):
                optimizer.step()
        return state_of(net, optimizer), temperature, hidden

    for level in LEVELS:
        run_both(loop, tmp_path / level, level=level)


def test_a_model_and_optimizers_that_change_in_mid_run(tmp_path: pathlib.Path) -> None:
    """Layers are added with a group of their own, and replaced, more than once."""

    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(12):
            if step % 2 == 1:  # new layers may get the very addresses of old ones
                net[2] = nn.Linear(8, 2 + step % 4, bias=step % 3 != 0)
                del optimizer.param_groups[0]["params"][2:]
                optimizer.param_groups[0]["params"] += list(net[2].parameters())
            if step == 4:
                net.append(nn.PReLU())
                optimizer.add_param_group({"params": net[3].parameters(), "lr": 0.2})
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            run.note(step, "backward", net)
            run.note(step, "applied", net)
            with run.stepping(step, net):
                optimizer.step()
        return state_of(net, optimizer)

    for level in LEVELS:
        log = run_both(loop, tmp_path / level, level=level)
        for record in log.records:
            graph = log.graph(record)
            for index, node in enumerate(graph.nodes):
                row = record.table.row(int(graph.slot_offsets[index]))
                if node.kind == "parameter" and row is not None:
                    shape = node.slots[0].shape
                    assert row.numel == torch.Size(shape).numel(), (record.step, node)


@pytest.mark.parametrize("level", LEVELS)
def test_lbfgs_runs_its_closure(level: str, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.LBFGS(net.parameters(), 0.1, max_iter=4)
        run.watch(net, optimizer=optimizer)
        x = torch.randn(4, 3)
        for step in range(2):
            number = itertools.count()

            def closure(step: int = step, number: Iterator[int] = number) -> torch.Tensor:
                optimizer.zero_grad()
                loss = net(x).square().mean()
                loss.backward()
                run.note(step, "backward", net, next(number))
                return loss

            with run.stepping(step, net):
                optimizer.step(closure)
            run.note(step, "applied", net, next(number) - 1)
        return state_of(net)

    run_both(loop, tmp_path, level=level)


def test_an_optimizer_a_parameter_that_steps_within_the_backward(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        named = dict(net.named_parameters())
        optimizers = {p: torch.optim.SGD([p], 0.1) for p in net.parameters()}

        def step_now(parameter: torch.Tensor) -> None:
            (name,) = (n for n, p in named.items() if p is parameter)
            run.note(step, "backward", {name: parameter})
            run.note(step, "applied", {name: parameter})
            with run.stepping(step, {name: parameter}):
                optimizers[parameter].step()
            optimizers[parameter].zero_grad()

        for parameter in net.parameters():
            parameter.register_post_accumulate_grad_hook(step_now)
        watch = run.watch(net, optimizer=list(optimizers.values()))
        for step in range(3):
            net(torch.randn(4, 3)).square().mean().backward()
            assert watch is None or watch.step == step + 1
        return state_of(net)

    for level in LEVELS:
        log = run_both(loop, tmp_path / level, level=level)
        assert log.places == [(s, stage, 0) for s in range(3) for stage in ("backward", "applied")]


def test_an_optimizer_that_has_a_wrapper(tmp_path: pathlib.Path) -> None:
    class Wrapper:
        def __init__(self, optimizer: torch.optim.Optimizer) -> None:
            self.optimizer = optimizer

    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=Wrapper(optimizer), every_n_steps=1)
        net(torch.ones(1, 3)).sum().backward()
        optimizer.step()
        assert watch.step == 1
    assert Log(tmp_path).places == [(0, "backward", 0), (0, "applied", 0)]


@pytest.mark.parametrize("raises", [False, True])
def test_a_step_that_calls_that_of_its_base_class_is_one_step(
    raises: bool, tmp_path: pathlib.Path
) -> None:
    """Torch calls hooks for both if there was an object of the base class before."""
    torch.optim.SGD([torch.zeros(1)])

    class Scaled(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            if raises and watch.step == 1 and not failed:
                failed.append(True)
                super().step()
                raise ArithmeticError
            super().step(closure)
            with torch.no_grad():
                net[0].weight.mul_(0.5)

    failed: list[bool] = []
    net = small_net()
    optimizer = Scaled(net.parameters(), 0.1)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.ones(1, 3)).sum().backward()
            if raises and watch.step == 1:
                with pytest.raises(ArithmeticError):
                    optimizer.step()
            before = net[0].weight.detach().clone()
            optimizer.step()
        assert watch.step == 3
    log = Log(tmp_path)
    assert log.places == [(s, stage, 0) for s in range(3) for stage in ("backward", "applied")]
    (run,) = read_logdir(tmp_path)
    last = read_tensor(run, run.records[-1], "0.weight").statistics
    moved = float((net[0].weight.detach() - before).norm())  # by the outer step, not the inner one
    assert last is not None and last.update_norm == pytest.approx(moved, rel=1e-5)
