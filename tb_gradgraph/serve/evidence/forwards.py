"""Read the values of the forward that a record belongs to, where they are not finite."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator

import numpy as np

from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import StatisticsTable


def read_values(
    reader: Reader, run: RunView, entry: Entry
) -> tuple[StatisticsTable, dict[int, np.ndarray]] | None:
    """Return statistics and whole tensors of a forward; ``None`` if all values are known to be finite.

    A record of a backward has the forward of its pass. One of a later stage has the first forward of
    its step, over the same graph, with values that are not finite. ``None`` is also returned if no
    values were recorded.
    """
    for forward in _forwards_of(run, entry):
        if reader.is_nonfinite(run, forward):
            return reader.table(run, forward), reader.whole(run, forward)[1]
    return None


def _forwards_of(run: RunView, entry: Entry) -> Iterator[Entry]:
    forwards = run.forwards.get(entry.tag, ())
    start = bisect.bisect_left(forwards, entry.step, key=lambda one: one.step)
    for forward in itertools.islice(forwards, start, None):
        if forward.step != entry.step:
            return
        is_pass = entry.stage != "backward" or forward.backward_pass == entry.backward_pass
        if is_pass and forward.graph_hash == entry.graph_hash:
            yield forward
