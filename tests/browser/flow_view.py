"""The Flow view as a test sees it: the names beside the heat map, and its pixels."""

from __future__ import annotations

import dataclasses

from playwright.sync_api import Locator, Page

from tests.browser.panel import Panel

Color = tuple[int, int, int]

_READ_PIXELS = """
(canvas, points) => {
  const {width, height} = canvas;
  const {data} = canvas.getContext('2d').getImageData(0, 0, width, height);
  const ratio = width / canvas.clientWidth;
  return points.map(([x, y]) => {
    const at = 4 * (Math.floor(y * ratio) * width + Math.floor(x * ratio));
    return [...data.slice(at, at + 3)];
  });
}
"""


#: The names of rows move at once, their cells with the next frame.
_TWO_FRAMES = """
() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))
"""


@dataclasses.dataclass(frozen=True)
class Axis:
    """One direction of the heat map: what is in sight, in units, and how long one is."""

    start: float
    end: float
    unit_px: float
    count: int


class FlowView:
    """The heat map of a panel that is opened by a link."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.canvas = panel.control("flow-canvas")
        #: Numbers beside the names that ``named_beside_cells`` has seen, as written.
        self.values: dict[str, str] = {}

    @classmethod
    def open(cls, page: Page, address: str, **state: str) -> FlowView:
        """Open the view, ``state`` as in a link, and wait until its cells are drawn."""
        panel = Panel.unawaited(page, address, view="flow", **state)
        flow = cls(panel)
        flow.wait_for_cells()
        return flow

    @classmethod
    def alone(cls, page: Page, address: str, **state: str) -> FlowView:
        """Open the view as ``open`` does, without TensorBoard's page around it."""
        flow = cls(Panel.alone_unawaited(page, address, view="flow", **state))
        flow.wait_for_cells()
        return flow

    def wait_for_cells(self) -> None:
        """Wait until rows have names and columns have numbers."""
        self.rows().first.wait_for()
        self.panel.wait_until(lambda: self.axis("columns").count > 0)

    def rows(self) -> Locator:
        """Find the rows that have a name on the screen."""
        return self.panel.control("flow-rows").locator("[role=row]")

    def row(self, key: str) -> Locator:
        """Find one of them by the key of its node or the id of its module."""
        return self.panel.control("flow-rows").locator(f'[role=row][data-key="{key}"]')

    def list_keys(self) -> list[str]:
        """List the keys of the named rows, from above."""
        return self.rows().evaluate_all("rows => rows.map(row => row.dataset.key)")

    def named_beside_cells(self) -> dict[int, str]:
        """Return the keys of rows whose name is as high as their cells, by their place among all rows."""
        rows = self.rows().evaluate_all(
            "rows => rows.map(row => ({...row.dataset, box: row.getBoundingClientRect().toJSON()}))"
        )
        box = self.canvas.bounding_box() or {"y": 0.0}
        found = {}
        for row in rows:
            self.values[row["key"]] = row["value"]
            _, y = self.middle(0, int(row["row"]))
            at = row["box"]["top"] + row["box"]["height"] / 2 - box["y"]
            if "header" in row or abs(at - y) < 1:
                found[int(row["row"])] = row["key"]
        return found

    def axis(self, name: str) -> Axis:
        """Read ``columns`` or ``rows``."""
        text = self.canvas.get_attribute(f"data-{name}") or "0,0,0,0"
        start, end, unit_px, count = map(float, text.split(","))
        return Axis(start, end, unit_px, int(count))

    def settle(self) -> None:
        """Wait until the canvas has drawn the rows that are named beside it."""
        grid = self.panel.control("flow-rows")
        self.panel.wait_until(
            lambda: grid.get_attribute("aria-rowcount") == str(self.axis("rows").count)
        )
        self.canvas.evaluate(_TWO_FRAMES)

    def middles(self, cells: list[tuple[int, int]]) -> list[tuple[float, float]]:
        """Return the middles of cells on the canvas, each a column and a row."""
        across, down = self.axis("columns"), self.axis("rows")
        top = float((self.canvas.get_attribute("data-map") or "").split(",")[1])
        return [
            (
                (column + 0.5 - across.start) * across.unit_px,
                top + (row + 0.5 - down.start) * down.unit_px,
            )
            for column, row in cells
        ]

    def middle(self, column: int, row: int) -> tuple[float, float]:
        """Return the middle of a cell on the canvas."""
        return self.middles([(column, row)])[0]

    def place(self, key: str) -> int:
        """Return the number of a row among all rows."""
        return int(self.row(key).get_attribute("data-row") or -1)

    def pixels(self, cells: list[tuple[int, int]]) -> list[Color]:
        """Read the colors of cells, each a column and a row."""
        self.settle()
        found = self.canvas.evaluate(_READ_PIXELS, self.middles(cells))
        return [(red, green, blue) for red, green, blue in found]

    def click(self, column: int, row: int) -> None:
        """Click a cell."""
        self.settle()
        x, y = self.middle(column, row)
        self.canvas.click(position={"x": x, "y": y})

    def point(self, column: int, row: int) -> Locator:
        """Point at a cell and give what is said of it."""
        self.settle()
        x, y = self.middle(column, row)
        self.canvas.hover(position={"x": x, "y": y})
        return self.panel.control("flow-tooltip")

    def step(self) -> str:
        """Read which step is chosen."""
        return self.panel.control("step").input_value()
