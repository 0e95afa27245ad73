"""What is said, and not said, of models that are spread in ways of which parts are not read."""

from __future__ import annotations

import pathlib
import warnings

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

import tb_gradgraph
from tb_gradgraph.diagnose import findings
from tb_gradgraph.record.read.read_logdir import read_logdir
from tests.logged import read_tensor
from tests.training.loops import assert_bit_equal


def fully_sharded_data_parallel_of_the_first_kind(directory: pathlib.Path) -> None:
    """It is said that nothing, or a part, is recorded; nothing false is, and the training is the same."""
    states = []
    for logdir in (None, directory / str(dist.get_rank())):
        torch.manual_seed(0)
        model = FullyShardedDataParallel(
            nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4)),
            use_orig_params=True,
            device_id=torch.device("cpu"),
            sharding_strategy=ShardingStrategy.FULL_SHARD,
        )
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        told: list[warnings.WarningMessage] = []
        writer = None
        if logdir is not None:
            writer = tb_gradgraph.SummaryWriter(str(logdir))
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                writer.watch(model, optimizer=optimizer, every_n_steps=1, level="op", strict=True)
            assert len(told) == 1 and "Of a parameter, only this process's part" in str(
                told[0].message
            )
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(4, 6)).square().mean().backward()
            optimizer.step()
        if writer is not None:
            writer.close()
        states.append([p.detach().clone() for p in model.parameters()])
    assert_bit_equal(*states)
    for run in read_logdir(directory / str(dist.get_rank())):
        for graph in run.graphs.values():
            owned = [node for node in graph.nodes if node.kind == "parameter"]
            assert all(node.slots[0].is_part for node in owned), owned
        for record in run.records:
            graph = run.graphs[record.graph_hash]
            said = findings(graph, record.table, record.values, record.stage)
            assert [f.text for f in said if f.row in graph.part_rows] == []


def a_pipeline_s_division_is_no_clipping(directory: pathlib.Path) -> None:
    rank = dist.get_rank()
    torch.manual_seed(rank)
    part = nn.Linear(6, 6)
    stage = PipelineStage(part, rank, 2, torch.device("cpu"))
    schedule = ScheduleGPipe(
        stage, 4, loss_fn=lambda output, target: (output - target).square().sum()
    )
    optimizer = torch.optim.SGD(part.parameters(), 0.01)
    x, target = torch.ones(8, 6), torch.zeros(8, 6)
    with tb_gradgraph.SummaryWriter(str(directory / str(rank))) as writer:
        writer.watch(part, optimizer=optimizer, every_n_steps=1)
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(x)
        else:
            schedule.step(target=target)
        divided = part.weight.grad.clone()
        optimizer.step()
    (run,) = read_logdir(directory / str(rank))
    stages = [record.stage for record in run.records]
    assert stages == ["backward"] * 4 + ["accumulated", "applied"], stages
    weight = {record.stage: read_tensor(run, record, "weight").statistics for record in run.records}
    assert weight["applied"].l2_norm == pytest.approx(weight["accumulated"].l2_norm / 4, 1e-5)
    assert weight["applied"].l2_norm == pytest.approx(float(divided.norm()), 1e-5)
