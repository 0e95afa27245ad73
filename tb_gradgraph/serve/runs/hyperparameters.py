"""Assign the hyperparameters that TensorBoard has to the runs with records of ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

HyperValue = str | float | bool
MOST_NAMES = 200
MOST_CHARACTERS = 200


def parse_hparams(content: bytes) -> dict[str, HyperValue]:
    """Return the hyperparameters in a summary of TensorBoard's hparams plugin.

    There are none if it is not the summary of a session. Long names and texts are cut, and numbers
    that are not finite become texts.
    """
    # Where TensorBoard's own plugin keeps the format of its summaries.
    from google.protobuf.message import DecodeError
    from tensorboard.plugins.hparams import plugin_data_pb2

    try:
        session = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
    except DecodeError:
        return {}
    found: dict[str, HyperValue] = {}
    for name in sorted(session.hparams)[:MOST_NAMES]:
        kind = session.hparams[name].WhichOneof("kind")
        if kind == "number_value":
            number = session.hparams[name].number_value
            found[name[:MOST_CHARACTERS]] = number if math.isfinite(number) else str(number)
        elif kind == "string_value":
            found[name[:MOST_CHARACTERS]] = session.hparams[name].string_value[:MOST_CHARACTERS]
        elif kind == "bool_value":
            found[name[:MOST_CHARACTERS]] = session.hparams[name].bool_value
    return found


def assign_hparams(
    runs: Iterable[str], recorded: Mapping[str, Mapping[str, HyperValue]]
) -> dict[str, dict[str, HyperValue]]:
    """Return the hyperparameters of each of ``runs`` that has any.

    A run has those of its own directory, those below it (``SummaryWriter.add_hparams`` writes to a
    new directory there), and those of a directory above it. The nearest ones win.
    """
    ours = set(runs)
    found: dict[str, dict[str, HyperValue]] = {}
    for directory in sorted(recorded, key=_depth, reverse=True):  # own ones come after those below
        above = next((one for one in _upward(directory) if one in ours), None)
        if above is not None:
            found.setdefault(above, {}).update(recorded[directory])
    for run in ours:
        for directory in _upward(run):
            if directory not in ours:
                found[run] = {**recorded.get(directory, {}), **found.get(run, {})}
    return {run: of for run, of in found.items() if of}


def _upward(run: str) -> Iterable[str]:
    """Yield a run, and what is above it, up to the log directory."""
    while run not in ("", "."):
        yield run
        run = run.rpartition("/")[0]
    yield "."


def _depth(run: str) -> int:
    return 0 if run == "." else run.count("/") + 1
