"""``add_grad_graph(model, x)`` on one of two processes: runs by itself, or is refused; it never waits."""

from __future__ import annotations

import pathlib

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

import tb_gradgraph


def _net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))


def _input() -> torch.Tensor:
    return torch.randn(5, 4, generator=torch.Generator().manual_seed(dist.get_rank()))


def _train(model: nn.Module) -> None:
    """Go on, which both do: the group is in step, and so are the models."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(_input()).square().mean().backward()
        optimizer.step()


class _Reduced(torch.autograd.Function):
    """Sums over the processes: forward or backward, as Megatron's pairs do."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, forward: bool) -> torch.Tensor:
        ctx.forward = forward
        x = x.clone()
        if forward:
            dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        gradient = gradient.clone()
        if not ctx.forward:
            dist.all_reduce(gradient)
        return gradient, None


class _Reducing(nn.Module):
    def __init__(self, forward: bool) -> None:
        super().__init__()
        self.inner, self.forward_too = nn.Linear(4, 2), forward
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return _Reduced.apply(self.inner(x), self.forward_too)


def of_what_ddp_wraps(_: pathlib.Path) -> None:
    """Its gradient is this process's own, that of the module without DDP; nothing is left on DDP."""
    inner, plain = _net(), _net()
    model = DistributedDataParallel(inner)
    if dist.get_rank() == 0:
        graph = tb_gradgraph.capture(model, _input())
        plain(_input()).sum().backward()
        for name, parameter in plain.named_parameters():
            found = graph[name]
            norm = float(parameter.grad.norm())
            assert found.statistics.l2_norm == pytest.approx(norm, 1e-5, 1e-6), name
        assert "forward" not in vars(model)
    _train(model)
    total = sum(float(p.detach().sum()) for p in model.parameters())
    everybodys = [None, None]
    dist.all_gather_object(everybodys, total)
    assert everybodys[0] == everybodys[1]


def of_a_model_with_ddp_inside(_: pathlib.Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), DistributedDataParallel(_net()))
    if dist.get_rank() == 1:
        graph = tb_gradgraph.capture(model, _input())
        assert graph["0.weight"].statistics is not None
    _train(model)


def is_refused_where_parameters_are_gathered(_: pathlib.Path) -> None:
    mesh = init_device_mesh("cpu", (2,))
    sharded = {
        "fully_shard": fully_shard(_net(), mesh=mesh),
        "FullyShardedDataParallel": FullyShardedDataParallel(_net(), device_id=torch.device("cpu")),
    }
    for name, model in sharded.items():
        for all_ranks in (False, True):
            if all_ranks or dist.get_rank() == 0:
                with pytest.raises(tb_gradgraph.CaptureError, match=f"sharded by {name}") as told:
                    tb_gradgraph.capture(model, _input(), all_ranks=all_ranks)
                assert "watch(writer, model" in str(told.value)
        _train(model)


def of_tensor_parallel_runs_on_all_ranks_or_none(_: pathlib.Path) -> None:
    mesh = init_device_mesh("cpu", (2,))
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(3))
    model, plain = (nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)) for _ in range(2))
    for parameter in model.parameters():
        dist.broadcast(parameter.data, 0)
    plain.load_state_dict(model.state_dict())
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    model = parallelize_module(model, mesh, plan)
    if dist.get_rank() == 0:
        with pytest.raises(tb_gradgraph.CaptureError, match="'0.weight' is distributed") as told:
            tb_gradgraph.capture(model, x)
        assert "capture(..., all_ranks=True)" in str(told.value)
    graph = tb_gradgraph.capture(model, x, all_ranks=True)
    plain(x).sum().backward()
    part = plain[0].weight.grad.chunk(2)[dist.get_rank()]
    norm = graph["0.weight"].statistics.l2_norm
    assert norm == pytest.approx(float(part.norm()), 1e-5)


def is_refused_at_the_first_word_to_another(_: pathlib.Path) -> None:
    """Whatever the model does by itself: the operation is named, and was not begun."""
    for forward in (True, False):
        model = _Reducing(forward)
        for parameter in model.parameters():
            dist.broadcast(parameter.data, 0)
        if dist.get_rank() == 0:
            with pytest.raises(tb_gradgraph.CaptureError, match=r"it runs c10d\.allreduce_"):
                tb_gradgraph.capture(model, _input())
            assert float(model.calls) == 0 and model.inner.weight.grad is None
        graph = tb_gradgraph.capture(model, _input(), all_ranks=True)
        assert graph["inner.bias"].gradient.tolist() == [5.0 if forward else 10.0] * 2
        _train(model)
