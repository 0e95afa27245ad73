"""What comes first in a training, and what is left out because something else explains it."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from tests.diagnose.run.test_trainings import trained


@pytest.mark.parametrize(("parts", "severity"), [(3, "warning"), (2, "note"), (1, None)])
def test_parts_of_a_batch_that_are_cleared(
    parts: int, severity: str | None, tmp_path: pathlib.Path
) -> None:
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), 1e-2)

    def steps() -> Iterator[None]:
        for _ in range(12):
            for _ in range(parts):
                optimizer.zero_grad()
                x = torch.randn(8, 4)
                cross_entropy(net(x), (x[:, 0] > 0).long()).backward()
            optimizer.step()
            yield

    found = {one.kind: one for one in trained(tmp_path, net, optimizer, steps)}
    assert (found["cleared"].severity if "cleared" in found else None) == severity
    if severity is not None:
        assert f"the gradients of {parts - 1} backward pass" in found["cleared"].text


def test_a_decay_that_forgets_comes_before_its_updates(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(net.parameters(), 0.01, weight_decay=15.0)

    def steps() -> Iterator[None]:
        for _ in range(30):
            x = torch.randn(16, 4)
            optimizer.zero_grad()
            cross_entropy(net(x), (x[:, 0] > 0).long()).backward()
            optimizer.step()
            yield

    first, *others = trained(tmp_path, net, optimizer, steps)
    assert first.kind == "weight_drift" and "takes 0.15 of each weight" in first.text
    assert "large_update" not in {one.kind for one in others}


def test_a_loss_that_is_maximized_comes_before_what_it_grows_to(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), 0.01, maximize=True)

    def steps() -> Iterator[None]:
        for _ in range(52):
            x = torch.randn(32, 4)
            optimizer.zero_grad()
            mse_loss(net(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
            yield

    kinds = [one.kind for one in trained(tmp_path, net, optimizer, steps)]
    assert kinds[:2] == ["loss_rising", "nonfinite_value"]
    assert "large_update" not in kinds and "weight_drift" not in kinds


def test_an_entropy_over_what_is_masked_out(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = nn.Linear(4, 5)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    allowed = torch.tensor([True, True, False, True, True])

    def steps() -> Iterator[None]:
        for _ in range(4):
            optimizer.zero_grad()
            scores = net(torch.randn(8, 4)).masked_fill(~allowed, -torch.inf)
            (scores.softmax(1) * scores.log_softmax(1)).sum(1).mean().backward()
            optimizer.step()
            yield

    found = trained(tmp_path, net, optimizer, steps, level="op", values=True)[0]
    assert (found.kind, found.node) == ("nonfinite_value", "mul") and "entr" in found.text


def test_a_training_that_no_backward_reaches(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.Adam(generator.parameters(), 1e-3)

    def steps() -> Iterator[None]:
        for _ in range(6):
            optimizer.zero_grad()
            critic(generator(torch.randn(8, 4)).detach()).mean().backward()
            optimizer.step()
            yield

    with pytest.warns(UserWarning, match="nothing was recorded"):
        (found,) = trained(tmp_path, generator, optimizer, steps)
    assert (found.kind, found.severity, found.tag) == ("no_backward", "warning", "Linear")
    assert "6 backward passes ran, but none of them reached a parameter" in found.text
    assert "detached" in found.advice


def test_a_training_with_records_does_not_say_why_there_are_none(tmp_path: pathlib.Path) -> None:
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)

    def steps() -> Iterator[None]:
        net(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
        yield

    assert "no_backward" not in {one.kind for one in trained(tmp_path, net, optimizer, steps)}
