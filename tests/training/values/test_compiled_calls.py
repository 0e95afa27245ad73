"""Calls that compiled code looks at give the values that Python finds, and every view its own."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import gelu

import tb_gradgraph
from tb_gradgraph.autograd.values.call_results import CallResults
from tests.compiled import require_compiled_code, without_compiled_code
from tests.logged import read_one_run


class Third(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x / 3

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient / 3


class Views(nn.Module):
    """Views of all elements, of parts, of parts of parts, expanded, written to, and of inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.view(4, 16, 2, 16).transpose(1, 2) for part in self.qkv(x).split(32, 2))
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        mixed = (weights @ v).transpose(1, 2).reshape(4, 16, 32)
        again = Third.apply(mixed).clone()
        again[:, 0] *= 2  # a view that is written to
        half = again[..., :16].as_strided((4, 16, 8), (512, 32, 2), 8)
        wide = again[:, :1].expand(4, 16, 32)
        top, places = self.out(again).topk(8, dim=2)
        return gelu(wide).sum() + half.square().sum() + (top * places).sum()


def _recorded(logdir: pathlib.Path, steps: int = 3) -> list[Any]:
    torch.manual_seed(0)
    net, x = Views(), torch.randn(4, 16, 32)
    with tb_gradgraph.SummaryWriter(str(logdir)) as writer:
        writer.watch(net, every_n_steps=1, level="op", values=True, strict=True)
        for _ in range(steps):
            net(x).backward()
            net.zero_grad()
    return read_one_run(logdir).forwards


def test_both_give_the_same(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_compiled_code()
    noted: list[str] = []
    note = CallResults._note

    def counted(self: Any, func: Any, *rest: Any) -> None:
        noted.append(getattr(func, "__name__", ""))
        note(self, func, *rest)

    monkeypatch.setattr(CallResults, "_note", counted)
    compiled = _recorded(tmp_path / "compiled")
    by_compiled = len(noted)
    noted.clear()
    without_compiled_code(monkeypatch)
    plain = _recorded(tmp_path / "plain")
    assert by_compiled < len(noted) / 2
    assert len(compiled) == len(plain) == 3
    for one, other in zip(compiled, plain):
        assert one.graph_hash == other.graph_hash
        assert one.table.present.tolist() == other.table.present.tolist()
        np.testing.assert_allclose(one.table.values, other.table.values, 2e-5, 1e-6)
        assert one.values.keys() == other.values.keys()
        for row, kept in one.values.items():
            np.testing.assert_allclose(kept, other.values[row], 1e-6)


def test_no_mode_is_held_by_itself() -> None:
    """Python's collector cannot see into compiled code."""
    require_compiled_code()
    seen = CallResults(_Made(), False)
    before = seen.is_handling, dict(vars(seen))
    seen.begin()
    assert vars(seen)["__torch_function__"].__self__ is seen
    seen.end()
    assert (seen.is_handling, dict(vars(seen))) == before


class _Made:
    """As much of ``MadeTensors`` as is needed to begin."""

    def __init__(self) -> None:
        from tb_gradgraph.summarize import KeyedBatch

        self.reader = KeyedBatch(16).reader(set(), torch._C.DisableTorchFunction)
