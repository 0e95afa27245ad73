"""An engine that reduces gradients after backward, as DeepSpeed's ZeRO: said, and nothing false."""

from __future__ import annotations

import copy
import pathlib

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.commands.summary import summarize
from tests.diagnose.asked import ask
from tests.training.loops import Log, assert_gradient


class DeepSpeedEngine(nn.Module):
    """Calls its module; an optimizer of its own steps copies of the parameters."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.masters = [nn.Parameter(copy.deepcopy(p.data)) for p in module.parameters()]
        self.optimizer = torch.optim.SGD(self.masters, 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x)

    def step(self) -> None:
        for master, parameter in zip(self.masters, self.module.parameters()):
            master.grad, parameter.grad = parameter.grad, None
        self.optimizer.step()


def test_gradients_of_this_process_are_told_to_be_terms(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = DeepSpeedEngine(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)))
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        with pytest.warns(UserWarning, match="gradients of this process before that sum") as told:
            writer.watch(engine, optimizer=engine.optimizer, every_n_steps=1)
        assert len(told) == 1
        for _ in range(2):
            engine(torch.randn(4, 3)).square().mean().backward()
            grads = {name: p.grad for name, p in engine.module.named_parameters()}
            engine.step()
    log = Log(tmp_path)
    (tag,) = {record.tag for record in log.records}
    assert tag == "Sequential"
    for name, gradient in grads.items():
        found = log.tensor(1, "backward", name)
        assert_gradient(found, gradient, name)
        assert found.slot.placement == "zero:P" and found.slot.is_part
    for step in range(2):
        kinds = {finding["kind"] for finding in ask(tmp_path, step)["findings"]}
        assert kinds <= {"no_update"}, kinds
    assert summarize(str(tmp_path)) == 0
    assert (
        "4 of 4 parameters are recorded only in this process's part (a term"
        in capsys.readouterr().out
    )
