"""Where the NaN of small trainings began, against what torch's own hooks and values say."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn

from tb_gradgraph import SummaryWriter
from tests.diagnose.asked import ask, texts

IDS = torch.arange(10)


class Tied(nn.Module):
    """Uses one weight twice; only its use as an embedding gets NaN, by ``inf * 0``."""

    def __init__(self) -> None:
        super().__init__()
        self.tok = nn.Embedding(10, 96)
        self.mid = nn.Linear(96, 96)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        h = torch.sqrt(self.mid(self.tok(ids)) * 0)
        return h @ self.tok.weight.t()


class Root(nn.Module):
    """Takes the root of zero between two layers, with nothing that is read between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.first(x)
        return self.second(torch.sqrt(h - h) + torch.sqrt(h * 0))


def train(
    logdir: pathlib.Path,
    model: nn.Module,
    loss_of: Callable[[], torch.Tensor],
    level: str,
    values: bool = False,
) -> Iterator[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with SummaryWriter(str(logdir)) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=1, level=level, values=values)
        for _ in range(2):
            loss = loss_of()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield loss.item()


@pytest.fixture(params=["module", "op"])
def level(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_use_whose_share_was_finite_is_not_blamed_for_the_sum(tmp_path, level):
    model = Tied()
    shares: list[torch.Tensor] = []

    def loss_of() -> torch.Tensor:
        transposed = model.tok.weight.t()
        h = torch.sqrt(model.mid(model.tok(IDS)) * 0)
        logits = h @ transposed
        transposed.register_hook(shares.append)
        return nn.functional.cross_entropy(logits, IDS)

    loss_of().backward()
    assert torch.isfinite(shares[0]).all(), "what t sends is finite"
    assert not torch.isfinite(model.tok.weight.grad).all()

    list(train(tmp_path, model, lambda: nn.functional.cross_entropy(model(IDS), IDS), level))
    found = ask(tmp_path, 0)["findings"]
    told = " ".join(finding["text"] for finding in found if finding["kind"] != "nonfinite")
    blamed = [finding["node"] for finding in found if finding["kind"] == "nonfinite_origin"]
    assert blamed == (["sqrt"] if level == "op" else ["mid/addmm"])
    assert "t in " not in told and "tok.weight" not in told


def test_a_loss_that_is_nan_is_blamed_on_the_forward_and_on_no_operation(tmp_path, level):
    model = Tied()
    loss_of = lambda: nn.functional.cross_entropy(model(IDS), IDS)  # noqa: E731 - one line
    losses = list(train(tmp_path, model, loss_of, level, values=level == "module"))
    assert losses[0] == losses[0] and losses[1] != losses[1], "the first step made the weights NaN"
    found = ask(tmp_path, 1)["findings"]
    kind = "nonfinite_weight" if level == "module" else "nonfinite_value"  # no values at "op"
    assert [finding["kind"] for finding in found] == [kind, "nonfinite"]
    if level == "op":
        assert found[0]["text"].startswith("The forward already gave NaN or infinity.")
        assert "values=True reads more" in found[0]["text"]


def test_what_turned_bad_among_nodes_that_were_not_read_is_told_once(tmp_path):
    model = Root()
    list(train(tmp_path, model, lambda: model(torch.ones(3, 6)).sum(), "module"))
    found = texts(ask(tmp_path, 0), "nonfinite_origin")
    assert len(found) == 1
    assert "at each of the 2 operations that use it (sub, mul), and 18 NaN" in found[0]
