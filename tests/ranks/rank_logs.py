"""Logs of several processes, made without any: each has its part of a known tensor."""

from __future__ import annotations

import dataclasses
import math
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

from tb_gradgraph.graph import Edge, Graph, Node, Record, Slot
from tb_gradgraph.ranks import rank_directory
from tb_gradgraph.record import Process, Session, WriterSink
from tb_gradgraph.statistics import STATISTICS, StatisticsTable
from tests.oracle import statistics_of

Mesh = tuple[tuple[str, int, int], ...]


def table_of(tensors: Sequence[torch.Tensor]) -> StatisticsTable:
    """Return the statistics of tensors as a table with a row for each, by plain Python."""
    table = StatisticsTable.empty(len(tensors))
    for row, tensor in enumerate(tensors):
        found = statistics_of(tensor)
        numbers = [found.get(name) for name in STATISTICS]
        table.values[row] = [math.nan if number is None else number for number in numbers]
    table.present[:] = True
    return table


def make_graph(placement: str, shape: Sequence[int]) -> Graph:
    """Make a graph of a parameter ``w`` with a placement, an operation, and a loss."""
    shapes = {"w": tuple(shape), "mul": (4,), "loss": ()}
    kinds = {"w": "parameter", "mul": "operation", "loss": "root"}
    nodes = tuple(
        Node(
            key=f"{kinds[name]}:{name}",
            name=name,
            kind=kinds[name],
            operation="MulBackward0" if name == "mul" else "",
            scope=-1,
            slots=(Slot(name, of, "float32", placement=placement if name == "w" else ""),),
            is_leaf=name == "w",
        )
        for name, of in shapes.items()
    )
    return Graph(nodes, (Edge(0, 0, 1, 0), Edge(1, 0, 2, 0)), ())


@dataclasses.dataclass(frozen=True)
class RankOf:
    """What one process logs."""

    process: Process
    placement: str
    part: torch.Tensor  # of w
    sample: torch.Tensor  # of mul
    loss: float = 1.0


def write_rank(
    logdir: pathlib.Path, rank: RankOf, shape: Sequence[int], steps: Sequence[int] = (0,)
) -> None:
    """Write the log of one process below a directory."""
    graph = make_graph(rank.placement, shape)
    number = rank.process.rank
    own = rank_directory(str(logdir), number) if number else str(logdir)
    with SummaryWriter(own) as writer:
        sink = WriterSink(writer)
        session = Session(sink.add_summary, flush_writer=sink.flush, torch_version="2.13")
        session.describe(rank.process)
        session.write_graph("net", graph)
        for step in steps:
            table = table_of([rank.part * (step + 1), rank.sample, torch.tensor(rank.loss)])
            norm = float(table.column("l2_norm")[0])
            session.write_record(
                Record(
                    tag="net",
                    graph_hash=graph.hash,
                    step=step,
                    wall_time=float(step),
                    backward_pass=0,
                    table=table,
                    objective="loss",
                    every_n_steps=1,
                    quantities={"loss": rank.loss, "grad_norm": norm},
                )
            )
        session.close()


def mesh_ranks(
    sizes: Mapping[str, int], placement: str, parts: Mapping[tuple[int, ...], torch.Tensor]
) -> list[RankOf]:
    """Return the processes of a mesh, in row-major order; ``parts`` by place in the mesh."""
    world = math.prod(sizes.values())
    found = []
    for rank, place in enumerate(np.ndindex(*sizes.values())):
        mesh: Mesh = tuple((name, size, at) for (name, size), at in zip(sizes.items(), place))
        process = Process(rank, world, "host:1", mesh)
        sample = torch.tensor([rank + 1.0, 0, 0, 0])
        found.append(RankOf(process, placement, parts[place], sample, loss=float(rank)))
    return found
