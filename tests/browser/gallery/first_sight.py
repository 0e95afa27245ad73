"""What a person can read of a graph at first sight, measured from what is painted."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
from typing import Any

from playwright.sync_api import Page

from tests.browser.panel import Panel

#: Notes what is painted; a page must load it before the panel.
PROBE = (pathlib.Path(__file__).parent / "first_sight.js").read_text(encoding="utf-8")
SETTLED_MS = 700

_READ_BOXES = """
items => items.map(({dataset, parentElement}) => ({
  key: dataset.key, name: dataset.name, kind: dataset.kind, within: dataset.within,
  rect: dataset.rect.split(',').map(Number), open: !!items.length,
  around: parentElement.closest('[role=treeitem]')?.dataset.key,
}))
"""


@dataclasses.dataclass(frozen=True)
class FirstSight:
    """One opened graph: sizes in pixels of the screen, shares of the canvas."""

    zoom: float
    smallest_px: float
    least_contrast: float
    dimmest: str
    named: int
    nodes: int
    width_used: float
    area_used: float
    struck: tuple[str, ...]
    overlaps: int
    crossings: int

    def tell(self) -> str:
        """Say it in a line."""
        return (
            f"zoom {self.zoom:.2f}  text {self.smallest_px:4.1f} px  contrast {self.least_contrast:4.1f}"
            f" ({self.dimmest[:14]})"
            f"  named {self.named:3d} of {self.nodes:3d}  width {self.width_used:4.0%}"
            f"  area {self.area_used:4.0%}  struck {len(self.struck)}  overlaps {self.overlaps}"
            f"  crossings {self.crossings}"
        )


def look_at(panel: Panel) -> FirstSight:
    """Measure the drawing as it is now."""
    panel.wait_until(lambda: bool(panel.control("canvas").get_attribute("data-camera")))
    panel.page.wait_for_timeout(SETTLED_MS)
    seen: dict[str, Any] = panel.control("canvas").evaluate("() => window.gallery.measure()")
    boxes = panel.frame.locator('[role="treeitem"]').evaluate_all(_READ_BOXES)
    around = {box["around"] for box in boxes} | {box["within"] for box in boxes}
    x, y, zoom = seen["camera"]
    for box in boxes:
        left, top, width, height = box["rect"]
        box["screen"] = (x + left * zoom, y + top * zoom, width * zoom, height * zoom)
    leaves = [box for box in boxes if box["key"] not in around or box["within"]]
    in_sight = [box for box in leaves if _is_within(box["screen"], seen["width"], seen["height"])]
    texts = seen["texts"]
    dimmest = min(texts, key=lambda text: text["contrast"], default={"contrast": 0, "text": ""})
    sides = [(box["screen"][0], box["screen"][0] + box["screen"][2]) for box in in_sight]
    used = max((b for _, b in sides), default=0) - min((a for a, _ in sides), default=0)
    outer = [box for box in in_sight if not box["within"]]
    return FirstSight(
        zoom,
        round(min((text["px"] for text in texts), default=0), 3),  # a canvas rounds its font
        dimmest["contrast"],
        dimmest["text"],
        sum(_is_named(box, texts) for box in boxes),
        len(boxes),
        used / seen["width"],
        sum(box["screen"][2] * box["screen"][3] for box in outer) / seen["width"] / seen["height"],
        tuple(seen["struck"]),
        _count_overlaps(boxes),
        count_crossings(seen["lines"]),
    )


def _is_within(rect: tuple[float, ...], width: float, height: float) -> bool:
    left, top, wide, high = rect
    return left >= 0 and top >= 0 and left + wide <= width and top + high <= height


def _is_named(box: dict[str, Any], texts: list[dict[str, Any]]) -> bool:
    left, top, width, height = box["screen"]
    for text in texts:
        rect = text["rect"]
        inside = left - 1 <= rect["x"] and rect["x"] + rect["width"] <= left + width + 1
        if not inside or not top - 1 <= rect["y"] <= top + height:
            continue
        if text["text"].removesuffix(" ↗") == box["name"]:
            return True
    return False


def _count_overlaps(boxes: list[dict[str, Any]]) -> int:
    by_key = {box["key"]: box for box in boxes}

    def holders(box: dict[str, Any]) -> set[str]:
        found: set[str] = set()
        while True:
            key = box["within"] or box["around"]
            if key is None or key in found:
                return found
            found.add(key)
            box = by_key[key]

    count = 0
    for one, other in itertools.combinations(boxes, 2):
        if other["key"] in holders(one) or one["key"] in holders(other):
            continue
        a, b = one["rect"], other["rect"]
        across = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
        down = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
        count += across > 1 and down > 1
    return count


def count_crossings(lines: list[list[list[float]]]) -> int:
    """Count the places where a line crosses another; each of them consists of points ``[x, y]``."""
    level, plumb = [], []
    for at, path in enumerate(lines):
        for (ax, ay), (bx, by) in itertools.pairwise(path):
            if abs(ay - by) < 0.5 < abs(ax - bx):
                level.append((at, ay, min(ax, bx), max(ax, bx)))
            elif abs(ax - bx) < 0.5 < abs(ay - by):
                plumb.append((at, ax, min(ay, by), max(ay, by)))
    # Lines that have a piece in common cross at one place.
    return len(
        {
            (round(x), round(y))
            for one, y, left, right in level
            for other, x, top, bottom in plumb
            if one != other and left + 1 < x < right - 1 and top + 1 < y < bottom - 1
        }
    )


def watch_painting(page: Page) -> None:
    """Note what later loads of the page paint."""
    page.add_init_script(PROBE)
