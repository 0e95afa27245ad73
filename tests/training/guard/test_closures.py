"""A finding in an optimizer's closure ends the training before that optimizer changes the weights."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

import tb_gradgraph
from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.errors import FindingError
from tests.training.guard.breaking import (
    Loss,
    log_of_negative,
    recorded,
    root_of_zero,
    small_net,
    square,
    steps_of,
)
from tests.training.loops import Bare, run_both, state_of

Step = Callable[[Any, Callable[[], torch.Tensor]], Any]


def by_place(optimizer: Any, closure: Callable[[], torch.Tensor]) -> Any:
    return optimizer.step(closure)


def by_name(optimizer: Any, closure: Callable[[], torch.Tensor]) -> Any:
    return optimizer.step(closure=closure)


def lbfgs(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.LBFGS(net.parameters(), 0.1, max_iter=4)


def searching(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.LBFGS(net.parameters(), max_iter=4, line_search_fn="strong_wolfe")


def sgd(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(net.parameters(), 0.01)


class Own:
    """An optimizer that takes no hooks."""

    def __init__(self, net: nn.Module) -> None:
        self.param_groups = [{"params": list(net.parameters()), "lr": 0.01}]

    def step(self, closure: Callable[[], torch.Tensor]) -> torch.Tensor:
        loss = closure()
        with torch.no_grad():
            for parameter in self.param_groups[0]["params"]:
                parameter -= 0.01 * parameter.grad
        return loss


def run(
    directory: pathlib.Path,
    net: nn.Module,
    optimizer: Any,
    loss_of: Loss,
    step_of: Step = by_place,
    clips: bool = False,
    **options: Any,
) -> None:
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        watch = writer.watch(net, optimizer=optimizer, **options)
        for step in range(8):
            x = torch.randn(3, 4)

            def closure(step: int = step, x: torch.Tensor = x) -> torch.Tensor:
                net.zero_grad()
                loss = loss_of(step, net(x))
                loss.backward()
                if clips:
                    clip_grad_norm_(net.parameters(), 1.0)
                return loss

            before.clear()
            before.extend(parameter.detach().clone() for parameter in net.parameters())
            try:
                step_of(optimizer, closure)
            finally:
                assert watch.failure is None


before: list[torch.Tensor] = []


@pytest.mark.parametrize("step_of", [by_place, by_name])
@pytest.mark.parametrize("make", [lbfgs, searching, sgd, Own])
def test_the_first_look_leaves_weights_as_they_were(
    make: Callable[[nn.Module], Any], step_of: Step, tmp_path: pathlib.Path
):
    net = small_net()
    with pytest.raises(FindingError, match="step 3: The loss of step 3 is nan"):
        run(tmp_path, net, make(net), log_of_negative(3), step_of, on_finding="raise")
    assert all(map(torch.equal, net.parameters(), before))
    assert not net._forward_pre_hooks


@pytest.mark.parametrize("make", [lbfgs, searching])
def test_a_later_look_leaves_finite_weights(
    make: Callable[[nn.Module], Any], tmp_path: pathlib.Path
):
    net, seen = small_net(), []

    def loss_of(step: int, y: torch.Tensor) -> torch.Tensor:
        seen.append(step)
        return (log_of_negative(3) if seen.count(3) == 2 else square)(step, y)

    with pytest.raises(FindingError, match="step 3: "):
        run(tmp_path, net, make(net), loss_of, on_finding="raise")
    assert seen.count(3) == 2
    assert all(bool(parameter.isfinite().all()) for parameter in net.parameters())


@pytest.mark.parametrize("make", [lbfgs, sgd])
def test_a_norm_is_enough(make: Callable[[nn.Module], Any], tmp_path: pathlib.Path):
    net = small_net()
    with pytest.raises(FindingError, match="step 3: The norm of the gradients"):
        run(tmp_path, net, make(net), root_of_zero(3), clips=True, on_finding="raise")
    assert all(map(torch.equal, net.parameters(), before))


@pytest.mark.parametrize("make", [lbfgs, sgd])
def test_gradients_of_a_recorded_step_are_those_of_the_closure(
    make: Callable[[nn.Module], Any], tmp_path: pathlib.Path
):
    net = small_net()
    options = {"on_finding": "raise", "every_n_steps": 2, "level": "op"}
    with pytest.raises(FindingError, match="sqrt") as raised:
        run(tmp_path, net, make(net), root_of_zero(4), **options)
    assert raised.value.finding.kind == "nonfinite_origin"
    assert all(map(torch.equal, net.parameters(), before))
    assert steps_of(recorded(tmp_path)) == [0, 2, 4]


def test_a_function_is_called_there_too(tmp_path: pathlib.Path):
    net, found = small_net(), list[tuple[RunFinding, bool]]()

    def tell(finding: RunFinding) -> None:
        found.append((finding, all(map(torch.equal, net.parameters(), before))))

    run(tmp_path, net, sgd(net), log_of_negative(3), on_finding=tell)
    first, _ = found
    assert (first[0].kind, first[0].first_step, first[1]) == ("nonfinite_value", 3, True)


@pytest.mark.parametrize("make", [lbfgs, searching, sgd])
def test_a_sound_training_is_what_it_was_without(
    make: Callable[[nn.Module], Any], tmp_path: pathlib.Path
):
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer, losses = make(net), []
        run.watch(net, optimizer=optimizer, every_n_steps=3, on_finding="raise")
        for step in range(7):
            x = torch.randn(3, 4)

            def closure(step: int = step, x: torch.Tensor = x) -> torch.Tensor:
                optimizer.zero_grad()
                loss = square(step, net(x))
                loss.backward()
                return loss

            losses.append(optimizer.step(closure))
        return state_of(net, optimizer), losses

    run_both(loop, tmp_path)


class Unused(nn.Module):
    """A layer that is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.left = small_net(), nn.Linear(1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x)


def test_steps_without_a_gradient_are_counted_once(tmp_path: pathlib.Path):
    """However often the optimizer calls its closure."""
    net, found = Unused(), list[RunFinding]()
    run(tmp_path, net, lbfgs(net), square, on_finding=found.append, every_n_steps=2)
    (one,) = [one for one in found if one.kind == "no_gradient"]
    assert one.first_step == 4 and "left.weight, left.bias" in one.text
