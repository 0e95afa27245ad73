"""One process of a distributed training: run bare it notes what is right, run watched it is recorded."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import tb_gradgraph

STEPS = 3


def _sharded(net: nn.Module) -> nn.Module:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in net:
        if any(True for _ in layer.parameters()):
            fully_shard(layer, mesh=mesh)
    return fully_shard(net, mesh=mesh)


def _local(tensor: Any) -> torch.Tensor:
    return (tensor.to_local() if hasattr(tensor, "to_local") else tensor).detach().clone()


def train(kind: str, rank: int, logdir: pathlib.Path | None, parts: int) -> dict[str, Any]:
    """Train some steps; give each ``.grad`` before and after clipping, and the weights at the end."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    model = DistributedDataParallel(net) if kind == "ddp" else _sharded(net)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    torch.manual_seed(rank + 1)
    seen: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        if logdir is not None:
            writer = stack.enter_context(tb_gradgraph.SummaryWriter(str(logdir)))
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                writer.watch(model, optimizer=optimizer, every_n_steps=1, level="op")
            seen["warned"] = [str(each.message) for each in warned]
        for step in range(STEPS):
            optimizer.zero_grad()
            for part in range(parts):
                waits = kind == "ddp" and part < parts - 1
                with model.no_sync() if waits else contextlib.nullcontext():
                    model(torch.randn(4, 3)).square().mean().backward()
            for stage in ("accumulated", "applied"):
                named = model.named_parameters()
                seen[f"{stage} {step}"] = {name: _local(p.grad) for name, p in named}
                if stage == "accumulated":
                    nn.utils.clip_grad_norm_(model.parameters(), 0.05)
            optimizer.step()
    seen["weights"] = {name: _local(parameter) for name, parameter in model.named_parameters()}
    return seen


def main(kind: str, rank: int, world: int, directory: pathlib.Path, parts: int) -> None:
    """Train bare and watched, and save what was seen of each."""
    store = f"file://{directory}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=world)
    bare = train(kind, rank, None, parts)
    watched = train(kind, rank, directory / f"rank{rank}", parts)
    torch.save((bare, watched), directory / f"rank{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(
        sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4]), int(sys.argv[5])
    )
