"""A selection in the heat map: its table, its CSV and its link, against numbers read back from the log."""

from __future__ import annotations

import csv
import io
import math
import pathlib

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.browser.flow.flow_training import BREAKS, EXPLODES
from tests.browser.flow_oracle import Logged
from tests.browser.flow_view import FlowView

pytestmark = pytest.mark.browser


def expect_row(logged: Logged, key: str, first: int, last: int) -> tuple[float, float, int | None]:
    """Return the median, the slope and the first bad step of a node, with numpy."""
    steps = np.array(logged.steps)
    inside = (steps >= first) & (steps <= last)
    norms = logged.column(key, "l2_norm")
    bad = sum(np.nan_to_num(logged.column(key, name)) for name in ("nan", "posinf", "neginf")) > 0
    good = inside & ~bad & np.isfinite(norms)
    if not good.any():
        return math.nan, math.nan, min(steps[inside & bad], default=None)
    rising = good & (norms > 0)
    slope = np.polyfit(steps[rising], np.log10(norms[rising]), 1)[0]
    return float(np.median(norms[good])), float(slope), min(steps[inside & bad], default=None)


def read_csv(page: Page, flow: FlowView) -> dict[str, list[str]]:
    """Save the table and read the file, by the key of each row."""
    with page.expect_download() as download:
        flow.panel.control("area-csv").click()
    text = pathlib.Path(download.value.path()).read_text()
    return {row[1]: row for row in csv.reader(io.StringIO(text))}


def test_the_table_of_a_selection_has_the_numbers_in_the_log(address, logdir, page):
    flow = FlowView.alone(page, address, run="training", step="0")
    flow.panel.control("expand-all").click()
    flow.panel.wait_until(lambda: "parameter:head.weight" in flow.list_keys())
    logged = Logged(logdir / "training")
    first, last = EXPLODES - 4, BREAKS + 4
    keys = flow.list_keys()
    parameters = [flow.place(key) for key in keys if key.startswith("parameter:")]
    flow.settle()
    box = flow.canvas.bounding_box()
    left, top = flow.middle(logged.steps.index(first), min(parameters))
    right, bottom = flow.middle(logged.steps.index(last), max(parameters))
    page.mouse.move(box["x"] + left, box["y"] + top)
    page.mouse.down()
    page.mouse.move(box["x"] + right, box["y"] + bottom, steps=4)
    page.mouse.up()
    table = flow.panel.control("flow-area")
    table.wait_for()
    span = [table.get_attribute(f"data-{end}") for end in ("from", "to")]
    assert span == [str(first), str(last)]
    saved = read_csv(page, flow)
    assert saved["key"][2:4] == ["median L2 norm", "slope of log10 per step"]
    nodes = {node.key for node in logged.graph.nodes}
    found = 0
    for key, (_, _, median, slope, bad) in saved.items():
        if key not in nodes:
            continue
        expected = expect_row(logged, key, first, last)
        numbers = [float(text) if text else math.nan for text in (median, slope)]
        assert numbers == pytest.approx(expected[:2], rel=1e-5, abs=1e-9, nan_ok=True), key
        assert (int(bad) if bad else None) == expected[2], key
        found += not math.isnan(expected[0])
    assert found >= 6
    assert str(BREAKS) in {row[4] for row in saved.values()}  # a NaN is among them
    page.wait_for_function("location.hash.includes('flow.area=')")
    flow.panel.control("area-by-median").click()
    page.wait_for_function("location.hash.includes('flow.table=median.down')")
    link = page.evaluate("location.hash")
    page.goto(f"{address}data/plugin_entry.html?name=gradgraph{link}")
    again = table.locator("tbody tr")
    again.first.wait_for()
    medians = [
        float(text) for text in again.evaluate_all("rows => rows.map(r => r.dataset.median)")
    ]
    finite = [number for number in medians if not math.isnan(number)]
    assert len(finite) >= 6
    assert finite == sorted(finite, reverse=True)
    assert [math.isnan(number) for number in medians] == sorted(map(math.isnan, medians))


def test_a_selection_by_keys_goes_to_charts(address, page):
    flow = FlowView.alone(page, address, run="training", step="4", sel="parameter:head.weight")
    flow.panel.wait_until(lambda: "parameter:head.weight" in flow.list_keys())
    for key in ("a", "ArrowDown", "ArrowRight", "ArrowRight", "a"):
        page.keyboard.press(key)
    table = flow.panel.control("flow-area")
    flow.panel.wait_until(lambda: table.get_attribute("data-to") == "8")
    assert (table.get_attribute("data-from"), table.get_attribute("data-rows")) == ("4", "2")
    keys = table.locator("tbody tr").evaluate_all("rows => rows.map(row => row.dataset.key)")
    assert "parameter:head.weight" in keys
    flow.panel.control("area-charts").click()
    charts = flow.panel.control("charts")
    charts.wait_for()
    flow.panel.wait_until(
        lambda: (
            sorted((charts.get_attribute("data-pins") or "").split("\n"))
            == sorted(f"{key}:0" for key in keys)
        )
    )
