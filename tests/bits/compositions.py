"""Samples of our own: what torch's list has not, and where a trace once changed a bit."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from tests.bits.samples import Source, needs_of
from tests.bits.shell import Inputs, Way

Call = Callable[..., Any]

#: What a linear map is divided by in a training, without a gradient of its own.
NORMS: dict[str, Call] = {
    "svdvals": torch.linalg.svdvals,
    "eigvalsh": lambda w: torch.linalg.eigvalsh(w @ w.mH),
    "spectral norm": lambda w: torch.linalg.matrix_norm(w, 2),
    "nuclear norm": lambda w: torch.linalg.matrix_norm(w, "nuc"),
    "nuclear norm, old": lambda w: torch.norm(w, "nuc"),
    "cond": torch.linalg.cond,
    "lstsq": lambda w: torch.linalg.lstsq(w, torch.ones_like(w)).solution,
    "pinv": torch.linalg.pinv,
    "matrix_rank": torch.linalg.matrix_rank,
    "svd": lambda w: torch.linalg.svd(w).S,
    "qr": lambda w: torch.linalg.qr(w).R,
    "matrix_exp": torch.linalg.matrix_exp,
}

#: Transforms, and autograd within a forward.
WITHIN: dict[str, Call] = {
    "vmap": lambda w, x: torch.vmap(lambda row: (w @ row).sin())(x),
    "func.grad": lambda w, x: torch.func.grad(lambda v: (v @ w).sin().sum())(x),
    "func.jvp": lambda w, x: torch.func.jvp(lambda v: (v @ w).tanh(), (x,), (x,)),
    "func.vjp": lambda w, x: torch.func.vjp(lambda v: (v @ w).tanh(), x)[1](x.abs()),
    "func.jacrev": lambda w, x: torch.func.jacrev(lambda v: (v @ w).exp().sum(0))(x[:2]),
    "func.hessian": lambda w, x: torch.func.hessian(lambda v: (v @ w).tanh().sum())(x[0]),
    "vmap of grad": lambda w, x: torch.vmap(torch.func.grad(lambda v: (w @ v).sin().sum()))(x),
    "autograd.grad": lambda w, x: _penalty(w, x),
    "checkpoint": lambda w, x: checkpoint(lambda v: (v @ w).tanh(), x, use_reentrant=False),
    "reentrant checkpoint": lambda w, x: checkpoint(
        lambda v: (v @ w).tanh(), x, use_reentrant=True
    ),
    "inference_mode": lambda w, x: x @ w.clone() + _inferred(w),
    "dropout": lambda w, x: torch.dropout(x @ w, 0.5, True),
    "foreach": lambda w, x: torch._foreach_mul([x @ w, w], 2.0),
    "einsum": lambda w, x: torch.einsum("bi,ij,bk->jk", x, w, x),
    "chain_matmul": lambda w, x: torch.linalg.multi_dot([x, w, w, x.mT]),
}


def compositions(dtypes: list[str]) -> Iterator[Source]:
    """Yield the sources; they are always run whole."""
    for name, kind in itertools.product(dtypes, ("matmul", "norm", "within")):
        dtype = getattr(torch, name)
        if kind == "matmul" or dtype != torch.bfloat16:
            draw = {"matmul": _matmuls, "norm": _norms, "within": _transforms}[kind]
            yield Source(f"composition {kind}", name, functools.partial(draw, dtype), True)


def _matmuls(dtype: torch.dtype) -> Iterator[list[Way]]:
    """A batch times one matrix for all of it, which torch folds where nothing forbids it."""
    sizes = [(1, 8, 16), (1, 13, 6), (1, 64, 33), (5, 13, 3), (20, 64, 32)]
    sizes += [*itertools.product((1, 2, 7, 20), (8, 13, 64), (3, 16, 33))]
    for rows, inner, columns in sizes:
        left = torch.randn(8, rows, inner, dtype=dtype, requires_grad=True)
        right = torch.randn(1, inner, columns, dtype=dtype, requires_grad=True)
        yield _ways(torch.matmul, left, right)


def _norms(dtype: torch.dtype) -> Iterator[list[Way]]:
    for norm in NORMS.values():
        w, x = (torch.randn(24, 24, dtype=dtype, requires_grad=True) for _ in range(2))
        yield _ways(functools.partial(_over_its_norm, norm), w, x) + _ways(
            lambda w, norm=norm: norm(w.detach()), w
        )


def _over_its_norm(norm: Call, w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return x @ (w / (norm(w.detach()) + 1))


def _transforms(dtype: torch.dtype) -> Iterator[list[Way]]:
    for call in WITHIN.values():
        w, x = (torch.randn(6, 6, dtype=dtype, requires_grad=True) for _ in range(2))
        yield _ways(call, w, x)


def _penalty(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    v = x.detach().requires_grad_()
    with torch.enable_grad():
        (slope,) = torch.autograd.grad((v @ w).tanh().abs().sum(), v, create_graph=True)
    return slope.square() + x


def _inferred(w: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        found = w @ w
    return found.clone()


def _ways(call: Call, *inputs: torch.Tensor) -> list[Way]:
    given = Inputs(inputs, {})
    needs = needs_of(given.need_gradient).items()
    return [Way(name, lambda: call, given, need, lambda output: output) for name, need in needs]
