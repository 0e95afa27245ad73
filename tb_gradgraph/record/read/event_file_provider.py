"""A substitute for the part of TensorBoard's data provider that our reader needs. It reads event files."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.util import tensor_util

from tb_gradgraph.errors import FormatError
from tb_gradgraph.record.format.envelope import PLUGIN_NAME, parse_tag
from tb_gradgraph.record.read.event_file import Told, list_run_directories, read_events, run_name

_SCALARS = "scalars"


@dataclasses.dataclass(frozen=True)
class _Datum:
    """One record in the form of TensorBoard's data provider."""

    numpy: np.ndarray


@dataclasses.dataclass(frozen=True)
class _Point:
    """One value of a scalar."""

    step: int
    value: float


class EventFiles:
    """The methods of TensorBoard's data provider that our reader calls. All files are read at the start."""

    def __init__(self, logdir: str | os.PathLike[str]) -> None:
        root = pathlib.Path(logdir)
        if not root.is_dir():
            raise FileNotFoundError(
                f"expected a log directory, got {str(root)!r}, which is not one."
            )
        self._records: dict[str, dict[str, np.ndarray]] = {}
        self._scalars: dict[str, dict[str, list[_Point]]] = {}
        told: list[str] = []
        for directory in list_run_directories(root, told.append):
            run = run_name(directory, root)
            records, scalars = _read_values(directory, told.append)
            if records:
                self._records[run], self._scalars[run] = records, scalars
        #: What could not be read, one message each.
        self.problems = tuple(dict.fromkeys(told))

    def rename(self, run: str, name: str) -> None:
        """Give a run another name."""
        self._records[name] = self._records.pop(run)
        self._scalars[name] = self._scalars.pop(run)

    def list_tensors(self, *_: Any, **__: Any) -> dict[str, dict[str, np.ndarray]]:
        """List our records' tags by run."""
        return self._records

    def read_tensors(
        self, *_: Any, run_tag_filter: Any, **__: Any
    ) -> dict[str, dict[str, list[_Datum]]]:
        """Read some of those records."""
        return {
            run: {tag: [_Datum(self._records[run][tag])] for tag in run_tag_filter.tags}
            for run in run_tag_filter.runs
        }

    def list_scalars(self, *_: Any, **__: Any) -> dict[str, dict[str, list[_Point]]]:
        """List the tags of scalars by run."""
        return self._scalars

    def read_scalars(
        self, *_: Any, run_tag_filter: Any, downsample: int, **__: Any
    ) -> dict[str, dict[str, list[_Point]]]:
        """Read some of those scalars, at most ``downsample`` points of each."""
        found: dict[str, dict[str, list[_Point]]] = {}
        for run in run_tag_filter.runs:
            there = self._scalars.get(run, {})
            found[run] = {
                tag: _thin(there[tag], downsample) for tag in run_tag_filter.tags if tag in there
            }
        return found


def _thin(points: list[_Point], most: int) -> list[_Point]:
    return points[:: max(1, -(-len(points) // most))]


def _read_values(
    directory: pathlib.Path, told: Told
) -> tuple[dict[str, np.ndarray], dict[str, list[_Point]]]:
    records: dict[str, np.ndarray] = {}
    scalars: dict[str, list[_Point]] = {}
    for event in read_events(directory, told):
        for value in event.summary.value:
            if _is_record(value):
                records[value.tag] = np.array(list(value.tensor.string_val), dtype=object)
                continue
            try:
                number = _scalar_of(value)
            except Exception as error:  # another tool may have written anything
                told(f"{directory}, scalar {value.tag[:200]!r}: {error or type(error).__name__}")
                continue
            if number is not None:
                scalars.setdefault(value.tag, []).append(_Point(event.step, number))
    return records, scalars


def _is_record(value: Summary.Value) -> bool:
    return (
        value.metadata.plugin_data.plugin_name == PLUGIN_NAME and parse_tag(value.tag) is not None
    )


def _scalar_of(value: Summary.Value) -> float | None:
    """Return a scalar's number, written by the old or the new API; ``None`` for anything else.

    Raises:
        Exception: If a scalar's tensor is not one number.
    """
    if value.HasField("simple_value"):
        return value.simple_value
    if value.metadata.plugin_data.plugin_name != _SCALARS or not value.HasField("tensor"):
        return None
    sizes = [dim.size for dim in value.tensor.tensor_shape.dim]
    if any(size != 1 for size in sizes):  # a tensor may claim any number of elements
        raise FormatError(f"expected one number, got a tensor of shape {sizes[:8]}.")
    array = tensor_util.make_ndarray(value.tensor)
    if array.size != 1 or array.dtype.kind not in "fiub":
        raise FormatError(f"expected one number, got {array.size} of type {array.dtype}.")
    return float(array.reshape(-1)[0])
