"""Case 44: gradients of complex32 and float8, in which torch does not compute, are recorded as all others."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch

from tests.summarize.tensors import half_complex
from tests.training.loops import Bare, run_both

TYPES = (torch.complex32, torch.float8_e4m3fn, torch.float8_e5m2)


class Boolean(torch.autograd.Function):
    """Gives a gradient of a type that is none."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient > 0


def _made(numbers: torch.Tensor, dtype: torch.dtype) -> torch.nn.Parameter:
    complex_numbers = torch.complex(numbers, 1 - numbers)
    is_complex = dtype.is_complex
    return torch.nn.Parameter(half_complex(complex_numbers) if is_complex else numbers.to(dtype))


class Odd(torch.nn.Module):
    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.small = _made(torch.linspace(0, 1, 3), dtype)
        self.large = _made(torch.linspace(0, 2, 5000), dtype)
        self.plain = torch.nn.Parameter(torch.ones(3))
        self.used = torch.nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = torch.complex64 if self.small.is_complex() else torch.float32
        small, large = (odd.to(wide).abs() for odd in (self.small, self.large))
        return (small * self.plain * Boolean.apply(self.used) * x).sum() + (large**2).sum()


@pytest.mark.parametrize("level", ["param", "op"])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_step_and_row_is_recorded(
    dtype: torch.dtype, level: str, tmp_path: pathlib.Path
) -> None:
    def loop(run: Bare) -> Any:
        net = Odd(dtype)
        optimizer = torch.optim.SGD([net.plain, net.used], 0.1)
        run.watch(net, optimizer=optimizer, level=level)
        for step in range(3):
            net.zero_grad()
            net(torch.rand(3)).backward()
            run.note(step, "backward", net)
            optimizer.step()
        return net.plain

    log = run_both(loop, tmp_path)
    assert [place[:2] for place in log.places] == [
        (step, stage) for step in range(3) for stage in ("backward", "applied")
    ]
    kept = log.tensor(0, "backward", "small")
    assert kept.gradient is not None
