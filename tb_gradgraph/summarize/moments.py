"""Moments of one large tensor, or of many small ones laid end to end."""

from __future__ import annotations

import torch

from tb_gradgraph.statistics import HISTOGRAM_BINS, HISTOGRAM_LOW, HISTOGRAM_WIDTH

#: Columns of a moments row, all float64. Sums are of finite elements divided by ``abs_max``,
#: so that neither 1e200 nor 1e-200 overflows or vanishes when squared.
COLUMNS = ("finite", "nan", "posinf", "neginf", "zero", "mean", "spread", "square", "min", "max")
# mean: of finite elements. spread: sum of squared distances from it, square: sum of squares; both
# over abs_max squared. min, max: +inf, -inf where nothing is finite.

_INF = float("inf")


def large_moments(values: torch.Tensor) -> torch.Tensor:
    """Reduce one real tensor of any shape to a row of ``COLUMNS`` on its device.

    On the CPU the all-finite case takes the few kernels it needs; elsewhere
    nothing is read back, so that the caller never waits for the device.
    """
    if values.device.type == "cpu":
        low, high = torch.aminmax(values)
        if bool(torch.isfinite(low) & torch.isfinite(high)):
            return _finite_moments(values, low, high)
    return segment_moments(
        values.reshape(-1).to(wide_dtype(values.device)),
        torch.zeros(1, dtype=torch.int64, device=values.device).expand(values.numel()),
        1,
    )[0]


def _finite_moments(values: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Reduce a tensor known to be finite without making a wider copy of it."""
    count = values.numel()
    scale = max(abs(float(low)), abs(float(high)))
    mean = float(values.sum(dtype=torch.float64)) / count if scale < 1e290 else _INF
    norm = float(torch.linalg.vector_norm(values, dtype=torch.float64)) if scale else 0.0
    square = (norm / scale) ** 2 if scale else 0.0
    spread = square - count * (mean / scale) ** 2 if scale else 0.0
    doubtful = not 1e-140 < scale < 1e140 or spread < 1e-6 * square
    if scale and doubtful:  # cancellation, or squares out of range: two passes in float64
        scaled = values.to(torch.float64) / scale
        mean_scaled = float(scaled.mean())
        mean, square = mean_scaled * scale, float(scaled.square().sum())
        spread = float((scaled - mean_scaled).square().sum())
    zeros = count - int(torch.count_nonzero(values))
    row = [count, 0, 0, 0, zeros, mean, max(spread, 0.0), square, float(low), float(high)]
    return torch.tensor(row, dtype=torch.float64)


def segment_moments(values: torch.Tensor, segment: torch.Tensor, count: int) -> torch.Tensor:
    """Reduce a flat float64 tensor by ``segment`` to ``[count, len(COLUMNS)]``.

    Args:
        values: Flat, float64 (float32 where the device has nothing wider).
        segment: For each element the row it belongs to, int64.
        count: Number of rows.
    """

    def total(terms: torch.Tensor) -> torch.Tensor:
        zeros = torch.zeros(count, dtype=values.dtype, device=values.device)
        return zeros.index_add_(0, segment, terms.to(values.dtype))

    def extreme(terms: torch.Tensor, start: float, reduce: str) -> torch.Tensor:
        starts = torch.full((count,), start, dtype=values.dtype, device=values.device)
        return starts.scatter_reduce_(0, segment, terms, reduce)

    is_finite = torch.isfinite(values)
    finite = total(is_finite)
    low = extreme(torch.where(is_finite, values, _INF), _INF, "amin")
    high = extreme(torch.where(is_finite, values, -_INF), -_INF, "amax")
    scale = torch.maximum(low.abs(), high.abs())
    scale = torch.where((scale > 0) & torch.isfinite(scale), scale, 1.0)
    scaled = torch.where(is_finite, values / scale[segment], 0.0)
    mean = total(scaled) / finite.clamp(min=1)
    away = torch.where(is_finite, scaled - mean[segment], 0.0)
    columns = (
        finite,
        total(torch.isnan(values)),
        total(values == _INF),
        total(values == -_INF),
        total(values == 0),
        mean * scale,
        total(away.square()),
        total(scaled.square()),
        low,
        high,
    )
    return torch.stack(columns, 1)


def histogram_of(values: torch.Tensor, segment: torch.Tensor, count: int) -> torch.Tensor:
    """Count the finite nonzero elements of each segment by log2 of their magnitude.

    Returns:
        int64 of shape ``[count, HISTOGRAM_BINS]`` on the device of ``values``.
    """
    exponent = torch.frexp(values).exponent - 1  # floor of log2|g|
    bins = (exponent - HISTOGRAM_LOW).div_(HISTOGRAM_WIDTH, rounding_mode="floor")
    counted = torch.isfinite(values) & (values != 0)
    places = segment * HISTOGRAM_BINS + bins.clamp_(0, HISTOGRAM_BINS - 1)
    counts = torch.bincount(places[counted], minlength=count * HISTOGRAM_BINS)
    return counts.reshape(count, HISTOGRAM_BINS)


def wide_dtype(device: torch.device) -> torch.dtype:
    """Give the widest float that ``device`` computes in."""
    return torch.float32 if device.type == "mps" else torch.float64
