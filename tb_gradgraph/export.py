"""What the panel's download gives, without TensorBoard running: ``tb-gradgraph export``."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tb_gradgraph.errors import FormatError, GradGraphError
from tb_gradgraph.record.event_file import list_event_files, read_event_file
from tb_gradgraph.record.tags import PLUGIN_NAME, parse_tag
from tb_gradgraph.serve.export import answer_export
from tb_gradgraph.serve.index import RunView
from tb_gradgraph.serve.parameters import Parameters, RequestError
from tb_gradgraph.serve.reader import Reader


class ExportError(GradGraphError):
    """There is no such run, tag or record to export."""


def export(
    logdir: str | os.PathLike[str],
    format_name: str,
    run: str | None = None,
    tag: str | None = None,
    **filters: str | None,
) -> Iterable[bytes]:
    """Give the bytes of one tag's records, piece by piece.

    Args:
        logdir: Directory of a run, or of several.
        format_name: ``json``, ``csv`` or ``dot``.
        run: Which run; may be left out where there is one.
        tag: Which tag of the run; may be left out where there is one.
        filters: ``step``, ``hash``, ``backward_pass``, ``stage``: only records of these.

    Raises:
        ExportError: If there is nothing that fits, or the run or tag is not said.
    """
    reader = Reader(_EventFiles(logdir))
    view = _choose_run(reader.runs(), run)
    query = {
        "format": format_name,
        "run": view.name,
        "tag": _choose("tag", tuple(view.records), tag),
        **{name: value for name, value in filters.items() if value is not None},
    }
    try:
        content = answer_export(reader, Parameters(query)).content
    except RequestError as error:
        raise ExportError(error.sentence) from None
    return [content] if isinstance(content, bytes) else content


def _choose_run(runs: Mapping[str, RunView], run: str | None) -> RunView:
    return runs[_choose("run", tuple(runs), run)]


def _choose(what: str, there: Sequence[str], wanted: str | None) -> str:
    if wanted in there or (wanted is None and len(there) == 1):
        return wanted or there[0]
    if not there:
        raise ExportError(f"expected a {what} with recorded graphs, found none.")
    got = "none" if wanted is None else repr(wanted)
    raise ExportError(f"expected --{what} with one of {', '.join(there)}; got {got}.")


@dataclasses.dataclass(frozen=True)
class _Datum:
    """One value as TensorBoard's data provider gives it."""

    numpy: np.ndarray


class _EventFiles:
    """The two methods of TensorBoard's data provider that the reader needs, over event files."""

    def __init__(self, logdir: str | os.PathLike[str]) -> None:
        root = pathlib.Path(logdir)
        if not root.is_dir():
            raise FileNotFoundError(f"expected a log directory, got {str(root)!r}, which is none.")
        self._runs: dict[str, dict[str, np.ndarray]] = {}
        for directory in sorted({path.parent for path in root.rglob("*tfevents*")}):
            values = _read_values(directory)
            if values:
                self._runs[directory.relative_to(root).as_posix()] = values

    def list_tensors(self, *_: Any, **__: Any) -> dict[str, dict[str, np.ndarray]]:
        return self._runs

    def read_tensors(
        self, *_: Any, run_tag_filter: Any, **__: Any
    ) -> dict[str, dict[str, list[_Datum]]]:
        return {
            run: {tag: [_Datum(self._runs[run][tag])] for tag in run_tag_filter.tags}
            for run in run_tag_filter.runs
        }


def _read_values(directory: pathlib.Path) -> dict[str, np.ndarray]:
    values: dict[str, np.ndarray] = {}
    for path in list_event_files(directory):
        try:
            for event in read_event_file(path):
                for value in event.summary.value:
                    plugin = value.metadata.plugin_data.plugin_name
                    if plugin == PLUGIN_NAME and parse_tag(value.tag) is not None:
                        values[value.tag] = np.array(list(value.tensor.string_val), dtype=object)
        except FormatError:
            continue  # what came before the damage is kept; ``summary`` warns of it
    return values
