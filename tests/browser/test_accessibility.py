"""What axe-core says of the whole page: of the tab's frame and of an exported file, in both color schemes."""

from __future__ import annotations

import pathlib

import pytest
from playwright.sync_api import Page

from tb_gradgraph.commands import main as cli
from tests.browser.panel import Panel

pytestmark = pytest.mark.browser

AXE = pathlib.Path(__file__).parents[2] / "frontend/node_modules/axe-core/axe.min.js"
VIEWS = ("graph", "flow", "charts")


def list_violations(page: Page) -> list[str]:
    """Run every rule of axe-core over the page; a line for each element that breaks one."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(
        """async () => (await axe.run(document)).violations.flatMap(({id, nodes}) =>
             nodes.map(({html}) => `${id}: ${html.slice(0, 200)}`))"""
    )


@pytest.fixture(params=["frame", "file"])
def place(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> str:
    """The address of the panel, alone on its page."""
    if not AXE.exists():
        pytest.skip("no axe-core; npm ci in frontend/ installs it")
    if request.param == "frame":
        address = request.getfixturevalue("address")
        return f"{address}data/plugin_entry.html?name=gradgraph"
    file = tmp_path / "graph.html"
    run = request.getfixturevalue("logdir") / "digits"
    assert cli.main(["export", "--html", str(run), str(file)]) == 0
    return file.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_is_broken_in_any_view(place: str, page: Page, scheme: str):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{place}#p.gradgraph.run=digits&p.gradgraph.sel=parameter:head.weight")
    panel = Panel(page, page)
    panel.wait_for_picture()
    panel.control("card").wait_for()
    assert panel.control("panel").get_attribute("data-theme") == scheme
    for view in VIEWS:
        panel.control(f"view-{view}").click()
        page.wait_for_timeout(600)  # what fades in is then there
        assert (view, list_violations(page)) == (view, [])


def test_chosen_view_is_marked_in_the_colors_of_the_system(address: str, page: Page):
    page.emulate_media(forced_colors="active")
    panel = Panel.alone(page, address, run="chain_rule")
    read = "button => getComputedStyle(button).backgroundColor"
    chosen, other = (panel.control(f"view-{view}").evaluate(read) for view in ("graph", "flow"))
    assert chosen != other
    ramp = panel.control("legend").locator(".ramp")
    assert "gradient" in ramp.evaluate("ramp => getComputedStyle(ramp).backgroundImage")
    page.emulate_media(forced_colors="null")


@pytest.mark.parametrize(("width", "rows"), [(1280, 1), (1440, 1), (800, 2)])
def test_toolbar_has_as_many_rows_as_the_width_says_and_nothing_is_cut_off(
    address: str, page: Page, width: int, rows: int
):
    page.set_viewport_size({"width": width, "height": 600})
    panel = Panel.alone(page, address, run="detached")
    panel.control("findings").wait_for()  # what could need one more row
    bar = page.locator(".toolbar")
    assert bar.bounding_box()["height"] < 45 + 34 * (rows - 1)
    overhang = "bar => bar.scrollWidth - bar.clientWidth"
    assert bar.evaluate(overhang) <= 0
    for choice in ("run", "tag", "statistic"):
        assert panel.control(choice).bounding_box()["width"] >= 66
    panel.control("compare").click()
    panel.control("compare-bar").wait_for()
    assert panel.control("compare-bar").evaluate(overhang) <= 0
