"""Logs at the edges, in Graph, Flow and Charts: what a person sees of each is sensible, and calm."""

from __future__ import annotations

import pathlib

import pytest
from playwright.sync_api import Locator, Page

from tests.browser import bad_logs
from tests.browser.flow_oracle import NONE, NONFINITE
from tests.browser.flow_view import FlowView
from tests.browser.panel import Panel

pytestmark = pytest.mark.browser

MANY = "tags"  # has thousands
NO_NUMBER = "No finite number at any step."


@pytest.fixture(scope="module")
def address(tensorboard_server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A TensorBoard with every bad log as a run, but the one that takes long to list."""
    root = tmp_path_factory.mktemp("bad")
    for name, write in bad_logs.LOGS.items():
        if name != MANY:
            write(root / name)
    return tensorboard_server(root)


def open_graph(page: Page, address: str, run: str) -> Panel:
    """Open a run with every box open; one with hostile names where they could bite TensorBoard too."""
    open_panel = Panel.open if run == bad_logs.HOSTILE_RUN else Panel.alone
    panel = open_panel(page, address, run=run)
    panel.wait_until(lambda: panel.control("step-count").is_visible())
    panel.control("expand-all").click()
    page.wait_for_timeout(300)
    return panel


def show_flow(panel: Panel) -> FlowView:
    """Go over to the heat map, with every row open."""
    panel.control("view-flow").click()
    flow = FlowView(panel)
    flow.wait_for_cells()
    panel.control("expand-all").click()
    flow.settle()
    return flow


def show_chart(panel: Panel, *searched: str) -> Locator:
    """Go over to the charts and add what is found."""
    panel.control("view-charts").click()
    pins = panel.control("charts-lines").locator("[data-pin]")
    for text in searched:
        before = pins.count()
        panel.control("find").fill(text)
        panel.control("find").press("Enter")
        panel.wait_until(lambda before=before: pins.count() > before)
    lines = panel.control("charts-lines").locator("[data-line]")
    panel.wait_until(lambda: lines.count() == pins.count())
    return panel.control("charts").get_by_test_id("chart")


def is_on_top(locator: Locator) -> bool:
    """Return whether nothing covers the middle of an element."""
    return locator.evaluate("""element => {
      const {left, top, width, height} = element.getBoundingClientRect();
      return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    }""")


def go_to_step(panel: Panel, step: int) -> None:
    panel.control("step").fill(str(step))
    panel.control("step").press("Enter")


def test_one_step_of_one_node(address: str, page: Page):
    panel = open_graph(page, address, "one")
    panel.wait_until(lambda: panel.items()["leaf:x"].state == "number")
    (box,) = panel.items().values()
    assert (box.name, box.value) == ("x", "-32")
    assert panel.control("step-count").inner_text() == "1 of 1"
    assert panel.control("slider").is_disabled()
    flow = show_flow(panel)
    (color,) = flow.pixels([(0, 0)])
    assert "#{:02x}{:02x}{:02x}".format(*color) == box.color
    assert (flow.axis("columns").count, flow.axis("rows").count) == (1, 1)
    assert show_chart(panel, "x").get_attribute("data-points") == "1"
    assert panel.control("charts-lines").inner_text().split() == ["x", "\N{MINUS SIGN}32"]


def test_no_gradients_at_all(address: str, page: Page):
    panel = open_graph(page, address, "none")
    said = panel.control("no-gradients")
    assert "No backward has run over this graph yet" in said.inner_text()
    assert {item.state for item in panel.items().values()} == {"none"}
    flow = show_flow(panel)
    assert "No backward has run over this graph yet" in said.inner_text()
    assert is_on_top(said)
    cells = [(0, row) for row in range(flow.axis("rows").count)]
    assert len(cells) > 3
    assert set(flow.pixels(cells[3:])) <= set(NONE)
    assert show_chart(panel, "leaf").get_attribute("data-points") == "0"
    assert NO_NUMBER in panel.control("charts").inner_text()


def test_only_nan(address: str, page: Page):
    panel = open_graph(page, address, "nan")
    parameters = {"0.weight", "0.bias", "2.weight", "2.bias"}
    keys = {f"parameter:{name}" for name in parameters}
    panel.wait_until(lambda: {panel.items()[key].state for key in keys} == {"nonfinite"})
    assert "number" not in {item.state for item in panel.items().values()}
    panel.wait_until(lambda: panel.control("findings").inner_text() == "1 finding")  # one cause
    assert panel.control("bad-steps").get_attribute("data-steps") == "0,1,2"
    flow = show_flow(panel)
    cells = [(step, flow.place(key)) for step in range(3) for key in keys]
    assert set(flow.pixels(cells)) == {NONFINITE}
    panel.wait_until(lambda: panel.control("scalar-value").inner_text() == "NaN")
    assert show_chart(panel, "0.weight").get_attribute("data-points") == "0"
    assert NO_NUMBER in panel.control("charts").inner_text()


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_tags(
    count: int, tensorboard_server, tmp_path: pathlib.Path, page: Page, monkeypatch
):
    monkeypatch.setattr(bad_logs, "TAGS", count)
    bad_logs.LOGS[MANY](tmp_path / MANY)
    panel = open_graph(page, tensorboard_server(tmp_path), MANY)
    tags = panel.control("tag").locator("option")
    panel.wait_until(lambda: tags.count() == bad_logs.TAGS)
    last = f"net {bad_logs.TAGS - 1}"
    panel.control("tag").select_option(last)
    panel.wait_until(lambda: f"tag={last}" in page.evaluate("decodeURIComponent(location.hash)"))
    panel.wait_until(lambda: panel.items()["parameter:lin.w"].value == "-32")
    flow = show_flow(panel)
    assert flow.axis("columns").count == 1
    scalars = panel.control("scalar")
    panel.wait_until(lambda: scalars.locator("option").count() == bad_logs.TAGS + 1)
    scalars.select_option(f"scalar/{bad_logs.TAGS - 1:05}")
    panel.wait_until(lambda: panel.control("scalar-value").inner_text() == str(bad_logs.TAGS - 1))
    assert show_chart(panel, "lin.w").get_attribute("data-points") == "1"


def test_two_sessions_that_overlap(address: str, page: Page):
    panel = open_graph(page, address, "overlapping")
    steps = bad_logs.SECOND.stop
    assert panel.control("step-count").inner_text() == f"{steps} of {steps}"
    # From the second one's first step on its records stand for the run, and none of the first.
    for step in range(steps):
        go_to_step(panel, step)
        expected = "2" if step in bad_logs.SECOND else "1"
        panel.wait_until(
            lambda expected=expected: panel.items()["parameter:weight"].gradient == expected
        )
    flow = show_flow(panel)
    row = flow.place("parameter:weight")
    first, *others = flow.pixels([(step, row) for step in range(steps)])
    begins = bad_logs.SECOND.start
    assert set(others[: begins - 1]) == {first}
    assert len(set(others[begins - 1 :])) == 1
    assert others[-1] != first
    assert show_chart(panel, "weight").get_attribute("data-points") == str(steps)


def test_a_graph_that_changes_every_step(address: str, page: Page):
    panel = open_graph(page, address, "changing")
    layers = bad_logs.LAYERS
    structures = panel.control("hash").locator("option")
    assert structures.count() == layers
    for step in (0, 3, layers - 1):
        go_to_step(panel, step)
        panel.wait_until(lambda step=step: count_layers(panel) == step + 1)
        panel.wait_until(
            lambda step=step: panel.items()[f"parameter:{step}.bias"].state == "number"
        )
    flow = show_flow(panel)
    assert flow.axis("columns").count == layers
    for layer in range(layers):
        row = flow.place(f"parameter:{layer}.bias")
        colors = flow.pixels([(step, row) for step in range(layers)])
        assert [color in NONE for color in colors] == [step < layer for step in range(layers)]
    chart = show_chart(panel, "0.bias", f"{layers - 2}.bias")
    assert chart.get_attribute("data-points") == str(layers + 2)


def count_layers(panel: Panel) -> int:
    """Count what is drawn of the net; equal layers may be folded into one box."""
    panel.control("expand-all").click()
    return sum(f"parameter:{layer}.bias" in panel.items() for layer in range(bad_logs.LAYERS))


def assert_only_text(panel: Panel) -> None:
    """No element and no script came of a name, and nothing is wider than its place."""
    for frame in panel.page.frames:
        assert frame.locator(".hostile").count() == 0
        assert frame.evaluate("window.hostile") is None
    for part in ("panel", "card", "charts", "flow"):
        for found in panel.control(part).all():
            assert found.evaluate("part => part.scrollWidth - part.clientWidth") <= 0, part


def test_hostile_names_are_text_in_the_graph(address: str, page: Page):
    panel = open_graph(page, address, bad_logs.HOSTILE_RUN)
    panel.wait_until(lambda: set(bad_logs.HOSTILE_NAMES) <= set(panel.list_names()))
    assert panel.control("tag").input_value() == bad_logs.HOSTILE_TAG
    assert panel.control("run").input_value() == bad_logs.HOSTILE_RUN
    boxes = panel.frame.locator('[role="treeitem"]')
    for index in range(boxes.count()):
        boxes.nth(index).dispatch_event("click")
        key = boxes.nth(index).get_attribute("data-key")
        panel.wait_until(lambda key=key: panel.control("card").get_attribute("data-key") == key)
        panel.control("card").locator("h2").wait_for()
        assert_only_text(panel)
    assert bad_logs.HOSTILE_OPERATION in panel.list_names()
    panel.control("compare").click()
    panel.control("compare-bar").wait_for()
    assert_only_text(panel)


def test_hostile_names_are_text_where_they_are_found(address: str, page: Page):
    panel = open_graph(page, address, bad_logs.HOSTILE_RUN)
    panel.control("find").fill("n")
    options = panel.control("found").get_by_role("option")
    options.first.wait_for()
    assert max(option.bounding_box()["height"] for option in options.all()) < 90
    assert_only_text(panel)
    panel.control("find").fill(bad_logs.HOSTILE_NAMES[0])
    panel.control("find").press("Enter")
    panel.control("card").wait_for()
    assert bad_logs.HOSTILE_NAMES[0] in panel.control("card").inner_text()


def test_hostile_names_are_text_in_flow_and_charts(address: str, page: Page):
    panel = open_graph(page, address, bad_logs.HOSTILE_RUN)
    flow = show_flow(panel)
    names = flow.rows().locator("bdi").all_text_contents()
    assert set(bad_logs.HOSTILE_NAMES) <= set(names)
    turned = flow.rows().filter(has_text="\N{RIGHT-TO-LEFT OVERRIDE}").first
    title, kind = (turned.locator(part).bounding_box() for part in ("bdi", ".faint"))
    assert title["x"] + title["width"] <= kind["x"] + 1, "the name turned what follows it"
    panel.control("scalar").select_option(bad_logs.HOSTILE_NAMES[0])
    panel.wait_until(lambda: panel.control("scalar-value").inner_text() == "1")
    flow.point(0, int(flow.axis("rows").end) - 1).wait_for()  # the last one in sight
    assert_only_text(panel)
    chart = show_chart(panel, bad_logs.HOSTILE_NAMES[0])
    panel.wait_until(lambda: int(chart.get_attribute("data-points") or 0) > 2)
    shown = panel.control("charts-lines").inner_text()
    assert all(name.split("\n")[0] in shown for name in bad_logs.HOSTILE_NAMES)
    assert_only_text(panel)
