"""Of several operations that were not read, the one that can have given what was seen is named."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.diagnose.asked import ask, texts

Loss = Callable[[torch.Tensor], torch.Tensor]


def _named(directory: pathlib.Path, loss_of: Loss) -> str:
    """Return the node that is named for a loss outside of all modules, of which only the end is read."""
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    with tb_gradgraph.SummaryWriter(directory) as writer:
        writer.watch(model, every_n_steps=1, level="op", values=True)
        loss = loss_of(model(torch.randn(8, 4)))
        assert not torch.isfinite(loss)
        loss.backward()
    answer = ask(directory, 0)["findings"]
    (node,) = (one["node"] for one in answer if one["kind"] == "nonfinite_value")
    return node


CASES: dict[str, tuple[Loss, str]] = {
    # exp(x) of a large x would make this loss -inf: its 0 makes the log -inf
    "an underflow before a log": (lambda y: -torch.log(torch.exp(-1e4 * y**2)).mean(), "log"),
    "an overflow before a log": (lambda y: torch.log(torch.exp(1e4 * y**2)).mean(), "exp"),
    "an overflow that is turned over": (lambda y: -torch.exp(1e4 * y**2).sum(), "exp"),
    "a root of a difference": (lambda y: torch.exp(y.abs() - 5).sub(1).sqrt().mean(), "sqrt"),
    "a quotient by an empty sum": (
        lambda y: torch.exp(y).sum() / (y.relu() * 0).sum() - torch.log(y.abs() + 1).sum(),
        "div",
    ),
    "a sigmoid takes infinity away": (
        lambda y: torch.log(torch.sigmoid(-torch.exp(1e3 * y.abs()))).mean(),
        "log",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_have_shown_is_not_named(name: str, tmp_path: pathlib.Path):
    loss_of, expected = CASES[name]
    assert _named(tmp_path, loss_of) == expected


def test_a_text_that_is_longer_than_its_frames(tmp_path: pathlib.Path):
    model = nn.Linear(4, 5)
    with tb_gradgraph.SummaryWriter(tmp_path) as writer:
        writer.watch(model, every_n_steps=1, level="op", values=True)
        given = model(torch.randn(6, 2, 4)).log_softmax(2)
        lengths = torch.tensor([6, 2]), torch.tensor([3, 3])
        nn.CTCLoss()(given, torch.randint(1, 5, (2, 3)), *lengths).backward()
    (text,) = texts(ask(tmp_path, 0), "nonfinite_value")
    assert "CTCLoss/ctc_loss" in text and "zero_infinity=True" in text
