"""Statistics of a whole tensor from those of its parts, and the middle of those of several samples."""

from __future__ import annotations

import numpy as np

from tb_gradgraph.statistics import HISTOGRAM_BINS, MEASURES, STATISTICS

#: Norms: the square of that of the whole is the sum of the squares of its parts.
_NORMS = ("l2_norm", "weight_norm", "update_norm", "exp_avg_norm", "exp_avg_sq_norm")
_COUNTS = tuple(each.name for each in MEASURES if each.is_count)
#: The most that a bin can count.
_MOST_IN_BIN = 2**16 - 1

_AT = {name: at for at, name in enumerate(STATISTICS)}


def merge_parts(values: np.ndarray, takes: np.ndarray) -> np.ndarray:
    """Return the statistics of tensors of which each has some of the elements.

    Means and deviations are merged by Chan's formula, in float64 and scaled by the greatest magnitude,
    so that 1e200 and 1e-200 survive. What cannot be known from parts (the share of units that are
    zero, the mean entropy) is NaN where there are several.

    Args:
        values: float64 of shape ``[parts, rows, len(STATISTICS)]``; NaN: no such number.
        takes: bool of shape ``[parts, rows]``: which parts count for a row.

    Returns:
        float64 of shape ``[rows, len(STATISTICS)]``.
    """
    values = np.where(takes[:, :, None], values, np.nan)
    part = {name: values[:, :, at] for name, at in _AT.items()}
    found = {name: np.full(values.shape[1], np.nan) for name in STATISTICS}
    has_any = takes.any(axis=0)
    for name in _COUNTS:
        found[name] = np.where(has_any, np.nansum(part[name], axis=0), np.nan)
    finite = np.nan_to_num(part["numel"] - part["nan"] - part["posinf"] - part["neginf"])
    for name in _NORMS:
        found[name] = _norm_of(part[name], finite if name == "l2_norm" else part["numel"])
    with np.errstate(all="ignore"):
        found["min"] = np.fmin.reduce(part["min"], axis=0)
        found["max"] = np.fmax.reduce(part["max"], axis=0)
        found["abs_max"] = np.fmax.reduce(part["abs_max"], axis=0)
        found["mean"], found["std"] = _mean_and_std(part, finite, found["abs_max"])
        for name in ("zero_fraction", "saturated"):
            found[name] = _mean_by_elements(part[name], part["numel"])
        ratio = found["update_norm"] / found["weight_norm"]
        found["update_ratio"] = np.where(found["weight_norm"] > 0, ratio, np.nan)
        found["update_spread"] = _spread_of(part, found["update_norm"])
    is_alone = takes.sum(axis=0) == 1
    for name in ("zero_units", "entropy"):
        found[name] = np.where(is_alone, np.fmax.reduce(part[name], axis=0), np.nan)
    return np.stack([found[name] for name in STATISTICS], axis=1)


def _norm_of(norms: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return the norm of the whole; NaN if a part lacks one although elements of it count, or if all do."""
    is_lacking = (np.isnan(norms) & (counted > 0)).any(axis=0) | np.isnan(norms).all(axis=0)
    known = np.nan_to_num(np.abs(norms), nan=0.0, posinf=np.inf)
    most = known.max(axis=0, initial=0.0)
    scale = np.where((most > 0) & np.isfinite(most), most, 1.0)
    with np.errstate(over="ignore"):
        whole = scale * np.sqrt(np.square(known / scale).sum(axis=0))
    return np.where(is_lacking, np.nan, whole)


def _mean_and_std(
    part: dict[str, np.ndarray], finite: np.ndarray, abs_max: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    scale = np.where((abs_max > 0) & np.isfinite(abs_max), abs_max, 1.0)
    count = finite.sum(axis=0)
    means = np.nan_to_num(part["mean"] / scale)
    mean = (finite * means).sum(axis=0) / count
    within = np.nan_to_num((part["std"] / scale) ** 2) * np.maximum(finite - 1, 0)
    square = (within + finite * (means - mean) ** 2).sum(axis=0)
    std = np.sqrt(square / (count - 1)) * scale
    return np.where(count > 0, mean * scale, np.nan), np.where(count > 1, std, np.nan)


def _mean_by_elements(shares: np.ndarray, numel: np.ndarray) -> np.ndarray:
    weights = np.where(np.isnan(shares), 0.0, np.nan_to_num(numel))
    return (np.nan_to_num(shares) * weights).sum(axis=0) / weights.sum(axis=0)


def _spread_of(part: dict[str, np.ndarray], whole: np.ndarray) -> np.ndarray:
    """Return the standard error of a norm whose parts have their own; NaN if all parts are exact."""
    spreads = part["update_spread"]
    terms = np.nan_to_num(part["update_norm"] / whole * spreads)
    return np.where(np.isnan(spreads).all(axis=0), np.nan, np.sqrt(np.square(terms).sum(axis=0)))


def merge_histograms(histograms: np.ndarray, numel: np.ndarray, takes: np.ndarray) -> np.ndarray:
    """Return the histograms of tensors of which each has some of the elements.

    A part counts as much as it has elements, however many of them were sampled. The counts are
    exact if every part was sampled whole, unless a bin has more than it can count.

    Args:
        histograms: uint16 of shape ``[parts, rows, HISTOGRAM_BINS]``.
        numel: How many elements are finite and not zero in each part: ``[parts, rows]``.
        takes: As for ``merge_parts``.
    """
    counts = np.where(takes[:, :, None], histograms, 0).astype(np.float64)
    sampled = counts.sum(axis=2)
    with np.errstate(all="ignore"):
        weight = np.where(sampled > 0, np.where(takes, numel, 0) / sampled, 0.0)
        smallest = np.where(sampled > 0, weight, np.inf).min(axis=0)
        relative = np.where(np.isfinite(smallest), weight / smallest, 0.0)
    merged = (counts * relative[:, :, None]).sum(axis=0)
    most = merged.max(axis=1, initial=0)
    merged *= (_MOST_IN_BIN / np.maximum(most, _MOST_IN_BIN))[:, None]
    return np.rint(merged).astype(np.uint16).reshape(-1, HISTOGRAM_BINS)


def middle_of(values: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return the lower median of each statistic over several processes, and the most NaN and infinity.

    Args:
        values: float64 of shape ``[processes, rows, len(STATISTICS)]``; NaN: no such number.
        present: bool of shape ``[processes, rows]``: which processes have the row.
    """
    known = np.where(present[:, :, None], values, np.nan)
    ordered = np.sort(known, axis=0)  # NaN at the end
    counts = (~np.isnan(known)).sum(axis=0)
    at = np.maximum(counts - 1, 0) // 2
    found = np.take_along_axis(ordered, at[None], axis=0)[0]
    for each in MEASURES:
        if each.is_nonfinite:
            with np.errstate(all="ignore"):
                found[:, _AT[each.name]] = np.fmax.reduce(known[:, :, _AT[each.name]], axis=0)
    return found
