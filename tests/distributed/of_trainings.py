"""Trainings of two processes, each kind bare, watched, and watched on one of them alone."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import pathlib

import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

from tests.distributed.trained import Kind, check


class Net(nn.Module):
    """Blocks, some with few elements, and parameters of its own; one of an odd size."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(6, 8)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)) for _ in range(2)
        )
        self.scale = nn.Parameter(torch.ones(1))
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = x + block(x).relu()
        return self.head(x * self.scale)


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))


def _ddp(**options: bool) -> Kind:
    return Kind(lambda net: DistributedDataParallel(net, **options), Net)


def ddp(directory: pathlib.Path) -> None:
    check(_ddp(), directory)


def ddp_with_a_static_graph_and_bucket_views(directory: pathlib.Path) -> None:
    check(_ddp(static_graph=True, gradient_as_bucket_view=True), directory)


def ddp_that_looks_for_unused(directory: pathlib.Path) -> None:
    check(_ddp(find_unused_parameters=True), directory)


def ddp_that_accumulates(directory: pathlib.Path) -> None:
    def waits(model: nn.Module, is_last: bool) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if is_last else model.no_sync()

    check(Kind(DistributedDataParallel, Net, parts=3, waits=waits), directory)


def _sharded(net: nn.Module, inside: bool = False, **options: object) -> nn.Module:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("fsdp",))
    for index, block in enumerate(net.blocks):
        if inside:
            net.blocks[index] = block = checkpoint_wrapper(block)
        fully_shard(block, mesh=mesh, **options)
    return fully_shard(net, mesh=mesh, **options)


def _fsdp(parts: int = 1, waits: object = None, **options: object) -> Kind:
    spread = functools.partial(_sharded, **options)
    kind = Kind(spread, Net, parts, placements={"*": "fsdp:S0"})
    return kind if waits is None else dataclasses.replace(kind, waits=waits)


def fsdp(directory: pathlib.Path) -> None:
    check(_fsdp(), directory)


def fsdp_that_keeps_what_it_gathered(directory: pathlib.Path) -> None:
    check(_fsdp(reshard_after_forward=False), directory)


def fsdp_in_mixed_precision(directory: pathlib.Path) -> None:
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    check(_fsdp(mp_policy=policy), directory)


def fsdp_with_checkpoints(directory: pathlib.Path) -> None:
    check(_fsdp(inside=True), directory)


def fsdp_that_accumulates(directory: pathlib.Path) -> None:
    """Reduced at the last pass alone: what is there then is of all of them."""

    def waits(model: nn.Module, is_last: bool) -> contextlib.AbstractContextManager[None]:
        model.set_requires_gradient_sync(is_last)
        return contextlib.nullcontext()

    check(_fsdp(3, waits), directory)


def fsdp_that_reduces_at_each_pass(directory: pathlib.Path) -> None:
    check(_fsdp(2), directory)


def tensor_parallel(directory: pathlib.Path) -> None:
    def spread(net: nn.Module) -> nn.Module:
        mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
        return parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})

    placements = {"0.weight": "tp:S0", "0.bias": "tp:S0", "2.weight": "tp:S1", "2.bias": "tp:R"}
    kind = Kind(spread, _mlp, same_input=True, placements=placements)
    check(kind, directory)
