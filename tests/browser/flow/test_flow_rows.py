"""Rows of the heat map: scrolled, named and sorted, against numbers read back from the log."""

from __future__ import annotations

import numpy as np
import pytest

from tests.browser.flow_oracle import Logged
from tests.browser.flow_view import FlowView

pytestmark = pytest.mark.browser


def test_rows_that_do_not_fit_are_scrolled_and_keep_their_names(address, logdir, page):
    page.set_viewport_size({"width": 900, "height": 640})
    flow = FlowView.alone(page, address, run="training", step="0")
    flow.panel.control("expand-all").click()
    flow.panel.control("verdict-close").click()
    for _ in range(3):
        page.keyboard.press("]")
    page.keyboard.press("PageUp")
    flow.panel.wait_until(lambda: (flow.axis("rows").unit_px, flow.axis("rows").start) == (26, 0))
    flow.panel.wait_until(lambda: flow.axis("rows").count > 12)
    count = flow.axis("rows").count
    assert flow.axis("rows").end < count
    x, y = flow.middle(5, 3)
    logged, found = Logged(logdir / "training"), {}
    flow.canvas.hover(position={"x": x, "y": y})
    for _ in range(count):
        flow.settle()
        found.update(flow.named_beside_cells())
        if flow.axis("rows").end == count:
            break
        before = flow.axis("rows").start
        page.mouse.wheel(0, 36)
        flow.panel.wait_until(lambda before=before: flow.axis("rows").start > before)
    assert sorted(found) == list(range(count))  # each row was named, once, beside its cells
    norms = {key: logged.column(key, "l2_norm")[0] for key in found.values() if ":" in key}
    values = {key: flow.values[key] for key in norms if flow.values[key] not in ("", "–")}
    assert len(values) >= 4
    for key, text in values.items():
        assert float(text.replace("−", "-")) == pytest.approx(norms[key], rel=1e-3)


def test_rows_sorted_by_their_slope_have_the_order_of_the_numbers_in_the_log(address, logdir, page):
    state = {"run": "training", "step": "0", "flow.sort": "slope.up"}
    flow = FlowView.alone(page, address, **state)
    flow.panel.control("expand-all").click()
    flow.panel.wait_until(lambda: "parameter:head.weight" in flow.list_keys())
    logged = Logged(logdir / "training")
    keys = [key for key in flow.list_keys() if key.startswith("parameter:")]
    slopes = []
    for key in keys:
        norms = logged.column(key, "l2_norm")
        finite = np.isfinite(norms) & (norms > 0) & (logged.column(key, "nan") == 0)
        steps = np.array(logged.steps)[finite]
        slopes.append(np.polyfit(steps, np.log10(norms[finite]), 1)[0] if finite.any() else np.inf)
    assert np.isfinite(slopes).sum() >= 4
    assert slopes == sorted(slopes)
