"""A small net that remembers its batches, and the same training again in plain torch."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record.read.read_logdir import LoggedRun
from tests.logged import read_one_run

LEARNING_RATE = 0.25
Batch = tuple[torch.Tensor, torch.Tensor]
Gradients = Mapping[str, torch.Tensor]


class Net(nn.Module):
    """All parameters are small enough to be kept whole."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, 3)
        self.drop = nn.Dropout(0.0)
        self.out = nn.Linear(3, 1)
        self.seen: list[Batch] = []  # in training

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Forward as far as the loss."""
        if self.training:
            self.seen.append((x.clone(), y.clone()))
        return functional.mse_loss(self.out(self.drop(self.hidden(x).relu())), y)


def new_net() -> Net:
    """Return the same net at every call."""
    torch.manual_seed(3)
    return Net()


def sgd(net: nn.Module) -> torch.optim.SGD:
    """Return the optimizer of all trainings here."""
    return torch.optim.SGD(net.parameters(), lr=LEARNING_RATE, momentum=0.5)


def new_data(count: int) -> torch.utils.data.TensorDataset:
    """Return ``count`` samples, the same at every call."""
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(count, 4, generator=generator)
    return torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True).sin())


@dataclasses.dataclass
class Step:
    """Gradients of one optimizer step by the name of the parameter, and how far that one moved."""

    passes: list[Gradients] = dataclasses.field(default_factory=list)
    accumulated: Gradients = dataclasses.field(default_factory=dict)
    applied: Gradients = dataclasses.field(default_factory=dict)
    moved: dict[str, float] = dataclasses.field(default_factory=dict)


def replay(
    batches: Sequence[Batch],
    accumulate: int = 1,
    clip: float | None = None,
    new_optimizer_at: int | None = None,
) -> list[Step]:
    """Train anew on ``batches`` and give every step's numbers."""
    net = new_net()
    optimizer = sgd(net)
    steps = []
    for first in range(0, len(batches), accumulate):
        if first == new_optimizer_at:
            optimizer = sgd(net)
        steps.append(_run_step(net, optimizer, batches[first : first + accumulate], clip))
    return steps


def _run_step(
    net: Net, optimizer: torch.optim.Optimizer, batches: Sequence[Batch], clip: float | None
) -> Step:
    step = Step()
    names, parameters = zip(*net.named_parameters())
    for x, y in batches:
        loss = net.loss(x, y) / len(batches)
        step.passes.append(dict(zip(names, torch.autograd.grad(loss, parameters))))
    for name, parameter in zip(names, parameters):
        parameter.grad = sum(found[name] for found in step.passes)
    step.accumulated = {name: parameter.grad.clone() for name, parameter in net.named_parameters()}
    if clip is not None:
        nn.utils.clip_grad_norm_(parameters, clip)
    step.applied = {name: parameter.grad.clone() for name, parameter in net.named_parameters()}
    before = {name: parameter.detach().clone() for name, parameter in net.named_parameters()}
    optimizer.step()
    with torch.no_grad():
        step.moved = {n: float((p - before[n]).norm()) for n, p in net.named_parameters()}
    return step


class Log:
    """What a training under test has recorded."""

    def __init__(self, logdir: pathlib.Path) -> None:
        self.run: LoggedRun = read_one_run(logdir)

    @property
    def steps(self) -> list[int]:
        """The recorded steps."""
        return sorted({record.step for record in self.run.records})

    def places(self, step: int) -> list[tuple[str, int]]:
        """Stage and backward pass of each record of a step."""
        return [(r.stage, r.backward_pass) for r in self.run.records if r.step == step]

    def check(
        self, step: int, stage: str, expected: Gradients, number: int = 0, prefix: str = ""
    ) -> Record:
        """Compare one record with gradients of plain torch; give the record."""
        (record,) = (
            record
            for record in self.run.records
            if (record.step, record.stage, record.backward_pass) == (step, stage, number)
        )
        rows = dict(_rows(self.run.graphs[record.graph_hash]))
        for name, gradient in expected.items():
            found = record.gradients[rows[prefix + name]]
            np.testing.assert_allclose(found, gradient.numpy(), rtol=2e-6, atol=1e-8)
        return record

    def check_moved(self, step: int, expected: Mapping[str, float], prefix: str = "") -> None:
        """Compare how far a step moved the parameters."""
        (record,) = (r for r in self.run.records if (r.step, r.stage) == (step, "applied"))
        rows = dict(_rows(self.run.graphs[record.graph_hash]))
        for name, moved in expected.items():
            statistics = record.table.row(rows[prefix + name])
            np.testing.assert_allclose(statistics.update_norm, moved, rtol=1e-5)


def check_accumulated_step(log: Log, step: int, expected: Step, prefix: str = "") -> None:
    """Compare a step of several micro-batches that was clipped, in all its stages."""
    count = len(expected.passes)
    stages = ["accumulated", "clipped", "applied"]
    passes = [("backward", number) for number in range(count)]
    assert log.places(step) == [*passes, *((stage, count - 1) for stage in stages)]
    for number, gradients in enumerate(expected.passes):
        log.check(step, "backward", gradients, number, prefix)
    log.check(step, "accumulated", expected.accumulated, count - 1, prefix)
    for stage in ("clipped", "applied"):
        log.check(step, stage, expected.applied, count - 1, prefix)
    log.check_moved(step, expected.moved, prefix)


def check_scaled_steps(
    log: Log,
    batches: Sequence[Batch],
    scaler: torch.amp.GradScaler,
    prefix: str = "",
    in_float16: bool = False,
    first: int = 0,
) -> None:
    """Train anew on ``batches`` with ``scaler``, from step ``first`` on; compare what was recorded."""
    net = new_net()
    optimizer = sgd(net)
    for step, (x, y) in enumerate(batches, first):
        with torch.autocast("cpu", torch.float16, in_float16, cache_enabled=False):
            loss = net.loss(x, y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        gradients = {name: parameter.grad.clone() for name, parameter in net.named_parameters()}
        scale = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if step in log.steps:
            stages = ["backward", "unscaled", "applied"][: 2 if scaler.get_scale() < scale else 3]
            assert log.places(step) == [(stage, 0) for stage in stages]
            for stage in stages:
                record = log.check(step, stage, gradients, prefix=prefix)
                assert record.loss_scale == scale


def _rows(graph: Graph) -> Iterator[tuple[str, int]]:
    for node, row in zip(graph.nodes, graph.slot_offsets.tolist()):
        if node.kind == "parameter":
            yield node.name, row
