"""The panel in a real browser, in a real TensorBoard, on the logs of the demos."""

from __future__ import annotations

import pytest

from tests.browser.panel import Panel
from tests.logged import read_one_run

pytestmark = pytest.mark.browser

#: Loader and prefix of the address, each of which changes what the panel is served by.
SERVERS = [(True, ""), (False, ""), (True, "/foo/bar"), (False, "/foo/bar")]
ROW_3 = {"leaf:x": (3, 4), "/AddBackward0.0": (4, -4), "/MulBackward0.0": (6, 4)}


@pytest.mark.parametrize(("load_fast", "path_prefix"), SERVERS)
def test_chain_rule_shows_every_node_with_its_numbers(
    load_fast: bool, path_prefix: str, tensorboard_server, logdir, page
):
    address = tensorboard_server(logdir, load_fast=load_fast, path_prefix=path_prefix)
    panel = Panel.open(page, address, run="chain_rule")
    run = read_one_run(logdir / "chain_rule")
    (graph,) = run.graphs.values()
    items = panel.items()
    assert set(items) == {node.key for node in graph.nodes}
    for key, (value, gradient) in ROW_3.items():
        panel.wait_until(lambda key=key: panel.items()[key].gradient is not None)
        item = panel.items()[key]
        assert (float(item.whole_value), float(item.gradient)) == (value, gradient)
        panel.select(key)
        assert (panel.whole("value"), panel.whole("gradient")) == ([value], [gradient])


def test_edges_into_x_carry_their_own_shares(address, page):
    panel = Panel.alone(page, address, run="chain_rule", dir="backward")
    panel.wait_until(lambda: "none" not in {edge["grad"] for edge in panel.edges()})
    shares = {
        edge["target"]: float(edge["grad"]) for edge in panel.edges() if edge["source"] == "leaf:x"
    }
    assert shares == {"/AddBackward0.0": -4, "/MulBackward0.0": 8}


def numbers_of(panel: Panel) -> dict[str, str]:
    """Return what is written on the boxes: they follow the record, and colors follow the scale too."""
    return {key: item.value for key, item in panel.items().items()}


@pytest.mark.parametrize("load_fast", [True, False])
def test_slider_changes_the_colors_and_not_the_layout(load_fast, tensorboard_server, logdir, page):
    address = tensorboard_server(logdir, load_fast=load_fast)
    panel = Panel.alone(page, address, run="digits")
    steps = [record.step for record in read_one_run(logdir / "digits").records]
    panel.wait_until(lambda: "number" in {item.state for item in panel.items().values()})
    numbers = numbers_of(panel)  # of the last step, at which it opens
    panel.move_slider(0)
    panel.wait_until(lambda: panel.control("step").input_value() == "0")
    panel.wait_until(lambda: numbers_of(panel) != numbers)
    first, places = panel.colors(), panel.places()
    panel.move_slider(len(steps) - 1)
    panel.wait_until(lambda: panel.control("step").input_value() == str(steps[-1]))
    panel.wait_until(lambda: numbers_of(panel) == numbers)
    panel.wait_until(lambda: panel.colors() != first)
    last = panel.colors()
    assert panel.places() == places
    changed = {key for key in last if last[key] != first[key]}
    with_gradient = {key for key, item in panel.items().items() if item.state == "number"}
    assert len(with_gradient) >= 10
    assert len(changed) >= len(with_gradient) / 2
    assert changed <= with_gradient


def test_direction_turns_the_drawing(address, page):
    panel = Panel.alone(page, address, run="two_drawings", tag="tensors")
    before = panel.places()
    now = panel.control("direction").get_attribute("data-value")
    panel.control("direction-forward" if now == "backward" else "direction-backward").click()
    panel.wait_until(lambda: panel.control("direction").get_attribute("data-value") != now)
    assert set(panel.places()) == set(before)


def test_input_without_gradient_is_drawn_and_leaves_are_told_apart(address, page):
    panel = Panel.alone(page, address, run="two_drawings", tag="tensors")
    panel.wait_until(lambda: panel.items()["leaf:w1"].gradient is not None)
    items = panel.items()
    assert items["input:input"].state == "none"
    assert [float(items[f"leaf:w{nr}"].gradient) for nr in (1, 2, 3)] == [28, 8, 10]


def test_runs_are_picked_in_the_panel(address, page):
    panel = Panel.open(page, address, run="chain_rule")
    panel.control("run").select_option("notebook_net")
    panel.wait_until(lambda: "input:x" in panel.items())
    panel.wait_until(lambda: "p.gradgraph.run=notebook_net" in page.evaluate("location.hash"))


def test_link_opens_the_same_view(address, page):
    panel = Panel.open(
        page, address, run="digits", step="100", stat="abs_max", sel="parameter:head.bias"
    )
    panel.control("card").wait_for()
    assert panel.control("card").get_attribute("data-key") == "parameter:head.bias"
    assert panel.control("step").input_value() == "100"
    assert panel.control("statistic").input_value() == "abs_max"


def test_node_card_draws_the_statistic_over_the_steps(address, logdir, page):
    panel = Panel.alone(page, address, run="digits")
    card = panel.select("parameter:head.bias")
    chart = card.get_by_test_id("chart")
    chart.wait_for()
    run = read_one_run(logdir / "digits")
    records = [record for record in run.records if record.stage == "backward"]
    panel.wait_until(lambda: chart.get_attribute("data-points") == str(len(records)))


def test_empty_log_directory_says_which_line_to_add(tensorboard_server, tmp_path, page):
    empty = Panel.alone_unawaited(page, tensorboard_server(tmp_path)).control("empty")
    empty.wait_for()
    assert "writer.watch(model" in empty.inner_text()


def test_dark_mode_follows_tensorboard(address, page):
    page.emulate_media(color_scheme="dark")
    panel = Panel.open(page, address, run="chain_rule")
    panel.wait_until(lambda: panel.control("panel").get_attribute("data-theme") == "dark")


def test_standard_graphs_dashboard_lists_both_graphs(address, page):
    answer = page.request.get(f"{address}data/plugin/graphs/info")
    run = answer.json()["notebook_net"]
    assert run["run_graph"]  # the user's own add_graph
    assert any(tag.startswith("gradgraph/") for tag in run["tags"])


def test_keys_work_as_soon_as_the_tab_is_shown(address, page):
    panel = Panel.open(page, address, run="chain_rule")
    page.keyboard.press("3")
    panel.wait_until(lambda: panel.control("view").get_attribute("data-value") == "charts")
