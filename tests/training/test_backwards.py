"""Backwards of every kind: several, nested, of second order, with inputs, in threads, by autograd.grad."""

from __future__ import annotations

import pathlib
import threading
import warnings
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.loops import Bare, run_both, small_net, state_of, training

LEVELS = ("param", "module", "op")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_loop_of_autograd_grad(by_hand: bool, level: str, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        parameters = list(net.parameters())
        optimizer = torch.optim.SGD(parameters, 0.1)
        watch = run.watch(net, **({} if by_hand else {"optimizer": optimizer}))
        for step in range(3):
            found = torch.autograd.grad(net(torch.randn(4, 3)).square().mean(), parameters)
            named = {name: g for (name, _), g in zip(net.named_parameters(), found)}
            run.give(step, "backward", named)
            if by_hand:
                with torch.no_grad():
                    for parameter, gradient in zip(parameters, found):
                        parameter -= 0.1 * gradient
            else:
                for parameter, gradient in zip(parameters, found):
                    parameter.grad = gradient
                run.note(step, "applied", net)
                with run.stepping(step, net):
                    optimizer.step()
            assert watch is None or watch.step == step + 1
        return state_of(net, optimizer)

    run_both(loop, tmp_path, level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("every_n_steps", [1, 2])
def test_a_gradient_penalty(every_n_steps: int, level: str, tmp_path: pathlib.Path) -> None:
    """The gradient by the input is part of the loss, and no step, whether it is recorded or not."""

    def loop(run: Bare) -> Any:
        net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
        watch = run.watch(net, every_n_steps=every_n_steps)
        for step in range(4):
            x = torch.randn(4, 3, requires_grad=True)
            score = net(x).sum()
            (slope,) = torch.autograd.grad(score, x, create_graph=True)
            loss = score + (slope.norm(dim=1) - 1).square().mean()
            net.zero_grad()
            loss.backward()
            if step % every_n_steps == 0:
                run.note(step, "backward", net)
            assert watch is None or watch.step == step + 1
            with torch.no_grad():
                for parameter in net.parameters():
                    parameter -= 0.1 * parameter.grad
        return state_of(net)

    log = run_both(loop, tmp_path, level=level)
    assert len(log.records) == 4 / every_n_steps
    orders = {node.order for node in log.graph(log.records[0]).nodes}
    assert orders == {1, 2}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("create", [False, True])
def test_two_backwards_over_one_graph(create: bool, level: str, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(2):
            optimizer.zero_grad()
            loss = net(torch.randn(4, 3)).square().mean()
            run.note_parts(step, loss, net, 0)
            loss.backward(retain_graph=True, create_graph=create)
            run.note_parts(step, loss * 2, net, 1)
            (loss * 2).backward()
            run.note(step, "accumulated", net, 1)
            run.note(step, "applied", net, 1)
            optimizer.step()
            optimizer.zero_grad()
        return state_of(net, optimizer)

    with warnings.catch_warnings():  # torch warns of it once in a process
        warnings.filterwarnings("ignore", "Using backward\\(\\) with create_graph=True")
        run_both(loop, tmp_path, level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_a_backward_of_chosen_inputs(level: str, tmp_path: pathlib.Path) -> None:
    def step_of(run: Bare, step: int, net: Any, _: Any) -> None:
        net(torch.randn(4, 3)).square().mean().backward(inputs=[net[0].weight, net[2].bias])
        run.note(step, "backward", net)
        run.note(step, "applied", net)

    run_both(training(3, step_of), tmp_path, level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_roots_that_are_edges(level: str, tmp_path: pathlib.Path) -> None:
    def step_of(run: Bare, step: int, net: Any, _: Any) -> None:
        loss = net(torch.randn(4, 3)).square().mean()
        edge = torch.autograd.graph.get_gradient_edge(loss)
        torch.autograd.backward([edge if step else loss], [torch.ones(())])
        run.note(step, "backward", net)
        run.note(step, "applied", net)

    run_both(training(3, step_of), tmp_path, level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_a_backward_within_a_backward(level: str, tmp_path: pathlib.Path) -> None:
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                given = x.detach().requires_grad_()
                (given * 2).backward(gradient)
            return given.grad

    def step_of(run: Bare, step: int, net: Any, _: Any) -> None:
        Nested.apply(net(torch.randn(4, 3))).square().mean().backward()
        run.note(step, "backward", net)
        run.note(step, "applied", net)

    log = run_both(training(3, step_of), tmp_path, level=level)
    assert log.places == [(s, stage, 0) for s in range(3) for stage in ("backward", "applied")]


@pytest.mark.parametrize("level", LEVELS)
def test_several_forwards_before_one_backward(level: str, tmp_path: pathlib.Path) -> None:
    """Evaluations in between, with and without no_grad, rename nothing."""

    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(4):
            optimizer.zero_grad()
            first = net(torch.randn(4, 3))
            if step in (1, 3):
                with torch.no_grad():
                    net(torch.randn(4, 3))
            if step in (2, 3):
                net(torch.randn(4, 3)).argmax()
            second = net(torch.randn(4, 3))
            (first.square().mean() + second.sum()).backward()
            run.note(step, "backward", net)
            run.note(step, "applied", net)
            optimizer.step()
            net.eval()
            net(torch.randn(4, 3))
            net.train()
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path, level=level)
    assert len(log.run.graphs) == 1
    calls = [(scope.path, scope.call) for scope in log.graph(log.records[0]).scopes]
    assert calls == [(path, call) for call in (0, 1) for path in ("", "0", "1", "2")]


def test_backwards_in_several_threads(tmp_path: pathlib.Path) -> None:
    """What is recorded is right; what overlaps may be left out."""

    def loop(run: Bare) -> Any:
        net = small_net()
        watch = run.watch(net, level="op")
        others = [small_net() for _ in range(3)]
        start = threading.Barrier(3)

        def train(other: nn.Module, x: torch.Tensor) -> None:
            start.wait()
            for _ in range(20):
                other(x).square().mean().backward()

        threads = [
            threading.Thread(target=train, args=(other, torch.randn(4, 3))) for other in others
        ]
        for thread in threads:
            thread.start()
        for step in range(10):
            net.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            run.note(step, "backward", net)
            assert watch is None or watch.step == step + 1
        for thread in threads:
            thread.join()
        return state_of(net), [state_of(other) for other in others]

    run_both(loop, tmp_path)
