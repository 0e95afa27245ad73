"""The shown step reports what was wrong at other steps."""

from __future__ import annotations

import pathlib

import torch
from torch import nn

from tb_gradgraph import SummaryWriter
from tests.diagnose.asked import ask, texts

STEPS, BAD = 190, 120


def log_too_high_rate(logdir: pathlib.Path) -> float:
    """Train with a rate too high for one weight at the start; give by how much it moved then."""
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))
    groups = [{"params": model[0].parameters(), "lr": 100.0}, {"params": model[2].parameters()}]
    optimizer = torch.optim.SGD(groups, lr=1e-2)
    x, y = torch.randn(16, 8), torch.randint(4, (16,))
    moved = 0.0
    with SummaryWriter(str(logdir)) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=10)
        for step in range(51):
            before = model[0].weight.detach().clone()
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step == 0:
                moved = ((model[0].weight.detach() - before).norm() / before.norm()).item()
                optimizer.param_groups[0]["lr"] = 1e-2
    return moved


def log_nan(logdir: pathlib.Path) -> None:
    """Train with a loss whose gradient is NaN from one step on, on one weight that does not matter."""
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with SummaryWriter(str(logdir)) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=2)
        for step in range(STEPS + 1):
            optimizer.zero_grad()
            bad = torch.sqrt(model.weight.sum() * 0) * 0 if step >= BAD - 1 else 0
            (model(torch.ones(3, 4)).sum() + bad).backward()
            optimizer.step()


def test_a_rate_too_high_at_the_first_step_is_told_of_at_the_last(tmp_path):
    moved = log_too_high_rate(tmp_path)
    (text,) = texts(ask(tmp_path, 0), "large_update")
    assert f"0.weight: this step changed it by {moved:.2g} of its norm" in text
    answer = ask(tmp_path, 50)
    assert texts(answer, "large_update") == []
    (other,) = answer["elsewhere"]
    assert (other["step"], other["backward_pass"]) == (0, 0)
    assert (other["count"], other["severity"], other["text"]) == (1, "warning", text)
    assert ask(tmp_path, 0)["elsewhere"] == []


def test_what_the_shown_step_has_at_another_stage_is_not_told_of_others(tmp_path):
    model = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with SummaryWriter(str(tmp_path)) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=1)
        for _ in range(3):
            optimizer.zero_grad()
            model[0](torch.ones(2, 4)).sum().backward()
            optimizer.step()
    assert len(texts(ask(tmp_path, 2), "no_gradient")) == 2, "the second layer is unused"
    assert texts(ask(tmp_path, 2, "applied"), "no_gradient") == []
    assert ask(tmp_path, 2, "applied")["elsewhere"] == []


def test_the_first_step_with_nan_is_told_of_before_and_after_it(tmp_path):
    log_nan(tmp_path)
    before, at, after = (ask(tmp_path, step) for step in (0, BAD, STEPS))
    (other,) = before["elsewhere"]
    assert (other["step"], other["severity"]) == (BAD, "error")
    assert other["text"] == at["findings"][0]["text"]
    assert "first recorded step" not in at["findings"][0]["text"]
    assert after["findings"][0]["text"].endswith(
        f" The first recorded step with NaN or infinity is {BAD}."
    )
    assert at["elsewhere"] == after["elsewhere"] == []
