"""A small training, recorded by hand at every stage of its optimizer's steps, with plain torch's numbers."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import tb_gradgraph
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.session import Session
from tb_gradgraph.statistics import STATISTICS, StatisticsTable
from tests.oracle import statistics_of

STEPS = range(0, 60, 10)
PASSES = 2
SKIPPED, CLIPPED = 30, 50  # the latter of one pass, so that nothing is summed
LOSS_SCALE, MAX_NORM = 1024.0, 1.0
STAGES_OF_A_STEP = ["backward", "backward", "accumulated", "unscaled", "clipped", "applied"]

Numbers = Mapping[str, float | int | None]


class Net(nn.Module):
    """Two layers, and one that the forward does not use."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head, self.spare = nn.Linear(6, 16), nn.Linear(16, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.body(x)))


def loss_of(output: torch.Tensor, step: int) -> torch.Tensor:
    return (output - 1).square().mean() * (400 if step == CLIPPED else 1 / PASSES)


def passes_of(step: int) -> int:
    return 1 if step == CLIPPED else PASSES


def stages_of(step: int) -> list[str]:
    """List the stages that are recorded of a step, one entry a record."""
    if step == CLIPPED:
        return ["backward", "clipped", "applied"]
    return STAGES_OF_A_STEP[:4] if step == SKIPPED else STAGES_OF_A_STEP


def inputs_of(step: int, number: int) -> torch.Tensor:
    """Return the inputs of a pass: at one step too large for float16, at another very large."""
    x = torch.randn(8, 6, generator=torch.Generator().manual_seed(10 * step + number))
    return x * (torch.inf if step == SKIPPED else 1)


@dataclasses.dataclass(frozen=True)
class Training:
    """What plain torch says of the training, by step, stage and parameter."""

    graph: Graph
    records: tuple[Record, ...]
    numbers: Mapping[tuple[int, str, str], Numbers]


def train() -> Training:
    """Train, and make the records of every stage."""
    torch.manual_seed(3)
    model, numbers = Net(), {}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    records: list[Record] = []
    for step in STEPS:
        records += _run_passes(model, step)
        graph = tb_gradgraph.capture(model, inputs_of(0, 0), loss_fn=_loss_at(step)).graph
        for stage, found in _step(model, optimizer, step):
            numbers.update({(step, stage, name): one for name, one in found.items()})
            if stage in stages_of(step):
                records.append(_record(graph, records[-1], stage, _table(graph, found)))
        optimizer.zero_grad()
    return Training(graph, tuple(records), numbers)


def _run_passes(model: Net, step: int) -> Iterator[Record]:
    for number in range(passes_of(step)):
        x = inputs_of(step, number)
        captured = tb_gradgraph.capture(model, x, loss_fn=_loss_at(step))
        (found,) = captured.backward_passes
        yield Record(
            *("training", captured.hash, step, 1.7e9 + step, number),
            *(found.table, found.gradients, captured.values),
            objective=captured.objective,
            **_told_of(step),
        )
        loss_of(model(x), step).backward()


def _loss_at(step: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda output: loss_of(output, step)


def _step(
    model: Net, optimizer: torch.optim.Optimizer, step: int
) -> Iterator[tuple[str, dict[str, Numbers]]]:
    """Yield the gradients at each stage after the passes; a step that is skipped ends before clipping."""
    yield "accumulated", _gradients(model)
    yield "unscaled", _gradients(model)
    if step == SKIPPED:
        return
    nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
    yield "clipped", _gradients(model)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    optimizer.step()
    applied = _gradients(model)
    for name, weight in model.named_parameters():
        if name in applied:
            norm, moved = before[name].norm().item(), (weight - before[name]).norm().item()
            told = {"weight_norm": norm, "update_norm": moved, "update_ratio": moved / norm}
            applied[name] = {**applied[name], **told}
    yield "applied", applied


def _gradients(model: Net) -> dict[str, Numbers]:
    parameters = model.named_parameters()
    return {name: statistics_of(p.grad) for name, p in parameters if p.grad is not None}


def _told_of(step: int) -> dict[str, float | int | bool]:
    told = {"loss_scale": LOSS_SCALE, "every_n_steps": 10, "cost": 0.0625}
    return told | {"skipped": step == SKIPPED}


def _record(graph: Graph, before: Record, stage: str, table: StatisticsTable) -> Record:
    """Record a stage as of the last pass."""
    told = dataclasses.replace(before, table=table, stage=stage, gradients={}, values={})
    return dataclasses.replace(told, graph_hash=graph.hash)


def _table(graph: Graph, found: Mapping[str, Numbers]) -> StatisticsTable:
    table = StatisticsTable.empty(graph.row_count)
    for node, row in zip(graph.nodes, graph.slot_offsets.tolist()):
        if node.kind == "parameter" and node.name in found:
            numbers = found[node.name]
            table.present[row] = True
            table.values[row] = [_float(numbers.get(name)) for name in STATISTICS]
    return table


def _float(number: float | int | None) -> float:
    return np.nan if number is None else float(number)


def write_training(directory: pathlib.Path, training: Training) -> None:
    """Write the records as a watch does, several steps a chunk."""
    with SummaryWriter(str(directory)) as writer:
        sink = WriterSink(writer)
        session = Session(sink.add_summary, flush_writer=sink.flush, torch_version="2.13")
        session.write_graph("training", training.graph)
        for number, record in enumerate(training.records, 1):
            session.write_record(record)
            if number % 7 == 0:
                session.flush()
        session.close()
