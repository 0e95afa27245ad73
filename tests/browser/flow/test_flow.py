"""The heat map in a real browser and a real TensorBoard, against numbers read back from the log."""

from __future__ import annotations

from itertools import takewhile

import numpy as np
import pytest

from tests.browser.flow.flow_training import BREAKS, EVERY, EXPLODES, STEPS
from tests.browser.flow_oracle import NONE, NONFINITE, Logged, expected_color
from tests.browser.flow_view import Color, FlowView
from tests.browser.panel import Panel

pytestmark = pytest.mark.browser


def assert_near(found: Color, expected: set[Color]) -> None:
    """Colors are rounded twice: one unit of each channel is no difference."""
    assert any(max(abs(a - b) for a, b in zip(found, one)) <= 3 for one in expected), (
        found,
        expected,
    )


@pytest.mark.parametrize("load_fast", [True, False])
def test_cells_have_the_colors_of_the_numbers_in_the_log(
    load_fast, tensorboard_server, logdir, page
):
    address = tensorboard_server(logdir, load_fast=load_fast)
    flow = FlowView.alone(page, address, run="training", step="0")
    flow.panel.control("expand-all").click()
    flow.panel.wait_until(lambda: "parameter:head.weight" in flow.list_keys())
    logged = Logged(logdir / "training")
    assert flow.axis("columns").count == len(logged.steps) == STEPS // EVERY
    legend = flow.panel.control("flow-legend")
    low, high = (float(legend.get_attribute(f"data-{end}") or "nan") for end in ("low", "high"))
    keys = {node.key for node in logged.graph.nodes}
    nodes = [key for key in flow.list_keys() if key in keys]
    assert {"parameter:head.weight", "parameter:body.0.bias", "parameter:spare.weight"} < {*nodes}
    columns = range(1, len(logged.steps))  # the first is framed: it is the chosen step
    places = [flow.place(key) for key in nodes]
    cells = [(column, place) for place in places for column in columns]
    found = iter(flow.pixels(cells))
    kinds = set()
    for key in nodes:
        for column in columns:
            expected = expected_color(logged, key, column, low, high)
            assert_near(next(found), expected)
            named = {frozenset(NONE): "none", frozenset({NONFINITE}): "nonfinite"}
            kinds.add(named.get(frozenset(expected), "number"))
    assert kinds == {"none", "nonfinite", "number"}


def test_a_closed_module_is_the_greatest_of_what_is_in_it(address, logdir, page):
    flow = FlowView.alone(page, address, run="training", step=str(EXPLODES))
    flow.panel.control("expand-all").click()
    flow.panel.wait_until(lambda: "parameter:head.weight" in flow.list_keys())
    keys = flow.list_keys()
    start = keys.index("head#0")
    levels = [int(flow.row(key).get_attribute("aria-level") or 0) for key in keys[start:]]
    inside = [key for key, _ in zip(keys[start + 1 :], takewhile(levels[0].__lt__, levels[1:]))]
    logged = Logged(logdir / "training")
    at = logged.steps.index(EXPLODES)
    greatest = np.nanmax([logged.column(key, "l2_norm")[at] for key in inside])
    flow.row("head#0").dblclick()
    flow.panel.wait_until(lambda: "parameter:head.weight" not in flow.list_keys())
    said = flow.point(at, flow.place("head#0"))
    flow.panel.wait_until(lambda: "max L2 norm" in said.inner_text())
    number = float(said.inner_text().split("max L2 norm ")[1].split("\n")[0].replace("−", "-"))
    assert number == pytest.approx(greatest, rel=1e-6)
    assert "greatest" in flow.panel.control("flow-told").inner_text()


def test_cursor_and_graph_are_one(address, logdir, page):
    flow = FlowView.alone(page, address, run="training", step="0")
    logged = Logged(logdir / "training")
    flow.panel.control("expand-all").click()
    flow.panel.wait_until(lambda: "parameter:body.2.weight" in flow.list_keys())
    flow.click(7, flow.place("parameter:body.2.weight"))
    flow.panel.wait_until(lambda: flow.step() == str(logged.steps[7]))
    page.wait_for_function("location.hash.includes('view=flow') && location.hash.includes('sel=')")
    page.keyboard.press("g")
    panel = flow.panel
    panel.wait_for_picture()
    item = panel.frame.locator('[role="treeitem"][data-key="parameter:body.2.weight"]')
    panel.wait_until(lambda: item.get_attribute("aria-selected") == "true")
    assert flow.step() == str(logged.steps[7])
    expected = logged.column("parameter:body.2.weight", "l2_norm")[7]
    panel.wait_until(
        lambda: (
            float(panel.items()["parameter:body.2.weight"].value)
            == pytest.approx(expected, rel=1e-4)
        )
    )
    panel.select("parameter:head.weight")
    panel.move_slider(3)
    panel.control("view-flow").click()
    flow.wait_for_cells()
    panel.wait_until(
        lambda: flow.row("parameter:head.weight").get_attribute("aria-selected") == "true"
    )
    assert flow.step() == str(logged.steps[3])
    page.keyboard.press("ArrowRight")
    panel.wait_until(lambda: flow.step() == str(logged.steps[4]))
    said = panel.control("flow-said")
    value = logged.column("parameter:head.weight", "l2_norm")[4]
    panel.wait_until(lambda: f"step {logged.steps[4]}:" in said.inner_text())
    number = float(said.inner_text().split("L2 norm ")[1])
    assert number == pytest.approx(value, rel=1e-6)


