"""The command ``tb-gradgraph export``: what the panel's download gives, without TensorBoard."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tb_gradgraph.errors import GradGraphError
from tb_gradgraph.record import EventFiles, Told
from tb_gradgraph.serve import Parameters, Reader, RequestError, RunView, answer_export


class ExportError(GradGraphError):
    """There is no such run, tag or record to export."""


def export(
    logdir: str | os.PathLike[str],
    format_name: str,
    run: str | None = None,
    tag: str | None = None,
    told: Told = lambda text: None,
    **filters: str | None,
) -> Iterable[bytes]:
    """Yield the bytes of one tag's records in parts.

    Args:
        logdir: Directory of a run, or of several.
        format_name: ``json``, ``csv``, ``csv-quantities`` or ``dot``.
        run: Which run; may be left out if there is one.
        tag: Which tag of the run; may be left out if there is one.
        told: Called with a sentence for each thing that cannot be read and is not in the export.
        filters: ``step``, ``hash``, ``backward_pass``, ``stage``: only records with these.

    Raises:
        ExportError: If nothing fits, or it is not clear which run or tag is meant.
    """
    source = open_log(logdir, told)
    reader = Reader(source)
    view = choose_run(reader.runs(all_sessions=run is not None), run)
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
    parts = [content] if isinstance(content, bytes) else content
    return _then_told(parts, reader, view.name, told)


def open_log(logdir: str | os.PathLike[str], told: Told) -> EventFiles:
    """Read the event files below a directory, and say what could not be read."""
    source = EventFiles(logdir)
    for problem in source.problems:
        told(problem)
    return source


def _then_told(parts: Iterable[bytes], reader: Reader, run: str, told: Told) -> Iterator[bytes]:
    """Report damaged records at the end, because some are found to be damaged only when they are read."""
    yield from parts
    for warning in reader.runs(all_sessions=True)[run].warnings:
        told(warning)


def choose_run(runs: Mapping[str, RunView], run: str | None) -> RunView:
    """Return the run that the user named, or the only one."""
    return runs[_choose("run", tuple(runs), run)]


def _choose(what: str, there: Sequence[str], wanted: str | None) -> str:
    if wanted in there or (wanted is None and len(there) == 1):
        return wanted or there[0]
    if not there:
        raise ExportError(f"expected a {what} with recorded graphs, found none.")
    got = "none" if wanted is None else repr(wanted)
    raise ExportError(f"expected --{what} with one of {', '.join(there)}; got {got}.")
