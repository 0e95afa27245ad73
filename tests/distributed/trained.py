"""One training, run bare and watched on every rank: bit-equal, and what plain torch says is recorded."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn

import tb_gradgraph
from tb_gradgraph.autograd.torch_internals.tensor_classes import owned_tensors
from tb_gradgraph.diagnose import findings
from tb_gradgraph.ranks import join_ranks, rank_directory
from tb_gradgraph.record import EventFiles, LoggedRun, read_logdir, read_run
from tb_gradgraph.serve import Reader
from tb_gradgraph.serve.evidence.graph_columns import graph_columns
from tests.logged import read_tensor
from tests.training.loops import Log, assert_bit_equal, assert_gradient

STEPS = 2
LEVELS = ("module", "op")
Loss = Callable[[nn.Module, int], torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Kind:
    """How a model is spread, and trained."""

    spread: Callable[[nn.Module], nn.Module]
    net: Callable[[], nn.Module]
    parts: int = 1  # backward passes of a step
    waits: Callable[[nn.Module, bool], Any] = lambda model, is_last: contextlib.nullcontext()
    same_input: bool = False  # on all ranks
    warned: str = ""  # part of the one warning of watch()
    placements: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reads_each_pass: bool = False  # whether ``.grad`` shows every pass by itself


@dataclasses.dataclass
class Ran:
    """What a run left, and what ``.grad`` was: by step and stage, by name."""

    state: Any
    gradients: dict[tuple[int, str], dict[str, torch.Tensor | None]]
    whole: dict[tuple[int, str], dict[str, torch.Tensor]]  # of all processes together
    weights: dict[int, dict[str, torch.Tensor]]  # of all processes together, before a step
    warned: list[str]


def local(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """Copy the elements that this process has."""
    if tensor is None:
        return None
    held = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return held.detach().clone()


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """Copy the elements that all processes have together. All of them must call this."""
    held = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return held.detach().clone()


def parameters_of(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return parameters by their names without wrappers."""
    return {name: tensor for kind, name, tensor in owned_tensors(model) if kind == "parameter"}


def train(kind: Kind, logdir: pathlib.Path | None, level: str = "op", gathers: bool = False) -> Ran:
    """Train some steps, watched where there is a directory to log to; all ranks gather, or none."""
    torch.manual_seed(0)
    model = kind.spread(kind.net())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    torch.manual_seed(1 if kind.same_input else dist.get_rank() + 1)
    gradients: dict[tuple[int, str], dict[str, torch.Tensor | None]] = {}
    wholes: dict[tuple[int, str], dict[str, torch.Tensor]] = {}
    weights: dict[int, dict[str, torch.Tensor]] = {}
    with contextlib.ExitStack() as stack:
        told: list[Any] = []
        if logdir is not None:
            writer = stack.enter_context(tb_gradgraph.SummaryWriter(str(logdir)))
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                options = {"every_n_steps": 1, "level": level, "strict": True}
                writer.watch(model, optimizer=optimizer, ranks="all", **options)
        for step in range(STEPS):
            optimizer.zero_grad()
            for part in range(kind.parts):
                with kind.waits(model, part == kind.parts - 1):
                    model(torch.randn(4, 6)).square().mean().backward()
            for stage in ("before", "applied"):
                named = parameters_of(model)
                gradients[step, stage] = {name: local(p.grad) for name, p in named.items()}
                if gathers:
                    wholes[step, stage] = {
                        name: whole(p.grad) for name, p in named.items() if p.grad is not None
                    }
                    if stage == "applied":
                        weights[step] = {name: whole(p) for name, p in named.items()}
                if stage == "before":
                    for parameter in model.parameters():
                        parameter.grad.mul_(0.4)
            optimizer.step()
        if logdir is not None:
            with warnings.catch_warnings(record=True) as closing:
                warnings.simplefilter("always")
                writer.close()
            told += closing
    state = {name: local(tensor) for name, tensor in parameters_of(model).items()}
    texts = [str(each.message) for each in told]
    return Ran((state, torch.get_rng_state()), gradients, wholes, weights, texts)


def check(kind: Kind, directory: pathlib.Path) -> None:
    """Compare a bare run with one that is watched at each level, and with one that rank 0 alone watches."""
    bare = train(kind, None, gathers=True)
    for level in LEVELS:
        logdir = directory / level  # the same for all
        watched = train(kind, logdir, level)
        assert_bit_equal((watched.state, watched.gradients), (bare.state, bare.gradients))
        assert len(watched.warned) == bool(kind.warned), watched.warned
        assert all(kind.warned in text for text in watched.warned), watched.warned
        dist.barrier()
        own = rank_directory(str(logdir), dist.get_rank()) if dist.get_rank() else logdir
        check_log(kind, Log(read_run(own)), bare)
        check_joined(kind, logdir, bare)
    alone = train(kind, directory / "alone" if dist.get_rank() == 0 else None)
    assert_bit_equal((alone.state, alone.gradients), (bare.state, bare.gradients))
    is_told = ["only rank 0 has recorded its part" in text for text in alone.warned]
    assert is_told == [True] * bool(kind.placements and dist.get_rank() == 0), alone.warned


