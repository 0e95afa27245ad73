"""A ReLU that is dead is named, once, with the parameters that get zero for it."""

from __future__ import annotations

import pathlib

import pytest
import torch
from torch import nn

from tb_gradgraph import SummaryWriter
from tests.diagnose.asked import ask, texts


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin, self.act = nn.Linear(12, 12), nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.lin(x))


class Net(nn.Module):
    """Four blocks, the third of which is dead; with ``skip`` what is before it is reached around it."""

    def __init__(self, skip: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(4))
        self.head, self.skip = nn.Linear(12, 3), skip
        with torch.no_grad():
            self.blocks[2].lin.bias.fill_(-100)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = x + block(x) if self.skip else block(x)
        return self.head(x)


def log(logdir: pathlib.Path, model: Net, level: str) -> float:
    """Run one step; give the norm of what arrives at the dead ReLU."""
    arrived: list[torch.Tensor] = []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    loss = nn.functional.cross_entropy
    x, y = torch.randn(16, 12), torch.randint(3, (16,))
    act = model.blocks[2].act
    handle = act.register_forward_hook(
        lambda _, __, out: out.register_hook(arrived.append) and None
    )
    loss(model(x), y).backward()
    handle.remove()
    with SummaryWriter(str(logdir)) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=1, level=level)
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
    return arrived[0].norm().item()


@pytest.mark.parametrize("level", ["module", "op"])
def test_the_dead_relu_is_one_finding_with_what_gets_zero_for_it(tmp_path, level):
    model = Net(skip=False)
    norm = log(tmp_path, model, level)
    zero = [name for name, p in model.named_parameters() if not p.grad.any()]
    assert len(zero) == 7, "blocks 0 to 2, and the weight whose input is all zero"
    answer = ask(tmp_path, 0)
    (text,) = texts(answer, "zero_origin")
    assert "The gradient becomes zero in blocks.2.act/relu (ReLU, tests/" in text
    assert (
        f" in forward): {norm:.2g} arrives, 0 leaves. Because of it 6 parameters get only zero: "
        in text
    )
    assert "blocks.0.lin.weight" in text and "blocks.3" not in text
    rest = texts(answer, "zero_gradient")
    assert [one.split(":")[0] for one in rest] == ["blocks.3.lin.weight"]
    (later,) = texts(ask(tmp_path, 0, "applied"), "zero_gradient")
    assert later.startswith("At the stage applied the gradients of 7 parameters (blocks.0")


@pytest.mark.parametrize("level", ["module", "op"])
def test_what_is_reached_around_it_is_not_listed(tmp_path, level):
    model = Net(skip=True)
    log(tmp_path, model, level)
    zero = [name for name, p in model.named_parameters() if not p.grad.any()]
    assert zero == ["blocks.2.lin.weight", "blocks.2.lin.bias"]
    (text,) = texts(ask(tmp_path, 0), "zero_origin")
    assert text.endswith(f"Because of it 2 parameters get only zero: {', '.join(zero)}.")
