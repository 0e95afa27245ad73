"""The panel as a test sees it: the tree below the canvas, and the controls around it."""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Callable

from playwright.sync_api import FrameLocator, Locator, Page

from tests.browser.chromium import PAGE_LIMIT_S
from tests.patience import wait_until

FRAME = 'iframe[src*="name=gradgraph"]'


@dataclasses.dataclass(frozen=True)
class Item:
    """One box of the drawing; numbers as the panel wrote them."""

    key: str
    name: str
    kind: str
    state: str
    color: str
    value: str
    gradient: str | None
    whole_value: str | None
    detail: str
    order: int
    is_leaf: bool
    retains: bool


class Panel:
    """The Grad Graph tab: in one frame of TensorBoard's page, or alone."""

    def __init__(self, page: Page, frame: FrameLocator | Page) -> None:
        self.page = page
        self.frame = frame

    @classmethod
    def open(cls, page: Page, address: str, **state: str) -> Panel:
        """Open the tab of the TensorBoard at ``address``, ``state`` as in a link (``run=``, ``step=``)."""
        panel = cls.unawaited(page, address, **state)
        panel.wait_for_picture()
        return panel

    @classmethod
    def unawaited(cls, page: Page, address: str, **state: str) -> Panel:
        """Open the tab without waiting for a picture."""
        page.goto(f"{address}#{_hash_of(state)}")
        return cls(page, page.frame_locator(FRAME))

    @classmethod
    def alone(cls, page: Page, address: str, **state: str) -> Panel:
        """Open what TensorBoard shows in the tab's frame, without TensorBoard's page around it.

        The server and the files are the same; that page takes more of a processor than the panel.
        """
        panel = cls.alone_unawaited(page, address, **state)
        panel.wait_for_picture()
        return panel

    @classmethod
    def alone_unawaited(cls, page: Page, address: str, **state: str) -> Panel:
        """Open what the tab's frame shows without waiting for a picture."""
        page.goto(f"{address}data/plugin_entry.html?name=gradgraph#{_hash_of(state)}")
        return cls(page, page)

    @classmethod
    def of_notebook(cls, page: Page) -> Panel:
        """Open the tab of the TensorBoard that a notebook's cell shows in a frame."""
        outer = page.frame_locator("iframe")
        outer.get_by_text("Grad Graph", exact=True).first.click()
        panel = cls(page, outer.frame_locator(FRAME))
        panel.wait_for_picture()
        return panel

    def control(self, name: str) -> Locator:
        """Find a part of the panel by its test id."""
        return self.frame.get_by_test_id(name)

    def wait_for_picture(self) -> None:
        """Wait until a graph is drawn."""
        self.frame.get_by_role("treeitem").first.wait_for(state="attached")

    def items(self) -> dict[str, Item]:
        """Read every visible box, by key."""
        read = "items => items.map(item => ({...item.dataset}))"
        found = self.frame.locator('[role="treeitem"]').evaluate_all(read)
        return {
            data["key"]: Item(
                data["key"],
                data["name"],
                data["kind"],
                data["state"],
                data["color"],
                data["value"],
                data.get("grad"),
                data.get("wholeValue"),
                data["detail"],
                int(data["order"]),
                data.get("leaf") == "true",
                data["retains"] == "true",
            )
            for data in found
        }

    def list_names(self) -> list[str]:
        """List the titles of all visible boxes, in reading order."""
        return [item.name for item in self.items().values()]

    def colors(self) -> dict[str, str]:
        """Read the color of every visible box, by key."""
        return {key: item.color for key, item in self.items().items()}

    def places(self) -> dict[str, str]:
        """Read the rectangle of every visible box, by key."""
        read = "items => items.map(item => [item.dataset.key, item.dataset.rect])"
        return dict(self.frame.locator('[role="treeitem"]').evaluate_all(read))

    def select(self, key: str) -> Locator:
        """Click a box and give the card that opens."""
        self.frame.locator(f'[role="treeitem"][data-key="{key}"]').dispatch_event("click")
        card = self.control("card")
        card.wait_for()
        self.wait_until(lambda: card.get_attribute("data-key") == key)
        return card

    def point(self, key: str) -> None:
        """Rest the pointer on the middle of a box of the drawing, where that is in sight."""
        canvas = self.control("canvas")
        left, top, zoom = map(float, (canvas.get_attribute("data-camera") or "").split(","))
        x, y, width, height = map(float, self.places()[key].split(","))
        place = canvas.bounding_box()
        assert place is not None
        self.page.mouse.move(
            place["x"] + left + (x + width / 2) * zoom, place["y"] + top + (y + height / 2) * zoom
        )

    def toggle(self, key: str) -> None:
        """Open or close a group by a double click."""
        self.frame.locator(f'[role="treeitem"][data-key="{key}"]').dispatch_event("dblclick")

    def edges(self) -> list[dict[str, str]]:
        """Read every visible edge: ``source``, ``target``, ``label``, ``grad``, ``cut``."""
        read = "edges => edges.map(edge => ({...edge.dataset}))"
        return self.control("edges").locator("li").evaluate_all(read)

    def whole(self, name: str) -> list[float]:
        """Read an array on the card: ``"value"`` or ``"gradient"``, elements in order."""
        text = self.control(f"whole-{name}").get_attribute("data-whole")
        assert text is not None
        return [float(part) for part in text.split(",")]

    def choose_tag(self, tag: str) -> None:
        """Pick a graph of the run and wait until its numbers are drawn."""
        self.control("tag").select_option(tag)
        self.wait_until(lambda: self.control("tag").input_value() == tag)
        self.page.wait_for_timeout(200)

    def move_slider(self, position: int) -> None:
        """Drag the slider to the ``position``-th recorded step, counted from 0."""
        self.control("slider").fill(str(position))

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Poll until ``holds()``; the message of the failure is the panel's text."""
        held = wait_until(holds, PAGE_LIMIT_S, pause=lambda s: self.page.wait_for_timeout(1e3 * s))
        assert held, self.control("panel").inner_text()


def _hash_of(state: dict[str, str]) -> str:
    keys = (f"p.gradgraph.{key}={urllib.parse.quote(value)}" for key, value in state.items())
    return "&".join(["gradgraph", *keys])