def check_log(kind: Kind, log: Log, bare: Ran) -> None:
    """Assert that the log has each local gradient at each stage, and where it lies."""
    last = kind.parts - 1
    stages = [("backward", part) for part in range(kind.parts)]
    stages += [("accumulated", last)] * (last > 0) + [("clipped", last), ("applied", last)]
    assert log.places == [(step, *place) for step in range(STEPS) for place in stages], log.places
    before = "accumulated" if last else "backward"
    for (step, stage), gradients in bare.gradients.items():
        record = log.record(step, before if stage == "before" else stage)
        for name, gradient in gradients.items():
            found = read_tensor(log.run, record, name)
            place = f"{name} {stage} {step} of rank {dist.get_rank()}"
            if gradient is not None and not gradient.numel():
                assert found.statistics is not None and found.statistics.numel == 0, place
            else:
                assert_gradient(found, gradient, place)
            expected = kind.placements.get(name, kind.placements.get("*", ""))
            assert found.slot.placement == expected, f"{place}: {found.slot.placement}"
    check_place(kind, log)
    for record in log.records:
        graph = log.graph(record)
        said = findings(graph, record.table, record.values, record.stage)
        assert not [f.text for f in said if f.row in graph.part_rows], said
        names = [node.name for node in graph.nodes if node.kind == "parameter"]
        assert sorted(names) == sorted(bare.gradients[0, "before"]), names


def check_joined(kind: Kind, logdir: pathlib.Path, bare: Ran) -> None:
    """Assert that what all ranks logged is one run, with the numbers of the whole tensors."""
    (run,) = join_ranks(read_logdir(logdir))
    assert run.warnings == ()
    check_served(logdir, run)
    log, last = Log(run), kind.parts - 1
    net = kind.net()
    assert {record.tag for record in run.records} == {type(net).__name__}  # as in one process
    modules = {type(module).__name__ for module in net.modules()}
    assert all(one.module in modules for graph in run.graphs.values() for one in graph.scopes)
    assert not any(graph.part_rows for graph in run.graphs.values())
    before = "accumulated" if last else "backward"
    for (step, stage), gradients in bare.whole.items():
        record = log.record(step, before if stage == "before" else stage)
        for name, gradient in gradients.items():
            found = read_tensor(run, record, name)
            place = f"{name} {stage} {step}, joined"
            assert_gradient(found, gradient, place)
            if stage == "applied":
                norm = float(bare.weights[step][name].norm())
                assert found.statistics.weight_norm == pytest.approx(norm, rel=1e-6), place
        total = torch.stack([gradient.double().norm() for gradient in gradients.values()]).norm()
        assert record.quantities["grad_norm"] == pytest.approx(float(total), rel=1e-6)


def check_served(logdir: pathlib.Path, run: LoggedRun) -> None:
    """Assert that the plugin shows the same, and each process by itself."""
    reader = Reader(EventFiles(logdir))
    views = reader.runs()
    ranks = [f"ranks/{rank}" for rank in range(dist.get_world_size())]
    assert sorted(views) == sorted([".", *ranks]), views
    view = views["."]
    assert view.warnings == ()
    entries = [entry for some in view.records.values() for entry in some]
    assert len(entries) == len(run.records)
    for entry, record in zip(entries, run.records):
        assert (entry.step, entry.stage) == (record.step, record.stage)
        assert entry.quantities == record.quantities
        assert not reader.graph(view, entry.graph_hash).part_rows
        table = reader.table(view, entry)
        np.testing.assert_array_equal(table.present, record.table.present)
        np.testing.assert_allclose(table.values, record.table.values, rtol=1e-6)


def check_place(kind: Kind, log: Log) -> None:
    """Assert that the manifest says whose log it is, and the panel which part of each tensor it has."""
    rank, (manifest,) = dist.get_rank(), log.run.sessions
    dims = {how.partition(":")[0] for how in kind.placements.values()}
    mesh = tuple((dim, dist.get_world_size(), rank) for dim in sorted(dims))
    process = manifest.process
    assert (process.rank, process.world_size, process.mesh) == (rank, dist.get_world_size(), mesh)
    assert process.run_id == f"127.0.0.1:{os.environ['MASTER_PORT']}"
    for graph_hash, graph in log.run.graphs.items():
        slots = [slot for node in graph.nodes for slot in node.slots]
        parts = graph_columns(graph, graph_hash, process)["slots"].get("part", [""] * len(slots))
        told = {f"shard {rank + 1} of {dist.get_world_size()}" if s.is_part else "" for s in slots}
        assert set(parts) == told, parts
