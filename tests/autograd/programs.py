"""Models whose forward is an unusual program: nested gradients, transforms, control flow, islands."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


class SplitOff(torch.autograd.Function):
    """Several outputs, one of them not differentiable, and a backward of first order only."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scale: torch.Tensor) -> tuple[torch.Tensor, ...]:
        largest = x.argmax(1)
        ctx.save_for_backward(scale)
        ctx.mark_non_differentiable(largest)
        return x * scale, largest, x.sum(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, a: torch.Tensor, _b: torch.Tensor, c: torch.Tensor) -> Any:
        (scale,) = ctx.saved_tensors
        return a * scale + c[:, None], None


class Halved(torch.autograd.Function):
    """The newer form, with setup_context."""

    @staticmethod
    def forward(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        return x / by

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient / ctx.saved_tensors[0], None


class ForwardOf(nn.Module):
    """A linear layer, and a function of it and the input as the forward."""

    def __init__(self, function: Callable[[nn.Module, torch.Tensor], Any], width: int = 3) -> None:
        super().__init__()
        self.lin = nn.Linear(3, width)
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self.lin, x)


def model_of(function: Callable[[nn.Module, torch.Tensor], Any]) -> Callable[[], nn.Module]:
    return functools.partial(ForwardOf, function)


def split_off(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    scaled, largest, total = SplitOff.apply(lin(x), torch.tensor([1.0, 2.0, 3.0]))
    picked = scaled.gather(1, largest[:, None])
    return (picked * Halved.apply(total, torch.tensor(2.0))).sum()


def gradient_penalty(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    given = x.detach().requires_grad_()
    score = lin(given).tanh().sum()
    (slope,) = torch.autograd.grad(score, given, create_graph=True)
    return score + (slope.norm(dim=1) - 1).square().mean()


def inner_step(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Train on a support set, and differentiate through the update (MAML)."""
    weights = dict(lin.named_parameters())
    loss = torch.func.functional_call(lin, weights, (x,)).square().mean()
    gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
    moved = {name: w - 0.1 * g for (name, w), g in zip(weights.items(), gradients)}
    return torch.func.functional_call(lin, moved, (x,)).square().mean()


def plain_inner_gradient(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    (slope,) = torch.autograd.grad(y.sum(), y, retain_graph=True)
    return (y * slope).sum()


def mapped(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return torch.func.vmap(lambda row: lin(row).sin())(x).sum()


def functional_gradient(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    slope = torch.func.grad(lambda given: lin(given).square().sum())(x)
    return (slope * x).sum()


def not_reentrant(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return lin(checkpoint(lin, x, use_reentrant=False)).sum()


def reentrant(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return lin(checkpoint(lin, lin(x), use_reentrant=True)).square().sum()


def reentrant_dropout(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    def part(given: torch.Tensor) -> torch.Tensor:
        return functional.dropout(torch.relu(lin(given)), 0.5)

    return checkpoint(part, lin(x), use_reentrant=True).sum()


def islands(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        scale = lin(x).abs() + 1
    with torch.inference_mode():
        lin(x).sum()
    return (lin(x) / scale).sum()


def halved_precision(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return lin(lin(x).relu()).float().square().mean()


def other_thread(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    found: list[torch.Tensor] = []
    thread = threading.Thread(target=lambda: found.append(x.cos() * 2))
    thread.start()
    thread.join()
    return (lin(x) * found[0]).sum()


def generated(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    def parts() -> Iterator[torch.Tensor]:
        for row in x:
            y = lin(row)
            yield y.sin()

    first = next(parts())
    return first.sum() + sum(part.sum() for part in parts())


def early_exit(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    for step in range(10):
        y = lin(x).square().mean()
        if step == 2:
            return y
        x = x + y
    raise AssertionError("unreachable")


def caught(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    try:
        lin(x[:, :2])
    except RuntimeError:
        y = lin(x)
    return y.sum()


def by_forward(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return lin.forward(x).sum()


def no_dispatch_between(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    y.mul_(2).add_(1)
    y.T[0].zero_()
    rest = y.view(-1)[2:]
    rest.exp_()
    return y.sum() + rest.prod()


def without_gradient(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    cut = y.detach()
    data = y.data
    mask = torch.rand(2, 3) > 0.5
    y = torch.where(mask, y, cut * data).masked_fill(~mask, 0.5)
    index = torch.tensor([[0, 2], [1, 0]])
    y = y.scatter(1, index, torch.ones(2, 2)).index_put((torch.tensor([0]),), torch.zeros(3))
    return functional.cross_entropy(y, torch.tensor([2, 0]), torch.tensor([1.0, 2.0, 3.0]))


def resized(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = functional.interpolate(lin(x)[None], scale_factor=2.0, mode="linear")
    return functional.conv1d(y, torch.ones(1, 2, 3)).sum()


def unused(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    lin(x).exp()
    low, _high = torch.var_mean(lin(x), dim=1)
    return low.sum()


@dataclasses.dataclass
class Output:
    """What a model of a library returns."""

    loss: torch.Tensor
    logits: torch.Tensor


def with_loss(lin: nn.Module, x: torch.Tensor) -> Output:
    y = lin(x)
    return Output(y.square().mean(), y)


def several_dtypes(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = lin(x)
    parts = (y.double(), y.half(), y.bfloat16(), y.to(torch.complex64))
    return sum(part.abs().sum().float() for part in parts)


def listed(lin: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = torch._foreach_mul([lin(x), lin(x + 1)], 2.0)
    return torch.cat(y).logsumexp(0).sum() + torch.einsum("ij,kj->ik", *y).diagonal().prod()


PROGRAMS: dict[str, Callable[[nn.Module, torch.Tensor], Any]] = {
    "Function with outputs of three kinds": split_off,
    "gradient penalty": gradient_penalty,
    "update differentiated through": inner_step,
    "gradient inside the forward": plain_inner_gradient,
    "vmap": mapped,
    "torch.func.grad": functional_gradient,
    "checkpoint": not_reentrant,
    "reentrant checkpoint": reentrant,
    "reentrant checkpoint with dropout": reentrant_dropout,
    "no_grad and inference_mode": islands,
    "autocast": halved_precision,
    "another thread": other_thread,
    "generator": generated,
    "early exit": early_exit,
    "exception caught": caught,
    "called by forward": by_forward,
    "in place on views of views": no_dispatch_between,
    "inputs without gradient": without_gradient,
    "interpolate and frozen conv": resized,
    "unused outputs": unused,
    "dataclass with a loss": with_loss,
    "all float types": several_dtypes,
    "foreach and einsum": listed,
}
