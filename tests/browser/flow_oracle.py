"""What the cells of the heat map must be, computed with numpy from what stands in the log."""

from __future__ import annotations

import math
import pathlib

import numpy as np

from tb_gradgraph.statistics import STATISTICS
from tests.browser.flow_view import Color
from tests.logged import read_one_run

#: Colors of the light theme that are of no number.
ZERO, NONFINITE, NONE = (255, 255, 255), (230, 0, 126), {(230, 233, 237), (207, 212, 219)}
#: The ramp YlGnBu, as ColorBrewer gives it.
YL_GN_BU = "ffffd9edf8b1c7e9b47fcdbb41b6c41d91c0225ea8253494081d58"


def ramp_color(position: float) -> Color:
    """Return YlGnBu's color: a cubic basis spline through its nine colors, without its palest tenth."""
    colors = np.array(
        [[int(YL_GN_BU[i + j : i + j + 2], 16) for j in (0, 2, 4)] for i in range(0, 54, 6)], float
    )
    t = 0.1 + 0.9 * round(position * 255) / 255
    at = min(int(t * 8), 7)
    part = t * 8 - at
    before = colors[at - 1] if at > 0 else 2 * colors[0] - colors[1]
    after = colors[at + 2] if at < 7 else 2 * colors[8] - colors[7]
    weights = [
        (1 - part) ** 3,
        4 - 6 * part**2 + 3 * part**3,
        1 + 3 * part + 3 * part**2 - 3 * part**3,
        part**3,
    ]
    points = [before, colors[at], colors[at + 1], after]
    mixed = sum(weight * point for weight, point in zip(weights, points)) / 6
    red, green, blue = np.clip(np.round(mixed), 0, 255).astype(int).tolist()
    return red, green, blue


class Logged:
    """The training's numbers as they stand in the log: by node and step, NaN where there is none."""

    def __init__(self, directory: pathlib.Path, stage: str = "backward") -> None:
        run = read_one_run(directory)
        self.records = [record for record in run.records if record.stage == stage]
        self.graph = run.graphs[self.records[-1].graph_hash]
        self.steps = [record.step for record in self.records]
        self._rows = {
            graph_hash: dict(zip((node.key for node in graph.nodes), graph.slot_offsets.tolist()))
            for graph_hash, graph in run.graphs.items()
        }
        self._columns: dict[tuple[str, str], np.ndarray] = {}

    def column(self, key: str, name: str) -> np.ndarray:
        """Return one statistic of a node of one tensor over the recorded steps, in whichever graph."""
        if (key, name) not in self._columns:
            self._columns[key, name] = self._read_column(key, name)
        return self._columns[key, name]

    def _read_column(self, key: str, name: str) -> np.ndarray:
        index = STATISTICS.index(name)
        numbers = []
        for record in self.records:
            row = self._rows[record.graph_hash].get(key)
            found = row is not None and record.table.present[row]
            numbers.append(record.table.values[row, index] if found else np.nan)
        return np.array(numbers, np.float64)


def expected_color(logged: Logged, key: str, column: int, low: float, high: float) -> set[Color]:
    """Return which colors a cell may have."""
    counts = [logged.column(key, name)[column] for name in ("nan", "posinf", "neginf")]
    value = logged.column(key, "l2_norm")[column]
    if np.nansum(counts) > 0:
        return {NONFINITE}
    if np.isnan(value):
        return NONE
    if value == 0:
        return {ZERO}
    position = (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low))
    color = ramp_color(min(1.0, max(0.0, position)))
    return {color}
