"""A norm of gradients that is not finite is said at its step, before the weights change."""

from __future__ import annotations

import math
import pathlib
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import clip_grad, clip_grad_norm_

import tb_gradgraph
from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.errors import FindingError
from tb_gradgraph.training.guard.scalars import NotFinite, Scalars
from tests.training.guard.breaking import (
    log_of_negative,
    recorded,
    root_of_zero,
    small_net,
    square,
    steps_of,
)
from tests.training.loops import Bare, run_both, state_of

Clip = Callable[[list[nn.Parameter]], Any]


def imported(parameters: list[nn.Parameter]) -> None:
    clip_grad_norm_(parameters, 1.0)


def of_an_iterator(parameters: Iterable[nn.Parameter]) -> None:
    torch.nn.utils.clip_grad_norm_(iter(parameters), 1.0, math.inf)


def of_one(parameters: list[nn.Parameter]) -> None:
    clip_grad_norm_(parameters[0], 1.0, foreach=False)


def in_two_calls(parameters: list[nn.Parameter]) -> None:
    norm = torch.nn.utils.get_total_norm(p.grad for p in parameters if p.grad is not None)
    torch.nn.utils.clip_grads_with_norm_(parameters, 1.0, norm)


def run(
    directory: pathlib.Path,
    clip: Clip = imported,
    net: nn.Module | None = None,
    loss_of: Any = None,
    steps: int = 20,
    **options: Any,
) -> list[str]:
    """Train with clipping; return the warnings of the watch."""
    net = small_net() if net is None else net
    loss_of = root_of_zero(13) if loss_of is None else loss_of
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with tb_gradgraph.SummaryWriter(str(directory)) as writer:
            watch = writer.watch(net, optimizer=optimizer, **options)
            try:
                for step in range(steps):
                    optimizer.zero_grad()
                    loss_of(step, net(torch.randn(3, 4))).backward()
                    clip(list(net.parameters()))
                    optimizer.step()
            finally:
                assert watch.failure is None
    return [str(one.message) for one in seen if str(one.message).startswith("tb_gradgraph")]


@pytest.mark.parametrize("clip", [imported, of_an_iterator, of_one, in_two_calls])
def test_it_is_said_at_the_step_and_recorded_after(clip: Clip, tmp_path: pathlib.Path):
    first, *_ = run(tmp_path, clip)
    assert (
        "step 13: The norm of the gradients of step 13 is nan; its loss was finite. Not " in first
    )
    assert "finite: 0.weight" in first and "All weights are finite so far" in first
    assert f"test_norms_of_gradients.py:{clip.__code__.co_firstlineno}"[:-1] in first
    assert f" in {clip.__name__})" in first
    assert steps_of(recorded(tmp_path))[:2] == [0, 14]


def test_it_is_raised_before_the_weights_change(tmp_path: pathlib.Path):
    net = small_net()
    with pytest.raises(FindingError, match="step 13: The norm of the gradients") as raised:
        run(tmp_path, net=net, on_finding="raise", keep_batch=True)
    assert raised.value.finding.kind == "nonfinite"
    assert all(bool(parameter.isfinite().all()) for parameter in net.parameters())
    kept = torch.load(tmp_path / "gradgraph_batch_Sequential_13.pt", weights_only=True)
    assert kept["weights_finite"] and kept["args"][0].shape == (3, 4)


def test_a_norm_that_torch_refuses_is_said_too(tmp_path: pathlib.Path):
    def refused(parameters: list[nn.Parameter]) -> None:
        clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)

    found: list[RunFinding] = []
    with pytest.raises(RuntimeError, match="non-finite, so it cannot be clipped"):
        run(tmp_path, refused, on_finding=found.append)
    assert [(one.kind, one.first_step) for one in found] == [("nonfinite", 13)]


def test_the_record_of_a_recorded_step_says_where(tmp_path: pathlib.Path):
    options = {"every_n_steps": 10, "level": "op"}
    told = run(tmp_path, loss_of=root_of_zero(10), steps=12, **options)
    (origin,) = [one for one in told if "step 10: " in one]
    assert "sqrt" in origin and "norm" not in origin


def test_a_loss_that_said_it_is_enough(tmp_path: pathlib.Path):
    told = run(tmp_path, loss_of=log_of_negative(13))
    assert len([one for one in told if "step 13: " in one]) == 1
    assert not any("norm of the gradients" in one for one in told)


def test_a_norm_too_large_for_its_type_is_no_error(tmp_path: pathlib.Path):
    def large(step: int, y: torch.Tensor) -> torch.Tensor:
        return y.mean() * (3e38 if step == 13 else 1)

    found: list[RunFinding] = []
    assert run(tmp_path / "told", loss_of=large) == []
    run(tmp_path / "called", loss_of=large, on_finding=found.append)
    (one,) = [one for one in found if one.kind == "clipped"]
    assert (one.first_step, one.severity) == (13, "warning")
    assert "is inf, although each of them is finite: it is too large for their type." in one.text


@pytest.mark.parametrize("at", [13, 99])
def test_the_training_is_what_it_was_without(at: int, tmp_path: pathlib.Path):
    norms: list[torch.Tensor] = []

    def loop(run: Bare) -> Any:
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters(), 0.01)
        run.watch(net, optimizer=optimizer, every_n_steps=50)
        norms.clear()
        for step in range(18):
            optimizer.zero_grad()
            root_of_zero(at)(step, net(torch.randn(3, 4))).backward()
            norms.append(clip_grad_norm_(net.parameters(), 0.1))
            optimizer.step()
        return state_of(net, optimizer), list(norms)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        run_both(loop, tmp_path)


