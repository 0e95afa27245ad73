"""To the same node in TensorBoard's own Graphs dashboard, and back to the one that was chosen there."""

from __future__ import annotations

import collections

import pytest
import torch
from playwright.sync_api import Page

import tb_gradgraph
from tests.browser.panel import Panel

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tensorboard_server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A TensorBoard with two runs, of which the second one is looked at."""
    directory = tmp_path_factory.mktemp("dashboard")
    for run in ("another", "digits"):
        head = torch.nn.Sequential(collections.OrderedDict(head=torch.nn.Linear(3, 2)))
        with tb_gradgraph.SummaryWriter(str(directory / run)) as writer:
            writer.add_graph(head, torch.ones(1, 3))
            writer.add_grad_graph(head, torch.ones(1, 3), tag="Net")
    return tensorboard_server(directory)


_SELECTED = """
() => {
  const dashboard = document.querySelector('tf-graph-dashboard');
  const controls = dashboard?.shadowRoot?.querySelector('tf-graph-controls');
  const { run, tag } = controls?.selection ?? {};
  return [run, tag, dashboard?._selectedNode ?? null];
}
"""


def selected(page: Page) -> list[str | None]:
    """Read run, tag and node of the Graphs dashboard."""
    return page.evaluate(_SELECTED)


def test_a_node_is_shown_in_the_dashboard_and_back(address, page):
    panel = Panel.open(page, address, run="digits", sel="parameter:head.weight")
    panel.control("to-dashboard").click()
    panel_text = panel.control("to-dashboard").get_attribute("title") or ""
    expected = ["digits", "gradgraph/Net", panel_text.split()[1]]
    panel.wait_until(lambda: selected(page) == expected)
    name = expected[2].replace("weight", "bias")
    node = page.locator(f'tf-graph-dashboard g.node[data-name="{name}"] > g.nodeshape')
    node.first.click()
    panel.wait_until(lambda: selected(page)[2] == name)
    page.get_by_text("Grad Graph", exact=True).first.click()
    card = panel.control("card")
    panel.wait_until(lambda: card.get_attribute("data-key") == "parameter:head.bias")


# TensorBoard builds the drawing of a graph some time after its hierarchy; here, after that many milliseconds.
_BUILD_LATE = """
ms => customElements.whenDefined('tf-graph').then(graph => {
  const build = graph.prototype._buildRenderHierarchy;
  graph.prototype._buildRenderHierarchy = function (hierarchy) {
    setTimeout(() => build.call(this, hierarchy), ms);
  };
})
"""


def test_a_node_is_selected_once_the_drawing_is_built(address, page):
    panel = Panel.open(page, address, run="digits", sel="parameter:head.weight")
    page.evaluate(_BUILD_LATE, 2000)
    panel.control("to-dashboard").click()
    name = (panel.control("to-dashboard").get_attribute("title") or "").split()[1]
    page.locator(f'tf-graph-dashboard g.node[data-name="{name}"]').wait_for()
    assert selected(page) == ["digits", "gradgraph/Net", name]


def test_without_such_a_dashboard_nothing_is_offered_and_nothing_breaks(address, page):
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    page.goto(
        f"{address}data/plugin_entry.html?name=gradgraph#p.gradgraph.sel=parameter:head.weight&p.gradgraph.run=digits"
    )
    page.get_by_test_id("card").wait_for()
    assert page.get_by_test_id("to-dashboard").count() == 0


def test_a_graph_that_the_dashboard_lacks_ends_at_the_dashboard(address, page):
    panel = Panel.open(page, address, run="digits", sel="parameter:head.weight")
    page.evaluate("document.querySelector('tf-graph-dashboard')?.remove()")
    panel.control("to-dashboard").click()
    page.wait_for_url("**/#graphs*")
