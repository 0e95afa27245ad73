"""Where numbers lie, against sorting them."""

from __future__ import annotations

import json
import math
import pathlib
import struct
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.record.read.event_file_provider import EventFiles
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.routes.series_route import answer_series
from tb_gradgraph.serve.runs.magnitudes import domain_of, fences_of, magnitudes_of
from tb_gradgraph.serve.runs.reader import Reader

NORMAL = 2.0 ** np.random.default_rng(0).normal(0, 3, 1000)


def _fences(*parts: np.ndarray) -> tuple[float, float] | None:
    found = [magnitudes_of(part) for part in parts]
    return fences_of([part for part in found if part is not None])


def _expected(numbers: np.ndarray) -> tuple[float, float]:
    """Return the 2nd and 98th percentile in octaves, moved apart by half of what is between."""
    logs = np.sort(np.log2(np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])))
    left = 0 if len(logs) < 10 else math.ceil(0.02 * len(logs))
    low, high = logs[left], logs[-1 - left]
    return low - (high - low) / 2, high + (high - low) / 2


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    "numbers",
    [
        NORMAL,
        np.concatenate([NORMAL, [0, np.nan, -np.inf], -NORMAL]),
        np.concatenate([NORMAL, [1e30] * 5, [1e-30] * 5]),
        np.array([3.0]),
        np.array([1e-40, 1.0]),
        np.arange(1.0, 11.0),
    ],
    ids=["normal", "signs and others", "outliers", "one", "subnormal", "ten"],
)
def test_fences(numbers: np.ndarray, kind: type) -> None:
    numbers = numbers.astype(kind)
    found = _fences(numbers)
    assert found is not None
    np.testing.assert_allclose(
        np.log2(found), _expected(numbers), atol=2.01 / 8
    )  # bins of an eighth


def test_parts_are_as_one() -> None:
    parts = np.array_split(np.concatenate([NORMAL, [1e20]]), 7)
    assert _fences(*parts) == _fences(np.concatenate(parts))
    found = [part for part in map(magnitudes_of, parts) if part is not None]
    assert domain_of(found) == (NORMAL.min(), 1e20)


def test_what_is_far_outside_is_beyond_them() -> None:
    low, high = _fences(np.concatenate([NORMAL, [1e25, 1e-25]])) or (math.nan, math.nan)
    assert 1e-25 < low < NORMAL.min() and NORMAL.max() < high < 1e25


def test_ends_of_what_a_float_can_be() -> None:
    found = _fences(np.array([5e-324, 1.7e308]))
    assert found is not None and 0 < found[0] < 1e-300 and 1e300 < found[1] < math.inf


@pytest.mark.parametrize("numbers", [[], [0.0, math.nan, math.inf]])
def test_nothing(numbers: list[float]) -> None:
    assert magnitudes_of(np.array(numbers, np.float32)) is None
    assert domain_of([]) is fences_of([]) is None


def test_rows_that_are_put_aside_do_not_count_to_where_most_lie() -> None:
    numbers = np.stack([NORMAL[:100], 1e-12 * NORMAL[:100]], axis=1)  # records, rows
    aside = magnitudes_of(numbers, np.arange(numbers.shape[1]) == 1)
    assert aside is not None
    assert fences_of([aside]) == _fences(NORMAL[:100])
    assert domain_of([aside]) == (numbers.min(), numbers.max())
    alone = magnitudes_of(numbers[:, 1:], np.arange(numbers.shape[1] - 1) == 0)
    assert alone is not None and fences_of([alone]) == _fences(numbers[:, 1:])


def test_a_bias_before_a_norm_is_no_measure_for_the_others(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 1))
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, every_n_steps=1, level="param", tag="net")
        for _ in range(4):
            net.zero_grad()
            net(torch.randn(8, 1, 4, 4)).square().mean().backward()
    assert watch.closed
    norms = {name: float(p.grad.norm()) for name, p in net.named_parameters()}
    bias = norms.pop("0.bias")
    header = _header(tmp_path, "backward")
    assert header["domain"][0] < 1e-5 * header["fences"][0]
    assert bias < header["fences"][0] < min(norms.values())


def test_tokens_are_no_measure_for_activations(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(90_000, 8), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, values=True, tag="net")
        for _ in range(4):
            net.zero_grad()
            net(tokens := torch.randint(80_000, 90_000, (4, 500))).square().mean().backward()
    header = _header(tmp_path, "forward")
    last = float(tokens.double().norm())
    assert header["domain"][1] >= last > 1e6 > header["fences"][1] > net[0].weight.detach().norm()


def _header(logdir: pathlib.Path, stage: str) -> dict[str, Any]:
    reader = Reader(EventFiles(logdir))
    (run,) = reader.runs().values()
    (entry, *_) = run.records["net"]
    query = {"run": run.name, "tag": "net", "hash": entry.graph_hash, "statistic": "l2_norm"}
    content = answer_series(reader, Parameters(query | {"stage": stage})).content
    assert isinstance(content, bytes)
    (length,) = struct.unpack_from("<I", content)
    return json.loads(content[4 : 4 + length])