def test_the_loss_stands_above_its_steps(address, page):
    flow = FlowView.alone(page, address, run="training", step=str(BREAKS))
    scalar = flow.panel.control("scalar")
    flow.panel.wait_until(lambda: scalar.input_value() == "train/loss")
    options = scalar.locator("option").all_inner_texts()
    assert options[:2] == ["lr", "train/loss"]
    assert options[-1] == "no line"
    assert "grad_norm/backward" in options  # a number of the step
    value = flow.panel.control("scalar-value")
    flow.panel.wait_until(lambda: value.inner_text() == "+∞")
    # Where the loss is not finite there is a line of that color, above the very column.
    x, _ = flow.middle(BREAKS // EVERY, 0)
    color = flow.canvas.evaluate(
        "(canvas, x) => [...canvas.getContext('2d').getImageData("
        "Math.round(x * canvas.width / canvas.clientWidth), 30, 1, 1).data.slice(0, 3)]",
        x,
    )
    assert tuple(color) == NONFINITE
    flow.panel.control("slider").fill(str(EXPLODES // EVERY))
    flow.panel.wait_until(lambda: "e6" in value.inner_text() or len(value.inner_text()) > 5)
    assert flow.panel.control("scalar-ends").get_attribute("data-log") == "true"


def drag(page, flow: FlowView, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag from one point of the canvas to another."""
    box = flow.canvas.bounding_box()
    page.mouse.move(box["x"] + start[0], box["y"] + start[1])
    page.mouse.down()
    page.mouse.move(box["x"] + end[0], box["y"] + end[1], steps=3)
    page.mouse.up()


def test_ctrl_and_wheel_or_a_drag_over_the_line_zoom_the_steps(address, page):
    flow = FlowView.alone(page, address, run="training")
    x, y = flow.middle(10, 2)
    flow.canvas.hover(position={"x": x, "y": y})
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    flow.panel.wait_until(lambda: flow.axis("columns").unit_px > 60)
    assert flow.middle(10, 2)[0] == pytest.approx(x, abs=1)
    flow.canvas.dblclick(position={"x": x, "y": y})
    flow.panel.wait_until(lambda: flow.axis("columns").start == 0)
    drag(page, flow, (flow.middle(4, 2)[0], 20), (flow.middle(15, 2)[0], 24))
    flow.panel.wait_until(lambda: flow.axis("columns").start == 4)
    assert flow.axis("columns").end == 16
    flow.panel.control("flow-reset").click()
    flow.panel.wait_until(lambda: flow.axis("columns").end == STEPS // EVERY)


def test_the_stages_after_the_backward(address, logdir, page):
    flow = FlowView.alone(page, address, run="training", stage="applied", step="4")
    logged = Logged(logdir / "training", "applied")
    assert flow.axis("columns").count == len(logged.steps)
    value = logged.column("parameter:head.bias", "l2_norm")[logged.steps.index(4)]
    flow.panel.control("expand-all").click()
    row = flow.row("parameter:head.bias")
    row.wait_for()
    said = flow.point(logged.steps.index(4), flow.place("parameter:head.bias"))
    flow.panel.wait_until(lambda: "L2 norm" in said.inner_text())
    number = float(said.inner_text().split("L2 norm ")[1].split("\n")[0])
    assert number == pytest.approx(value, rel=1e-6)
    assert all("/" not in key for key in flow.list_keys())


def test_one_step(address, page):
    flow = FlowView.alone(page, address, run="one")
    assert flow.axis("columns").count == 1
    assert flow.axis("columns").unit_px <= 120
    assert flow.panel.control("scalar").input_value() == ""  # it offers the norm of all gradients
    flow.panel.control("flow-rows").focus()
    page.keyboard.press("ArrowDown")
    flow.panel.wait_until(lambda: "step 0: " in flow.panel.control("flow-said").inner_text())
    for key in ("+", "-", "]", "[", "f", "Enter", "End"):
        page.keyboard.press(key)
    assert flow.axis("columns").count == 1


def test_only_nan(address, page):
    flow = FlowView.alone(page, address, run="nan", step="0")
    flow.panel.control("expand-all").click()
    row = flow.row("parameter:weight")
    row.wait_for()
    assert row.get_attribute("data-value") == "NaN / inf"
    assert flow.pixels([(1, flow.place("parameter:weight"))]) == [NONFINITE]
    assert flow.panel.control("scalar-value").inner_text() == "NaN"


def test_no_gradients_at_all(address, page):
    flow = FlowView.alone(page, address, run="none")
    flow.panel.control("no-gradients").wait_for()
    (color,) = flow.pixels([(0, flow.axis("rows").count - 1)])
    assert color in NONE


def test_the_view_belongs_to_the_link(address, page):
    panel = Panel.open(page, address, run="training")
    panel.control("view-flow").click()
    FlowView(panel).wait_for_cells()
    page.wait_for_function("location.hash.includes('p.gradgraph.view=flow')")
    page.reload()
    FlowView(Panel(page, panel.frame)).wait_for_cells()
