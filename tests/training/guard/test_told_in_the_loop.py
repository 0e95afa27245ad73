"""What breaks a training is said when it breaks, between recorded steps too."""

from __future__ import annotations

import math
import pathlib
import warnings

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.api.at_step import found_in_records
from tests.training.guard.breaking import (
    log_of_negative,
    recorded,
    root_of_zero,
    small_net,
    square,
    steps_of,
    train,
)


def test_weights_that_a_step_between_recorded_ones_broke(tmp_path: pathlib.Path):
    (told,) = train(tmp_path, 90, root_of_zero(73))
    assert told.startswith(
        "tb_gradgraph, 'Sequential', step 74: The loss of step 74 is nan, and 4 "
    )
    assert "4 weights hold NaN or infinity already: 0.weight, 0.bias, 2.weight, 2.bias." in told
    assert "The loss of step 73 was finite, so its update did it." in told
    assert "breaking.py:" in told and " in train)" in told
    assert "go back to a checkpoint" in told
    run = recorded(tmp_path)
    assert steps_of(run) == [0, 50, 75]
    (forward,) = run.forwards  # in detail
    assert forward.step == 75


def test_a_loss_while_weights_are_good(tmp_path: pathlib.Path):
    first, second = train(tmp_path, 30, log_of_negative(13))
    assert "step 13: The loss of step 13 is nan. All weights are finite so far" in first
    assert "step 14: 4 weights already held NaN or infinity when the forward began" in second
    assert steps_of(recorded(tmp_path)) == [0, 14, 15, 16]


def test_the_origin_is_named_when_it_comes_again(tmp_path: pathlib.Path):
    """A loop that does not step after a bad loss keeps good weights."""
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with (
        warnings.catch_warnings(record=True) as seen,
        tb_gradgraph.SummaryWriter(str(tmp_path)) as writer,
    ):
        warnings.simplefilter("always")
        writer.watch(net)  # counts backwards
        for step in range(20):
            optimizer.zero_grad()
            loss = (log_of_negative(step) if step in (7, 9) else square)(
                step, net(torch.randn(3, 4))
            )
            loss.backward()
            if bool(loss.isfinite()):
                optimizer.step()
    first, again = (str(one.message) for one in seen)
    assert "step 7: The loss of step 7 is nan. All weights are finite" in first
    assert "step 9: The forward already gave NaN" in again and "log" in again
    assert steps_of(recorded(tmp_path)) == [0, 8, 9, 10, 11, 12]


def test_the_record_of_a_recorded_step_says_where(tmp_path: pathlib.Path):
    options = {"every_n_steps": 10, "level": "op"}
    told = train(tmp_path, 12, root_of_zero(10), **options)
    (origin,) = [one for one in told if "step 10: " in one]
    assert "sqrt" in origin and "square root" in origin  # where, and what to try
    assert len(told) == 2 and any("step 11: " in one and "weights" in one for one in told)


def test_a_bad_loss_of_a_recorded_step_is_told_once(tmp_path: pathlib.Path):
    told = train(tmp_path, 11, log_of_negative(10), every_n_steps=10, level="op", values=True)
    (told,) = [one for one in told if "step 10: " in one]
    assert "log" in told
    assert "All weights are finite" not in told


def test_a_last_step_is_told_when_the_watch_is_closed(tmp_path: pathlib.Path):
    (told,) = train(tmp_path, 11, log_of_negative(10), every_n_steps=10, select=())
    assert "step 10: The loss of step 10 is nan. All weights are finite" in told


@pytest.mark.parametrize("on_finding", ["warn", None])
def test_a_sound_training_is_met_with_silence(
    on_finding: str | None, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
):
    assert train(tmp_path, 20, square, on_finding=on_finding, every_n_steps=5) == []
    assert capsys.readouterr().err == ""


def test_with_none_nothing_is_looked_at(tmp_path: pathlib.Path):
    assert train(tmp_path, 20, log_of_negative(3), on_finding=None) == []
    assert steps_of(recorded(tmp_path)) == [0]


def test_the_loss_of_another_net_is_its_own_affair(tmp_path: pathlib.Path):
    net, other = small_net(), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
            writer.watch(net, optimizer=optimizer)
            for _ in range(6):
                (other(torch.ones(1, 2)) * float("nan")).sum().backward()
                square(0, net(torch.randn(3, 4))).backward()
                optimizer.step()
    assert steps_of(recorded(tmp_path)) == [0]


