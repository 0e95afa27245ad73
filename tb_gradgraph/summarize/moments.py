"""Moments of one large tensor, or of many small ones laid end to end."""

from __future__ import annotations

import math

import torch

from tb_gradgraph.statistics import HISTOGRAM_BINS, HISTOGRAM_LOW, HISTOGRAM_WIDTH

#: Columns of a moments row, all float64. Sums are of finite elements divided by ``abs_max``,
#: so that neither 1e200 nor 1e-200 overflows or vanishes when squared.
COLUMNS = ("finite", "nan", "posinf", "neginf", "zero", "mean", "spread", "square", "min", "max")
# mean: of finite elements. spread: sum of squared distances from it, square: sum of squares; both
# over abs_max squared. min, max: +inf, -inf where nothing is finite.

#: Columns that count or sum over elements: they grow with an element that is repeated.
_EXTENSIVE = ("finite", "nan", "posinf", "neginf", "zero", "spread", "square")

_INF = float("inf")
_ROW = 512  # elements summed in float32 at a time
_MANY = 65_536  # of fewer elements float64 sums cost less than the further kernels
_LEAST, _GREATEST = 1e-15, 1e17  # magnitudes whose squares float32 holds with room to spare
_CANCELLED = 0.1  # less of the sum of squares than this left as spread: float32 was too coarse


def large_moments(values: torch.Tensor) -> torch.Tensor:
    """Reduce one real tensor of any shape to a row of ``COLUMNS`` on its device.

    On the CPU the all-finite case takes the few kernels it needs; elsewhere
    nothing is read back, so that the caller never waits for the device.
    """
    distinct = without_repeats(values)
    repeats = values.numel() // distinct.numel()
    flat = in_memory_order(distinct)
    row = None
    if flat.device.type == "cpu":
        row = _finite_moments(flat)
    if row is None:
        segment = torch.zeros(1, dtype=torch.int64, device=flat.device).expand(flat.numel())
        row = segment_moments(flat.to(wide_dtype(flat.device)), segment, 1)[0]
    if repeats > 1:
        row[[COLUMNS.index(name) for name in _EXTENSIVE]] *= repeats
    return row


def without_repeats(values: torch.Tensor) -> torch.Tensor:
    """Give the elements that an expanded tensor repeats once (``sum`` sends back such ones)."""
    for dim, stride in enumerate(values.stride()):
        if stride == 0 and values.shape[dim] > 1:
            values = values.narrow(dim, 0, 1)
    return values


def in_memory_order(values: torch.Tensor) -> torch.Tensor:
    """Give all elements as a flat tensor; a view wherever they lie together in memory."""
    strides = values.stride()
    by_stride = sorted(range(values.dim()), key=lambda dim: -strides[dim])
    return values.permute(by_stride).reshape(-1)


def _finite_moments(flat: torch.Tensor) -> torch.Tensor | None:
    """Reduce a flat tensor in passes of the least cost; ``None`` if it is not all finite.

    Rows of ``_ROW`` elements are summed in float32 and the rows in float64,
    which is as fast as float32 and errs by 1e-7 of the sum of magnitudes. Where
    that could show (cancellation, squares out of float32's range) two passes in
    float64 follow.
    """
    low, high = float(flat.amin()), float(flat.amax())
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    count, scale = flat.numel(), max(abs(low), abs(high))
    mean, square, spread = 0.0, 0.0, 0.0
    if scale:
        in_range = flat.dtype != torch.float64 and _LEAST < scale < _GREATEST
        if in_range:
            mean = _sum_of_rows(flat) / count
            square = _square_of_rows(flat) / scale**2
            spread = square - count * (mean / scale) ** 2
        if not in_range or spread < _CANCELLED * square:
            scaled = flat.to(torch.float64) / scale
            mean_scaled = float(scaled.mean())
            mean, square = mean_scaled * scale, float(torch.dot(scaled, scaled))
            spread = float((scaled - mean_scaled).square_().sum())
    zeros = count - int(torch.count_nonzero(flat))
    row = [count, 0, 0, 0, zeros, mean, spread, square, low, high]
    return torch.tensor(row, dtype=torch.float64, device=flat.device)


def _sum_of_rows(flat: torch.Tensor) -> float:
    if flat.numel() < _MANY:
        return float(flat.sum(dtype=torch.float64))
    rows, rest = _rows(flat)
    sums = rows.sum(1, dtype=torch.float32).sum(dtype=torch.float64)
    return float(sums + rest.sum(dtype=torch.float64))


def _square_of_rows(flat: torch.Tensor) -> float:
    if flat.numel() < _MANY:
        return float(torch.linalg.vector_norm(flat, dtype=torch.float64)) ** 2
    rows, rest = _rows(flat)
    norms = torch.linalg.vector_norm(rows, dim=1, dtype=torch.float32).to(torch.float64)
    return float(torch.dot(norms, norms) + rest.to(torch.float64).square().sum())


def _rows(flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    end = flat.numel() // _ROW * _ROW
    return flat[:end].view(-1, _ROW), flat[end:]


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
