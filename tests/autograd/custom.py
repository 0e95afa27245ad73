"""Models around torch.autograd.Function, checkpoints, hooks and saved tensors."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
)


class Exponential(torch.autograd.Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * ctx.saved_tensors[0]


class Inside(torch.autograd.Function):
    """Has a graph of its own inside, and differentiates that in its backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = Exponential.apply(ctx.x) * 2
        return ctx.y.detach()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(ctx.y, ctx.x, gradient, retain_graph=True)[0]


class Cube(torch.autograd.Function):
    """Can be differentiated twice."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return 3 * ctx.saved_tensors[0] ** 2 * gradient


class ManyArguments(torch.autograd.Function):
    """Arguments and outputs that are no tensors."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: int, _mode: str, _none: None = None) -> Any:
        ctx.factor = factor
        return x * factor, None, 3

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor, *_others: Any) -> Any:
        return gradient * ctx.factor, None, None, None


class DoubledInPlace(torch.autograd.Function):
    """Changes its input, and returns it."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


class Flat(torch.autograd.Function):
    """Returns a view."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.shape = x.shape
        return x.view(-1)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.view(ctx.shape)


class Reversal(torch.autograd.Function):
    """Returns its input; turns the gradient round."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return -gradient


class GivesNone(torch.autograd.Function):
    """Is told of an output without gradient by ``None``."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> Any:
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    @staticmethod
    def backward(ctx: Any, first: torch.Tensor, second: None) -> torch.Tensor:
        assert second is None
        return first


@torch.library.custom_op("tb_gradgraph_tests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


twice.register_autograd(lambda _ctx, gradient: gradient * 2)


def functions(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = Exponential.apply(Inside.apply(lin(x)))
    z = Flat.apply(Reversal.apply(y)).view(2, 3)
    return GivesNone.apply(z)[0].sum() + ManyArguments.apply(lin(x), 2, "mode")[0].sum()


def dirty(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x) * 1
    DoubledInPlace.apply(y)
    return y.sum()


def twice_differentiated(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    (slope,) = torch.autograd.grad(Cube.apply(y).sum(), y, create_graph=True)
    return slope.sum()


def registered_operation(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return twice(lin(x)).sum()


def hessian(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    given = x.detach().requires_grad_()
    (first,) = torch.autograd.grad(lin(given).tanh().sum(), given, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), given, create_graph=True)
    return second.square().sum()


def backward_inside(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    given = x.detach().requires_grad_()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Using backward.. with create_graph", UserWarning)
        lin(given).square().sum().backward(create_graph=True, inputs=[given])
    gradient, given.grad = given.grad, None  # else the graph, and our hooks on it, stay for good
    return gradient.square().sum()


def nested_checkpoint(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    def inner(y: torch.Tensor) -> torch.Tensor:
        return checkpoint(lin, y, use_reentrant=False).tanh()

    return checkpoint(lambda y: inner(y) * lin(y), lin(x), use_reentrant=False).sum()


def sequence_of_checkpoints(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return checkpoint_sequential([lin, lin, lin], 2, x, use_reentrant=False).sum()


def selective_checkpoint(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    def policy(_ctx: Any, operation: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
        kept = operation is torch.ops.aten.addmm.default
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    return checkpoint(
        lambda y: lin(y).exp().sin(), x, use_reentrant=False, context_fn=contexts
    ).sum()


def saved_on_cpu(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.autograd.graph.save_on_cpu():
        return (lin(x).tanh() * lin(x)).sum()


def saved_at_half_precision(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
        return lin(x).exp().sum()


def hooks_inside(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    y.retain_grad()
    z = y * 2
    y.register_hook(lambda gradient: gradient * 5).remove()
    torch.autograd.graph.register_multi_grad_hook((y, z), lambda gradients: None)
    z.grad_fn.metadata["the user's"] = 1
    z.grad_fn.register_hook(lambda sent, received: None)
    return z.sum()


def forward_mode(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Forward-mode gradients inside; torch makes meta tensors on the way."""
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        primal, tangent = torch.autograd.forward_ad.unpack_dual(lin(dual).tanh())
        return primal.sum() + tangent.sum()


def jacobian(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return torch.func.jacrev(lambda row: lin(row).tanh())(x[0]).sum()


def mapped_gradient(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    slopes = torch.func.vmap(torch.func.grad(lambda row: lin(row).sum()))(x)
    return slopes.sum() * lin(x).sum()


CUSTOM: dict[str, Callable[[nn.Module, torch.Tensor], Any]] = {
    "Functions one in another": functions,
    "Function that changes its input": dirty,
    "Function differentiated twice": twice_differentiated,
    "registered operation": registered_operation,
    "second derivative": hessian,
    "backward inside the forward": backward_inside,
    "checkpoint in a checkpoint": nested_checkpoint,
    "sequence of checkpoints": sequence_of_checkpoints,
    "selective checkpoint": selective_checkpoint,
    "saved on the CPU": saved_on_cpu,
    "saved at half precision": saved_at_half_precision,
    "hooks in the forward": hooks_inside,
    "forward mode": forward_mode,
    "jacrev": jacobian,
    "vmap of grad": mapped_gradient,
}
