"""Training with a watch and without is bit-equal, random state included."""

from __future__ import annotations

import pathlib
import runpy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.training.loops import Bare, run_both, state_of

ROOT = pathlib.Path(__file__).parents[3]

Draw = Callable[[], tuple[torch.Tensor, torch.Tensor]]


def _mlp() -> tuple[nn.Module, Draw]:
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 3))
    return net, lambda: (torch.randn(8, 8), torch.randint(0, 3, (8,)))


def _digits() -> tuple[nn.Module, Draw]:
    net = runpy.run_path(str(ROOT / "demo" / "digits.py"))["Net"]()
    return net, lambda: (torch.rand(8, 1, 8, 8), torch.randint(0, 10, (8,)))


class Transformer(nn.Module):
    """Two layers with dropout, embedding and output tied."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(11, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(16, 11, bias=False)
        self.out.weight = self.tokens.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        found = self.layers(self.tokens(tokens), mask=mask, is_causal=True)
        return self.out(found).flatten(0, 1)


def _transformer() -> tuple[nn.Module, Draw]:
    def draw() -> tuple[torch.Tensor, torch.Tensor]:
        tokens = torch.randint(0, 11, (4, 7))
        return tokens[:, :-1], tokens[:, 1:].flatten()

    return Transformer(), draw


# What differs in a step stays different: 200 of them find only what takes long to come up.
@pytest.mark.parametrize("steps", [50, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("every_n_steps", [1, 7])
@pytest.mark.parametrize("make", [_mlp, _digits, _transformer])
def test_many_steps(
    make: Callable[[], tuple[nn.Module, Draw]],
    every_n_steps: int,
    steps: int,
    tmp_path: pathlib.Path,
) -> None:
    def loop(run: Bare) -> Any:
        net, draw = make()
        optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
        run.watch(net, optimizer=optimizer, every_n_steps=every_n_steps, level="op")
        losses = []
        for step in range(steps):
            x, y = draw()
            loss = functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            if step % (steps // 2) == 0 and step % every_n_steps == 0:
                run.note(step, "backward", net)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.detach())
        return state_of(net, optimizer), losses

    log = run_both(loop, tmp_path)
    recorded = [record.step for record in log.records if record.stage == "backward"]
    assert recorded == list(range(0, steps, every_n_steps))
    assert len(log.run.graphs) == 1
