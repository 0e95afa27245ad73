"""The gradient noise scale, estimated from the micro-batches of a step.

McCandlish, Kaplan, Amodei and the OpenAI Dota Team, "An Empirical Model of Large-Batch Training" (2018),
appendix A.1. A gradient of a batch of ``b`` samples has the expected squared norm ``|G|^2 + tr(S) / b``,
where ``G`` is the true gradient and ``S`` the covariance of one sample's gradient. Its squared norms
at two batch sizes therefore give unbiased estimates of ``|G|^2`` and ``tr(S)``. Here the small batch is
a micro-batch and the large one is the step of ``k`` of them. With the micro-batch as the unit of batch
size, and ``s`` the mean squared norm of one micro-batch's gradient and ``m`` the squared norm of their
mean:

    |G|^2 = (k * m - s) / (k - 1)        tr(S) = k * (s - m) / (k - 1)

The noise scale is ``tr(S) / |G|^2``, in micro-batches. A factor on all gradients, such as a loss
divided by ``k``, cancels out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from tb_gradgraph.quantities import NOISE_SCALE
from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

_NORM = STATISTICS.index("l2_norm")

NOT_FINITE = "Some gradients of the step are not finite."
DIFFERENT = (
    "The backward passes of the step differ in their graph, their loss or the parameters that they "
    "reach, so they are no micro-batches of one loss."
)
NOT_CLEARED = "Gradients of an earlier step were in .grad, so the sum is not that of the passes."
DISTRIBUTED = "The sum of the gradients is an average over processes, and each pass has its own."
TOO_NOISY = (
    "The estimate of the true gradient's squared norm is not positive: there is too much noise for so "
    "few micro-batches."
)


@dataclasses.dataclass(frozen=True, slots=True)
class MicroBatch:
    """One backward pass of a step.

    Attributes:
        gradients: Its own gradients.
        accumulated: ``.grad`` after it; None if it did not change ``.grad``.
        of: What was differentiated, over which graph.
    """

    gradients: StatisticsTable
    accumulated: StatisticsTable | None
    of: tuple[str, str]


def noise_scale(
    passes: Sequence[MicroBatch], total: StatisticsTable, count: int, rows: Sequence[int]
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the noise scale by its name; else by its name the reason why there is none.

    Args:
        passes: All passes of a step, or the first of them; each has the same weight in the step.
        total: ``.grad`` after the last one.
        count: How many passes there were, at least 2.
        rows: The parameters.
    """
    why = _why_not(passes, total, rows)
    if why:
        return {}, {NOISE_SCALE: why}
    parts = [_norms(one.gradients, rows) for one in passes]
    unit = max(float(part.max(initial=0.0)) for part in parts) or 1.0
    small = float(np.mean([np.square(part / unit).sum() for part in parts]))
    large = float(np.square(_norms(total, rows) / unit).sum()) / count**2
    signal = (count * large - small) / (count - 1)
    noise = count * (small - large) / (count - 1)
    if signal <= 0:
        return {}, {NOISE_SCALE: TOO_NOISY}
    return {NOISE_SCALE: noise / signal}, {}


def _why_not(passes: Sequence[MicroBatch], total: StatisticsTable, rows: Sequence[int]) -> str:
    """Return why a step has no noise scale; "" if it may have one."""
    first = passes[0]
    tables = [*(one.gradients for one in passes), total]
    present = [table.present[list(rows)] for table in tables]
    is_alike = all(one.of == first.of and one.accumulated is not None for one in passes)
    if not is_alike or any((one != present[0]).any() for one in present) or not present[0].any():
        return DIFFERENT
    if any((table.values[list(rows)][:, NONFINITE_COLUMNS] > 0).any() for table in tables):
        return NOT_FINITE
    if is_distributed_training():
        return DISTRIBUTED
    own = _norms(first.gradients, rows)
    left = own if first.accumulated is None else _norms(first.accumulated, rows)
    return "" if np.allclose(own, left, rtol=1e-4, atol=0) else NOT_CLEARED


def _norms(table: StatisticsTable, rows: Sequence[int]) -> np.ndarray:
    return np.nan_to_num(table.values[list(rows), _NORM])


def is_distributed_training() -> bool:
    """Return whether gradients may be those of several processes."""
    distributed = torch.distributed
    is_begun = distributed.is_available() and distributed.is_initialized()
    return is_begun and distributed.get_world_size() > 1
