"""Numbers that the user gives for the running step, and the quantities of the last recorded one."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch

from tb_gradgraph.errors import CaptureError
from tb_gradgraph.graph import Record
from tb_gradgraph.memory import has_memory
from tb_gradgraph.quantities import series_name

WHERE = "watch.note()"
#: A name begins as an identifier does; ``train/tokens`` and ``top-5`` are names too.
_NAME = re.compile(r"[^\W\d][\w./-]{0,79}")


def check_notes(notes: Mapping[str, Any]) -> None:
    """Check names and values.

    Raises:
        CaptureError: A name is no name, or a value is not one real number.
    """
    for name, value in notes.items():
        if not _NAME.fullmatch(name):
            raise CaptureError(
                f"{WHERE}: expected a name of at most 80 letters, digits, '_', '.', '-' or '/' that "
                f"begins with a letter or '_', got {name[:100]!r}."
            )
        got = _why_not_one_number(value)
        if got:
            raise CaptureError(f"{WHERE}: expected {name} to be one real number, got {got}")


def _why_not_one_number(value: Any) -> str:
    """Return what a value is instead of a number, and the cure; "" if it is one."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        size = value.numel() if isinstance(value, torch.Tensor) else value.size
        if size != 1:
            return f"a tensor of shape {list(value.shape)}. Pass its mean() or sum()."
        if isinstance(value, torch.Tensor) and not has_memory(value):
            return "a tensor without memory, of which no element can be read."
        is_complex = (
            value.is_complex() if isinstance(value, torch.Tensor) else value.dtype.kind == "c"
        )
        is_number = isinstance(value, torch.Tensor) or value.dtype.kind in "fiub"
        return (
            "" if is_number and not is_complex else f"{value.dtype} elements. Pass a real number."
        )
    if not isinstance(value, (numbers.Real, np.bool_)):
        return f"{type(value).__name__}. Pass an int, a float, or a tensor of one element."
    try:
        float(value)
    except OverflowError:
        return "an integer beyond the range of a float."
    return ""


class Latest:
    """The quantities of the last recorded step whose numbers have arrived.

    It is set on the session's thread and read on any thread.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.found: Mapping[str, float] = {}


def named_by_series(records: Iterable[Record]) -> dict[str, float]:
    """Return the quantities of some records of a step; of several passes the last one counts."""
    return {
        series_name(name, record.stage): value
        for record in records
        for name, value in record.quantities.items()
    }
