"""Estimate the update of a weight that is too large to copy, and the error of the estimate."""

from __future__ import annotations

import math

import torch

from tb_gradgraph.summarize import computable, in_memory_order, is_computed, real_floats, wide_dtype

#: The minimum number of elements of a sample.
SAMPLE = 16_384

#: The maximum number of elements in rows that are copied whole: the rows with the greatest gradients.
IN_ROWS = 262_144


class EstimatedUpdate:
    """Rows of a large weight, and a sample of its other elements, from before a step.

    The rows with the greatest gradients are copied whole, so that the update of a row-sparse step
    is exact. A sample, spread over all rows and columns, represents the rest. Nothing waits for a
    device.
    """

    def __init__(self, weight: torch.Tensor, gradient: torch.Tensor | None) -> None:
        """Read the weight before the step."""
        self._flat_shape = weight.shape
        flat = in_memory_order(weight)
        self._step = _coprime(flat.numel() // SAMPLE, weight.shape[-1])
        self._rows = _greatest_rows(weight, gradient)
        self._columns = weight.numel() // max(weight.shape[0], 1)
        self._sample = computable(flat[:: self._step]).clone()
        self._in_rows = None if self._rows is None else _rows_of(weight, self._rows).clone()

    def finish(self, weight: torch.Tensor) -> torch.Tensor:
        """Read the weight after the step; return the norm of its update and the norm's standard error."""
        if weight.shape != self._flat_shape:
            return torch.full((2,), math.nan, dtype=wide_dtype(weight.device), device=weight.device)
        squares = _squares(computable(in_memory_order(weight)[:: self._step]), self._sample)
        known = torch.zeros((), dtype=squares.dtype, device=squares.device)
        rest = torch.ones_like(squares)
        if self._rows is not None and self._in_rows is not None:
            known = _squares(_rows_of(weight, self._rows), self._in_rows).sum()
            rest = self._not_in_rows(weight, squares, self._rows)
        return _estimate(squares, rest, known, self._left_out())

    def _left_out(self) -> int:
        """Count the elements outside the whole rows."""
        count = math.prod(self._flat_shape)
        return count if self._rows is None else count - self._rows.numel() * self._columns

    def _not_in_rows(
        self, weight: torch.Tensor, squares: torch.Tensor, rows: torch.Tensor
    ) -> torch.Tensor:
        taken = torch.zeros(weight.shape[0], dtype=squares.dtype, device=weight.device)
        taken.index_fill_(0, rows, 1)
        places = torch.arange(0, weight.numel(), self._step, device=weight.device)
        return 1 - taken[places // self._columns]


def _estimate(
    squares: torch.Tensor, rest: torch.Tensor, known: torch.Tensor, left_out: int
) -> torch.Tensor:
    """Return a norm and its standard error, which follows from the standard error of the mean square."""
    sampled = rest.sum().clamp_(min=1)
    mean = (squares * rest).sum() / sampled
    variance = ((squares - mean).square() * rest).sum() / (sampled - 1).clamp_(min=1)
    share_left = (1 - sampled / max(left_out, 1)).clamp_(min=0)
    error = left_out * (variance / sampled * share_left).sqrt()
    norm = (known + left_out * mean).sqrt()
    spread = torch.where(norm > 0, error / (2 * norm), error.sqrt())
    return torch.stack([norm, spread])


def _squares(after: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    wide = wide_dtype(after.device)
    if after.is_complex():
        return real_floats(after - before).to(wide).square().reshape(-1)
    return (after.to(wide) - before.to(wide)).square_().reshape(-1)


def _coprime(step: int, columns: int) -> int:
    """Return ``step``, or a smaller one if it would always hit the same columns."""
    step = max(step, 1)
    while math.gcd(step, columns) > 1:
        step -= 1
    return step


def _rows_of(weight: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    return weight.index_select(0, rows)


def _greatest_rows(weight: torch.Tensor, gradient: torch.Tensor | None) -> torch.Tensor | None:
    """Return the rows with the greatest gradients, which are read whole; None if there are none."""
    rows = weight.shape[0]
    most = min(IN_ROWS * rows // weight.numel(), rows // 2)
    if gradient is None or most < 1 or not weight.is_contiguous():
        return None
    if not (is_computed(weight.dtype) and is_computed(gradient.dtype)):
        return None  # some types cannot select rows
    sizes = _row_sizes(gradient, rows)
    return None if sizes is None else torch.topk(sizes, most, sorted=False).indices


def _row_sizes(gradient: torch.Tensor, rows: int) -> torch.Tensor | None:
    """Return the size of the gradient of each row; 0 for rows without one."""
    if gradient.layout == torch.strided and gradient.shape[:1] == (rows,):
        return torch.linalg.vector_norm(real_floats(gradient.detach()).reshape(rows, -1), dim=1)
    if gradient.layout != torch.sparse_coo or gradient.shape[:1] != (rows,):
        return None
    values = real_floats(gradient._values().detach())
    sizes = torch.linalg.vector_norm(values.reshape(values.shape[0], -1), dim=1)
    return torch.zeros(rows, dtype=sizes.dtype, device=sizes.device).index_add_(
        0, gradient._indices()[0], sizes
    )
