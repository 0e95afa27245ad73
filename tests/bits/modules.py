"""Samples of torch's own list of modules in all modes, and of attention with padding masks."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin

from tests.bits.outcome import seed_all
from tests.bits.samples import Source
from tests.bits.shell import Inputs, Way

Make = Callable[[], nn.Module]


def modules(dtypes: list[str]) -> Iterator[Source]:
    """Yield every module of torch's list in each of the types that it takes."""
    from torch.testing._internal.common_modules import module_db

    for name in dtypes:
        dtype = getattr(torch, name)
        for listed in module_db:
            if dtype in listed.supported_dtypes("cpu"):
                yield Source(f"module {listed.name}", name, functools.partial(_draw, listed, dtype))


def _draw(listed: Any, dtype: torch.dtype) -> Iterator[list[Way]]:
    """Yield training and evaluation by turns, for their samples may be others."""
    for training in (True, False):
        given = listed.module_inputs_func(
            listed, device="cpu", dtype=dtype, requires_grad=True, training=training
        )
        for sample in given:
            made, called = sample.constructor_input, sample.forward_input
            make = functools.partial(listed.module_cls, *made.args, **made.kwargs)
            inputs = Inputs(called.args, called.kwargs)
            yield list(ways_of(make, inputs, dtype, training))


def padded(dtypes: list[str]) -> Iterator[Source]:
    """Yield attention with padding masks, of which torch has a fast path without gradient."""
    for name in dtypes:
        dtype = getattr(torch, name)
        if dtype.is_floating_point:
            yield Source("module with padding", name, functools.partial(_draw_padded, dtype), True)


def _draw_padded(dtype: torch.dtype) -> Iterator[list[Way]]:
    x = torch.randn(3, 5, 8, dtype=dtype, requires_grad=True)
    padding = torch.arange(5) >= torch.tensor([5, 3, 2])[:, None]
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    for make, args, kwargs in _attention(x, padding, causal):
        for training in (True, False):
            yield list(ways_of(make, Inputs(args, kwargs), dtype, training))


def _attention(
    x: torch.Tensor, padding: torch.Tensor, causal: torch.Tensor
) -> Iterator[tuple[Make, tuple[torch.Tensor, ...], dict[str, Any]]]:
    for mask in (None, causal):
        for options in ({}, {"norm_first": True}, {"activation": "gelu", "bias": False}):
            layer = functools.partial(
                nn.TransformerEncoderLayer, 8, 2, 16, batch_first=True, **options
            )
            yield layer, (x,), {"src_mask": mask, "src_key_padding_mask": padding}
            if not options.get("norm_first"):
                encoder = functools.partial(_encoder, layer)
                yield encoder, (x,), {"mask": mask, "src_key_padding_mask": padding}
        for weights in (True, False):
            attention = functools.partial(nn.MultiheadAttention, 8, 2, batch_first=True)
            named = {"attn_mask": mask, "key_padding_mask": padding, "need_weights": weights}
            yield attention, (x, x, x), named
        decoder = functools.partial(nn.TransformerDecoderLayer, 8, 2, 16, batch_first=True)
        yield decoder, (x, x), {"tgt_mask": mask, "memory_key_padding_mask": padding}


def _encoder(make_layer: Make) -> nn.Module:
    return nn.TransformerEncoder(make_layer(), 2)


def ways_of(make: Make, inputs: Inputs, dtype: torch.dtype, training: bool) -> Iterator[Way]:
    """Yield the modes that a module can be in."""
    new = functools.partial(_new, make, dtype, training)
    mode = "train" if training else "eval"
    yield _way(mode, new, inputs, inputs.need_gradient)
    yield _way(f"{mode}, inputs without gradient", new, inputs, [])
    yield _way(f"{mode}, no_grad", new, inputs, [], torch.no_grad)
    casts = {}
    if dtype == torch.float32:
        casts = {", autocast": functools.partial(torch.autocast, "cpu", torch.bfloat16)}
    for name, cast in casts.items():
        yield _way(f"{mode}{name}", new, inputs, inputs.need_gradient, cast)
    if isinstance(new(), LazyModuleMixin):
        return  # what is not made yet cannot be frozen
    frozen = functools.partial(_new, make, dtype, training, frozen=True)
    for name, cast in {"": contextlib.nullcontext, **casts}.items():
        yield _way(f"{mode}, frozen{name}", frozen, inputs, [], cast)


def _way(name: str, new: Make, inputs: Inputs, need: list[int], *context: Any) -> Way:
    return Way(name, new, inputs, need, _whole, *context)


def _new(make: Make, dtype: torch.dtype, training: bool, frozen: bool = False) -> nn.Module:
    seed_all(0)
    module = make().to(dtype).train(training)
    return module.requires_grad_(False) if frozen else module


def _whole(output: Any) -> Any:
    return output