def test_of_two_watches_the_one_that_is_meant_tells(tmp_path: pathlib.Path):
    nets = {"made": small_net(), "judged": small_net()}
    optimizers = {tag: torch.optim.SGD(net.parameters(), 0.01) for tag, net in nets.items()}
    found: list[RunFinding] = []
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        for tag, net in nets.items():
            writer.watch(net, tag=tag, optimizer=optimizers[tag], on_finding=found.append)
        for step in range(6):
            for tag, net in nets.items():
                optimizers[tag].zero_grad()
                loss_of = root_of_zero(3) if tag == "judged" else square
                loss_of(step, net(torch.randn(3, 4))).backward()
                clip_grad_norm_(net.parameters(), 1.0)
                if step < 3:
                    optimizers[tag].step()
    assert {(one.tag, one.kind) for one in found} == {("judged", "nonfinite")}


def test_gradients_that_are_clipped_together_are_told_apart(tmp_path: pathlib.Path):
    other = nn.Linear(1, 1)
    other.weight.grad = torch.full((1, 1), math.nan)

    def both(parameters: list[nn.Parameter]) -> None:
        clip_grad_norm_([*parameters, other.weight], 1.0)

    (told,) = run(tmp_path, both, loss_of=square, steps=1, select=())
    assert "is nan; its loss was finite. Not finite: 1 of another model." in told


def test_accumulated_gradients_are_looked_at_where_they_are_clipped(tmp_path: pathlib.Path):
    def twice(step: int, y: torch.Tensor) -> torch.Tensor:
        square(step, y).backward(retain_graph=True)
        return root_of_zero(13)(step, y)

    first, *_ = run(tmp_path, loss_of=twice)
    assert "step 13: The norm of the gradients of step 13 is nan" in first


@pytest.mark.parametrize("first", [0, 1])  # recorded or not
@pytest.mark.parametrize("factor", [2.0**16, 2.0**127])
def test_what_a_scaler_skips_is_no_fault(factor: float, first: int, tmp_path: pathlib.Path):
    net = small_net()
    net[2].bias.register_hook(lambda grad: grad * 1e30)  # infinite while the factor is high
    optimizer = torch.optim.SGD(net.parameters(), 1e-40)
    scaler = torch.amp.GradScaler("cpu", init_scale=factor)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
            writer.watch(net, optimizer=optimizer, every_n_steps=10**6).step = first
            for step in range(4):
                optimizer.zero_grad()
                scaler.scale(square(step, net(torch.ones(3, 4))) * 1e6).backward()
                scaler.unscale_(optimizer)
                clip_grad_norm_(net.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
    assert scaler.get_scale() < factor


def test_without_an_optimizer_a_scaler_is_found_too(tmp_path: pathlib.Path):
    found: list[RunFinding] = []
    net = small_net()
    net[2].bias.register_hook(lambda grad: grad * math.inf)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    scaler = torch.amp.GradScaler("cpu")
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=2, on_finding=found.append).step = 1
        for step in range(3):
            scaler.scale(square(step, net(torch.ones(3, 4)))).backward()
            scaler.unscale_(optimizer)
            clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
    assert not any("norm of the gradients" in one.text for one in found)


def _one_step_late(self: Scalars, tensors: Any, step: int) -> NotFinite | None:
    """Look at scalars as if they were on a device."""
    before = getattr(self, "before", None)
    self.before = (step, tensors[0].item())  # type: ignore[attr-defined]
    return None if before is None or math.isfinite(before[1]) else NotFinite(*before, True)


def test_on_a_device_it_is_said_a_step_late(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Scalars, "see", _one_step_late)
    (told,) = run(tmp_path)
    assert "step 13: The norm of the gradients of step 13 is nan, and 4 weights hold NaN" in told
    assert "NaN or infinity now: 0.weight" in told


def test_compiled_code_sees_torchs_own_function(tmp_path: pathlib.Path):
    compiled: list[Any] = []
    net = small_net()

    def as_it_is(graph: Any, _inputs: Any) -> Any:
        compiled.append(graph)
        return graph.forward

    @torch.compile(backend=as_it_is, fullgraph=True)
    def clipped(gradients: list[torch.Tensor]) -> torch.Tensor:
        return clip_grad._get_total_norm(gradients, foreach=False)

    gradients = [torch.ones(3), torch.full((2,), 2.0)]
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net)
        watched = [clipped(gradients) for _ in range(3)]
        assert len(compiled) == 1
    assert {float(one) for one in watched} == {float(clipped(gradients))}
    assert float(watched[0]) == pytest.approx(math.sqrt(11))


def test_a_fault_of_ours_ends_the_looking_alone(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tb_gradgraph.training.guard.lookout.bad_gradients", lambda *_: 1 / 0)
    (told,) = run(tmp_path, steps=14)
    assert "stopped looking at the losses" in told and "ZeroDivisionError" in told


def test_nothing_of_ours_is_left(tmp_path: pathlib.Path):
    before = clip_grad._get_total_norm, torch.nn.utils.get_total_norm
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        nets = [small_net(), small_net()]
        watches = [writer.watch(net, tag=str(tag)) for tag, net in enumerate(nets)]
        assert clip_grad._get_total_norm is not before[0]
        watches[0].end()
        watches[0].end()
        assert clip_grad._get_total_norm is not before[0]
    assert (clip_grad._get_total_norm, torch.nn.utils.get_total_norm) == before