class Scaled(nn.Module):
    """A net whose scaled loss is infinite in float16 although its loss is finite."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def _train_scaled(
    directory: pathlib.Path, factor: float, steps: int, start: float = 2.0**120, first: int = 0
) -> tuple[list[str], float]:
    """Train with a scaler from a step on; return warnings, and its last factor."""
    torch.manual_seed(0)
    net = Scaled()
    optimizer = torch.optim.SGD(net.parameters(), 1e-6)
    scaler = torch.amp.GradScaler("cpu", init_scale=start)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with tb_gradgraph.SummaryWriter(str(directory)) as writer:
            writer.watch(net, optimizer=optimizer, every_n_steps=10**6).step = first
            for step in range(first, steps):
                optimizer.zero_grad()
                loss = net(100 * torch.randn(3, 4)).square().mean()
                loss = loss * factor if step == 5 else loss
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
    told = [str(one.message) for one in seen if str(one.message).startswith("tb_gradgraph, ")]
    return told, scaler.get_scale()


@pytest.mark.parametrize("first", [0, 1])  # recorded or not
def test_a_scalers_factor_alone_is_no_fault(first: int, tmp_path: pathlib.Path):
    """The first losses are infinite after scaling, until the factor is low enough."""
    told, scale = _train_scaled(tmp_path, 1.0, 12, 2.0**127, first)
    assert told == [] and scale < 2.0**120


def test_nan_is_one_with_a_scaler_too(tmp_path: pathlib.Path):
    (told,) = _train_scaled(tmp_path, float("nan"), 12, 1.0)[0]
    assert (
        "step 5: The loss of step 5 is nan. All weights are finite so far; the scaler skips" in told
    )
    assert steps_of(recorded(tmp_path)) == [0, 6, 7, 8]


def test_steps_that_a_scaler_skips_in_a_row_are_recorded(tmp_path: pathlib.Path):
    _train_scaled(tmp_path, 1.0, 30, 2.0**127)
    run = recorded(tmp_path)
    assert len(steps_of(run)) == 4 and len(run.forwards) == 3
    assert all(forward.step < 8 for forward in run.forwards)


def test_a_scaler_that_skips_on_and_on_is_told_of(tmp_path: pathlib.Path):
    """Every gradient is infinite, whatever the factor."""
    net = small_net()
    net[2].bias.register_hook(lambda grad: grad / 0)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    scaler = torch.amp.GradScaler("cpu")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
            writer.watch(net, optimizer=optimizer)
            for step in range(30):
                optimizer.zero_grad()
                scaler.scale(square(step, net(torch.randn(3, 4)))).backward()
                scaler.step(optimizer)
                scaler.update()
    (told,) = [str(one.message) for one in seen if "tb_gradgraph, " in str(one.message)]
    assert "step 19: The scaler has skipped 20 steps in a row." in told
    assert steps_of(recorded(tmp_path)) == [0, 3, 4, 5]


def test_warnings_that_are_errors_do_not_end_the_training(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
):
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
            watch = writer.watch(net, optimizer=optimizer)
            for step in range(8):
                log_of_negative(3)(step, net(torch.randn(3, 4))).backward()
                optimizer.step()
            assert watch.step == 8 and watch.failure is None
    lines = [line for line in capsys.readouterr().err.splitlines() if "tb_gradgraph, " in line]
    assert len(lines) == 2 and "step 3: The loss of step 3 is nan" in lines[0]


def test_a_fault_of_ours_ends_the_looking_alone(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tb_gradgraph.training.guard.lookout.reach", lambda _roots: 1 / 0)
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=5)
        for step in range(3):
            square(step, net(torch.randn(3, 4))).backward()
            optimizer.step()
        loss = log_of_negative(3)(3, net(torch.randn(3, 4)))
        with pytest.warns(RuntimeWarning, match="stopped looking at the losses .*ZeroDivision"):
            loss.backward()
        for _ in range(9):
            optimizer.step()
            optimizer.zero_grad()
            square(0, net(torch.randn(3, 4))).backward()
        assert watch.failure is None
    assert steps_of(recorded(tmp_path))[:3] == [0, 5, 10]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_losses_of_any_kind_are_read(value: float, tmp_path: pathlib.Path):
    def loss(step: int, y: torch.Tensor) -> torch.Tensor:
        return square(step, y) * value if step == 2 else square(step, y)

    (told, *_) = train(tmp_path, 4, loss)
    assert f"The loss of step 2 is {value}." in told


def test_losses_that_are_no_number_are_left_out(tmp_path: pathlib.Path):
    """Several roots, more than one element, a class of the user's."""
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)

    class Own(torch.Tensor):
        pass

    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=10**6)
        for _ in range(2):
            y = net(torch.randn(3, 4))
            torch.autograd.backward([y[0].sum(), y], [None, torch.ones_like(y)])
            net(torch.randn(3, 4)).sum().as_subclass(Own).backward()
            torch.autograd.grad(net(torch.randn(3, 4)).sum() * float("nan"), list(net.parameters()))
            optimizer.step()
        assert watch.failure is None


class Masked(nn.Module):
    """Attention by hand, with a mask of minus infinity."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.layer(x) @ x.T
        mask = torch.ones(len(x), len(x), dtype=torch.bool).tril()
        return scores.masked_fill(~mask, -math.inf).softmax(-1) @ x


def test_a_mask_that_does_no_harm_is_searched_once(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []
    real = found_in_records.findings
    monkeypatch.setattr(
        found_in_records, "findings", lambda *a, **k: searched.append(1) or real(*a, **k)
    )
    net = Masked()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, level="op", values=True, strict=True)
        for _ in range(6):
            net(torch.randn(3, 4)).square().mean().backward()
    assert len(searched) == 1
