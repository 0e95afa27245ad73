"""``on_finding="raise"`` ends a training before its weights change, and a function is called."""

from __future__ import annotations

import copy
import pathlib
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.errors import CaptureError, FindingError
from tests.training.guard.breaking import (
    log_of_negative,
    recorded,
    root_of_zero,
    small_net,
    square,
    steps_of,
    train,
)
from tests.training.loops import Bare, run_both, state_of


def test_it_is_raised_before_the_weights_change(tmp_path: pathlib.Path):
    net = small_net()
    with pytest.raises(FindingError, match="step 13: The loss of step 13 is nan") as raised:
        train(tmp_path, 30, log_of_negative(13), net, on_finding="raise")
    finding = raised.value.finding
    assert isinstance(finding, RunFinding)
    assert (finding.kind, finding.severity, finding.tag) == (
        "nonfinite_value",
        "error",
        "Sequential",
    )
    assert (finding.first_step, finding.last_step) == (13, 13)
    assert all(bool(parameter.isfinite().all()) for parameter in net.parameters())
    assert not net._forward_pre_hooks
    assert steps_of(recorded(tmp_path)) == [0]


def test_a_gradient_of_a_recorded_step_is_enough(tmp_path: pathlib.Path):
    net = small_net()
    options = {"on_finding": "raise", "every_n_steps": 10, "level": "op"}
    with pytest.raises(FindingError, match="sqrt") as raised:
        train(tmp_path, 30, root_of_zero(20), net, **options)
    assert raised.value.finding.kind == "nonfinite_origin"
    assert "sqrt" in raised.value.finding.node
    assert all(bool(parameter.isfinite().all()) for parameter in net.parameters())
    run = recorded(tmp_path)
    assert (20, "backward") in {(record.step, record.stage) for record in run.records}


def test_without_an_optimizer_the_next_forward_raises(tmp_path: pathlib.Path):
    net, forwards = small_net(), []
    net.register_forward_pre_hook(lambda *_: forwards.append(1))
    with pytest.raises(FindingError, match="step 3: "):
        train(tmp_path, 30, log_of_negative(3), net, with_optimizer=False, on_finding="raise")
    assert len(forwards) == 5 and len(net._forward_pre_hooks) == 1


def test_it_is_never_raised_in_the_users_backward(tmp_path: pathlib.Path):
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, on_finding="raise")
        square(0, net(torch.randn(3, 4))).backward()
        optimizer.step()
        log_of_negative(1)(1, net(torch.randn(3, 4))).backward()
        with pytest.raises(FindingError):
            optimizer.step()
        optimizer.zero_grad()  # who goes on may do so: of each kind one error is raised
        for _ in range(3):
            square(0, net(torch.randn(3, 4))).backward()
            optimizer.step()
            optimizer.zero_grad()
    assert all(bool(parameter.isfinite().all()) for parameter in net.parameters())


def test_an_optimizer_without_hooks_raises_too(tmp_path: pathlib.Path):
    class Own:
        def __init__(self, parameters: list[nn.Parameter]) -> None:
            self.param_groups = [{"params": parameters, "lr": 0.01}]
            self.steps = 0

        def step(self) -> None:
            self.steps += 1

    net = small_net()
    optimizer: Any = Own(list(net.parameters()))
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, on_finding="raise", every_n_steps=10)
        for step in range(6):
            log_of_negative(3)(step, net(torch.randn(3, 4))).backward()
            if step == 3:
                with pytest.raises(FindingError):
                    optimizer.step()
                net.zero_grad()
            optimizer.step()
        assert (optimizer.steps, watch.step) == (6, 6)


def test_a_function_is_called_with_each_finding_once(tmp_path: pathlib.Path):
    found: list[RunFinding] = []
    train(tmp_path, 30, log_of_negative(13), on_finding=found.append)
    assert [(one.kind, one.first_step) for one in found] == [
        ("nonfinite_value", 13),
        ("nonfinite_weight", 14),
    ]
    assert all(one.advice and one.meaning and (one.source or one.node) for one in found)


def test_a_function_may_raise(tmp_path: pathlib.Path):
    def stop(finding: RunFinding) -> None:
        raise KeyboardInterrupt(finding.kind)

    net = small_net()
    with pytest.raises(KeyboardInterrupt, match="nonfinite_value"):
        train(tmp_path, 30, log_of_negative(13), net, on_finding=stop)
    assert all(bool(parameter.isfinite().all()) for parameter in net.parameters())


class Partly(nn.Module):
    """One layer is not used, another is in no optimizer."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused, self.left_out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.left_out(self.used(x))


def test_a_function_hears_of_warnings_too(tmp_path: pathlib.Path):
    net, found = Partly(), list[RunFinding]()
    optimizer = torch.optim.SGD([*net.used.parameters(), *net.unused.parameters()], 0.01)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=2, on_finding=found.append)
        for _ in range(8):
            net(torch.randn(3, 4)).square().mean().backward()
            optimizer.step()
    by_kind = {one.kind: one for one in found}
    assert by_kind.keys() == {"not_optimized", "no_gradient"} and len(found) == 2
    assert by_kind["not_optimized"].text == (
        "2 parameters are in no optimizer: left_out.weight, left_out.bias."
    )
    assert "unused.weight, unused.bias" in by_kind["no_gradient"].text
    assert by_kind["no_gradient"].first_step == 4


@pytest.mark.filterwarnings("ignore:watch.*expected an optimizer of the model's parameters")
def test_an_optimizer_of_another_model_raises(tmp_path: pathlib.Path):
    net = small_net()
    optimizer = torch.optim.SGD(copy.deepcopy(net).parameters(), 0.01)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, on_finding="raise")
        square(0, net(torch.randn(3, 4))).backward()
        writer.flush()
        with pytest.raises(FindingError, match="No optimizer has any of the 4 parameters"):
            optimizer.step()


@pytest.mark.parametrize("given", ["print", 3, True])
def test_other_arguments_are_refused(given: Any, tmp_path: pathlib.Path):
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(CaptureError, match='expected on_finding to be "warn", "raise", a func'):
            writer.watch(small_net(), on_finding=given)
        with pytest.raises(CaptureError, match="expected keep_batch to be True or False, got 1"):
            writer.watch(small_net(), keep_batch=1)


@pytest.mark.parametrize("options", [{}, {"keep_batch": True}, {"on_finding": print}])
@pytest.mark.parametrize("at", [3, 99])
@pytest.mark.filterwarnings("ignore:tb_gradgraph, ")
def test_the_training_is_what_it_was_without(
    at: int, options: dict[str, Any], tmp_path: pathlib.Path
):
    def loop(run: Bare) -> Any:
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters(), 0.01)
        run.watch(net, optimizer=optimizer, every_n_steps=5, **options)
        for step in range(12):
            optimizer.zero_grad()
            log_of_negative(at)(step, net(torch.randn(3, 4))).backward()
            optimizer.step()
        return state_of(net, optimizer)

    run_both(loop, tmp_path)
