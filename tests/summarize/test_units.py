"""What only values have, against plain torch and plain Python."""

from __future__ import annotations

import math

import pytest
import torch

from tb_gradgraph.statistics import StatisticsTable, ValueMeaning
from tb_gradgraph.summarize import KeyedBatch


def _read(tensor: torch.Tensor, meaning: ValueMeaning) -> dict[str, float | None]:
    batch = KeyedBatch(100)
    with torch.no_grad():
        batch.add("key", tensor, meaning)
    table, unread = StatisticsTable.empty(1), dict[int, str]()
    batch.choose([("key", (0,))]).fill(table, {}, unread)
    assert unread == {}
    found = table.row(0)
    assert found is not None
    return {name: getattr(found, name) for name in ("zero_units", "saturated", "entropy")}


def _dead(shape: tuple[int, ...], dim: int, dead: int, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    values = torch.relu(torch.randn(shape, generator=generator)).to(dtype)
    index = [slice(None)] * len(shape)
    index[dim] = slice(0, 2 * dead, 2)
    values[tuple(index)] = -0.0
    return values


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(
    ("shape", "dim"), [((40, 10), 1), ((9, 7, 10), 2), ((5, 10, 6, 4), 1), ((50, 1), 1)]
)
def test_units_that_are_zero(shape: tuple[int, ...], dim: int, dtype: torch.dtype) -> None:
    dead = 3 if shape[dim] > 1 else 0
    values = _dead(shape, dim, dead, dtype)
    rows = values.movedim(dim, 0).reshape(shape[dim], -1)
    expected = sum(not row.any() for row in rows) / shape[dim]
    assert expected == dead / shape[dim]
    meaning = ValueMeaning(dim, None, False)
    for laid_out in (values, values.movedim(dim, 0).contiguous().movedim(0, dim)):
        assert _read(laid_out, meaning)["zero_units"] == pytest.approx(expected)
    assert _read(values[:1].expand(6, *shape[1:]), meaning)["zero_units"] == pytest.approx(
        sum(not row.any() for row in values[:1].movedim(dim, 0)) / shape[dim]
    )


def test_nan_and_infinity_are_not_zero() -> None:
    values = torch.tensor([[0.0, math.nan, math.inf, 0.0], [0.0, 0.0, 0.0, -math.inf]])
    assert _read(values, ValueMeaning(1, None, False))["zero_units"] == 0.25


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_elements_near_the_ends(dtype: torch.dtype) -> None:
    values = torch.tanh(torch.linspace(-6, 6, 999)).to(dtype)
    expected = sum(abs(x) >= 0.98 for x in values.double().tolist()) / 999
    found = _read(values, ValueMeaning(None, (-1.0, 1.0), False))
    assert found["saturated"] == pytest.approx(expected, abs=2 / 999)
    assert found["zero_units"] is found["entropy"] is None


def test_entropy_of_a_softmax() -> None:
    values = torch.softmax(3 * torch.randn(4, 5, 8, generator=torch.Generator().manual_seed(1)), -1)
    rows = values.reshape(-1, 8).double().tolist()
    entropies = [-sum(p * math.log(p) for p in row) / math.log(8) for row in rows]
    found = _read(values, ValueMeaning(None, None, True))["entropy"]
    assert found == pytest.approx(sum(entropies) / len(entropies), rel=1e-5)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([[1.0, 0.0]], 0.0), ([[0.5, 0.5]], 1.0), ([[math.nan, 0.5], [0.5, 0.5]], 1.0)],
)
def test_the_ends_of_entropy(rows: list[list[float]], expected: float) -> None:
    assert _read(torch.tensor(rows), ValueMeaning(None, None, True))["entropy"] == expected


def test_entropy_of_many_distributions_is_that_of_a_sample() -> None:
    values = torch.softmax(torch.randn(3, 2000, 6, generator=torch.Generator().manual_seed(1)), -1)
    sample = values.reshape(-1, 6)[::9]  # at most 4,096 elements
    assert sample.numel() <= 4096 < 6 * len(values.reshape(-1, 6)[::8])
    expected = -(sample * sample.log()).sum(-1).mean() / math.log(6)
    found = _read(values, ValueMeaning(None, None, True))["entropy"]
    assert found == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("values", [torch.zeros(0, 4), torch.zeros(3, 4, dtype=torch.complex64)])
def test_nothing_of_empty_and_complex(values: torch.Tensor) -> None:
    found = _read(values, ValueMeaning(1, (0.0, 1.0), True))
    assert set(found.values()) == {None}
