"""Processes that have no writer: what trainers hand out there, and nothing at all."""

from __future__ import annotations

import os
import pathlib
import re
import runpy

import pytest
import torch
import torch.distributed as dist
from accelerate.state import AcceleratorState
from lightning.pytorch.loggers import TensorBoardLogger
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import tb_gradgraph
from tb_gradgraph.record.read.read_logdir import read_logdir

ROOT = pathlib.Path(__file__).parents[2]


def the_program_with_accelerate_in_the_readme(directory: pathlib.Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n([^`]*?accelerate[^`]*)^```", text, re.MULTILINE)
    script = directory / "program.py"
    if dist.get_rank() == 0:
        script.write_text(program, encoding="utf-8")
    dist.barrier()
    os.environ["ACCELERATE_USE_CPU"] = "true"  # as "accelerate launch --cpu" does
    left = runpy.run_path(str(script))
    accelerator = left["accelerator"]
    assert accelerator.num_processes == 2 and isinstance(left["model"], DistributedDataParallel)
    for tracker in accelerator.trackers:  # end_training() would end the process group too
        tracker.finish()
    dist.barrier()
    (run,) = (run for run in read_logdir(directory / "runs") if run.records)
    assert {record.stage for record in run.records} == {"backward", "applied"}
    AcceleratorState._reset_state(reset_partial_state=True)


def without_a_writer_above_rank_0(directory: pathlib.Path) -> None:
    rank, net = dist.get_rank(), nn.Linear(2, 1)
    writer = tb_gradgraph.SummaryWriter(str(directory)) if rank == 0 else None
    lightning = TensorBoardLogger(directory / "lightning")
    for given in (writer, lightning, lightning.experiment):
        with tb_gradgraph.watch(given, net, every_n_steps=1) as watch:
            assert watch.closed is (rank > 0)
            assert ("has no writer" in repr(watch)) is (rank > 0)
            assert watch.step == 0 and watch.every_n_steps == 1
            graph = tb_gradgraph.add_grad_graph(given, net, torch.ones(1, 2))
            net(torch.ones(1, 2)).sum().backward()
            watch.step = 5
            assert watch.step == 5
        assert graph["weight"].gradient.tolist() == [[1.0, 1.0]]
        with pytest.raises(tb_gradgraph.CaptureError, match="every_n_steps"):
            tb_gradgraph.watch(given, net, every_n_steps=0)
    if writer is not None:
        writer.close()
        with pytest.raises(tb_gradgraph.WriterError, match="whose rank is above 0"):
            tb_gradgraph.watch(None, net)
    lightning.finalize("success")
