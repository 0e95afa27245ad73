"""What the documents' examples are to make visible is visible in the panel."""

from __future__ import annotations

import re

import pytest

from tests.browser.panel import Panel
from tests.logged import read_one_run, read_record, read_tensor

pytestmark = pytest.mark.browser


def wait_for_numbers(panel: Panel) -> None:
    """Wait until the gradients of the step are drawn."""
    panel.wait_until(lambda: any(item.state == "number" for item in panel.items().values()))


def fact(panel: Panel, name: str) -> str:
    """Read one line of the card."""
    return panel.control("card").locator(f'[data-fact="{name}"]').inner_text()


def test_row_2_custom_function_has_its_name_and_its_classes_line(address, page):
    panel = Panel.alone(page, address, run="custom_function")
    wait_for_numbers(panel)
    assert panel.items()["/MyReLU.0"].name == "Y_hat · MyReLU"
    panel.select("/MyReLU.0")
    assert fact(panel, "operation") == "MyReLU"
    assert re.search(
        r"Function MyReLU, .*custom_function\.py:10$", panel.control("note").inner_text()
    )
    panel.select("leaf:w")
    assert panel.whole("gradient") == [4.5, 4.5]


def test_row_3_card_of_x_adds_up_its_two_shares(address, page):
    panel = Panel.alone(page, address, run="chain_rule")
    wait_for_numbers(panel)
    card = panel.select("leaf:x")
    shares = card.get_by_test_id("shares")
    shares.wait_for()
    read = "rows => rows.map(row => Number(row.dataset.share))"
    assert sorted(shares.locator("[data-share]").evaluate_all(read)) == [-4, 8]
    assert shares.locator("[data-sum]").get_attribute("data-sum") == "4"


ROW_4 = {
    "leaf:x": ("true", "false", 4),
    "/AddBackward0.0": ("false", "false", -4),
    "/MulBackward0.0": ("false", "false", 4),
    "/PowBackward0.0": ("false", "true", 1),
}


def test_row_4_leaf_and_retained_are_marked(address, page):
    panel = Panel.alone(page, address, run="leaves")
    wait_for_numbers(panel)
    for key, (leaf, retains, gradient) in ROW_4.items():
        item = panel.items()[key]
        assert (item.is_leaf, item.retains) == (leaf == "true", retains == "true")
        panel.select(key)
        marks = panel.control("marks")
        found = [marks.get_attribute(f"data-{name}") for name in ("leaf", "retains-grad")]
        assert (found, panel.whole("gradient")) == ([leaf, retains], [gradient])
    assert "retains grad" in panel.control("signs").inner_text()


ROW_6 = {
    "leaf:w1": "value 2  grad 28",
    "leaf:w2": "value 3  grad 8",
    "leaf:w3": "value 4  grad 10",
    "/MulBackward0.0": "value 2  grad 7 each",
    "/AddBackward0.0": "value 5  grad 2 each",
    "/MulBackward0.1": "value 8  grad 1.25 each",
    "/MulBackward0.2": "value 40  grad 0.25 each",
    "root:loss": "value 40  seed 1",
}


def test_row_6_values_and_gradients_stand_on_both_drawings(address, page):
    panel = Panel.alone(page, address, run="two_drawings", tag="tensors")
    wait_for_numbers(panel)
    drawn = panel.control("direction")
    for direction in ("forward", "backward"):
        panel.control(f"direction-{direction}").click()
        panel.wait_until(lambda is_now=direction: drawn.get_attribute("data-value") == is_now)
        items = panel.items()
        assert {key: items[key].detail for key in ROW_6} == ROW_6
    assert {key for key, item in items.items() if item.is_leaf and item.kind == "leaf"} == {
        "leaf:w1", "leaf:w2", "leaf:w3",
    }  # fmt: skip
    assert (items["input:input"].state, items["input:input"].kind) == ("none", "input")


@pytest.mark.parametrize(("of", "orders", "gradient"), [("z", {1}, 12), ("dx", {2}, 6)])
def test_row_8_second_order_is_drawn_apart(address, page, of: str, orders: set[int], gradient):
    panel = Panel.alone(page, address, run="second_order", tag=f"backward, backward: {of}")
    wait_for_numbers(panel)
    items = panel.items()
    assert {item.order for item in items.values() if item.kind == "operation"} == orders
    assert float(items["leaf:x"].gradient) == gradient
    if of == "dx":
        assert "second order" in panel.control("signs").inner_text()
        panel.select("/MulBackward0.0")
        assert fact(panel, "order") == "2: made while a backward ran with create_graph"
    else:
        assert panel.control("signs").count() == 0


SEEDS = {
    "two losses": {"root:squares": "value 5  seed 0.5", "root:triples": "value 9  seed 2"},
    "grad_outputs": {"root:y": "value [1, 4]  seed 1 each"},
}


def test_row_10_roots_show_the_gradient_that_they_begin_with(address, page):
    panel = Panel.alone(page, address, run="vector_output", tag="two losses")
    for tag, seeds in SEEDS.items():
        panel.choose_tag(tag)
        panel.wait_until(lambda seeds=seeds: seeds.keys() <= panel.items().keys())
        panel.wait_until(lambda: panel.items()["leaf:x"].state == "number")
        items = panel.items()
        assert {key: item.detail for key, item in items.items() if item.kind == "root"} == seeds


def test_row_13_cut_is_a_cut_and_what_lies_behind_it_says_so(address, page):
    panel = Panel.alone(page, address, run="detached")
    wait_for_numbers(panel)
    cuts = [(edge["source"], edge["target"]) for edge in panel.edges() if edge["cut"] == "true"]
    assert cuts == [("A#0/AddmmBackward0.0", "#0/detach.0")]
    assert panel.items()["#0/detach.0"].detail == "gradient stops here"
    assert "cut" in panel.control("signs").inner_text()
    for name in ("weight", "bias"):
        item = panel.items()[f"parameter:A.{name}"]
        assert (item.state, item.detail.endswith("cut off")) == ("none", True)
        panel.select(item.key)
        assert "Cut off from the loss by detach" in panel.control("note").inner_text()


def test_row_14_versions_of_a_tensor_are_two_nodes_that_name_each_other(address, page):
    panel = Panel.alone(page, address, run="in_place", tag="versions")
    wait_for_numbers(panel)
    versions = [key for key, item in panel.items().items() if item.name.startswith("y ")]
    assert versions == ["#0/MulBackward0.0", "#0/MulBackward0.1"]
    card = panel.select(versions[0])
    link = card.get_by_test_id("namesakes").get_by_role("button")
    assert link.get_attribute("data-key") == versions[1]


def test_row_15_inner_and_outer_gradients_are_told_apart(address, logdir, page):
    panel = Panel.alone(page, address, run="meta_learning", tag="query", step="0")
    wait_for_numbers(panel)
    orders = {item.name: item.order for item in panel.items().values()}
    assert (orders["inner · mv"], orders["fast_w · sub"]) == (2, 1)
    run = read_one_run(logdir / "meta_learning")
    outer = read_tensor(run, read_record(run, "query", 0), "w").gradient.tolist()
    panel.select("leaf:w")
    assert panel.whole("gradient") == pytest.approx(outer, rel=1e-5)

    panel.choose_tag("support")
    panel.wait_until(lambda: "root:support_loss" in panel.items())
    panel.select("leaf:w")
    panel.control("step").fill("0")
    panel.control("step").press("Enter")
    for backward_pass, gradient in (("0", [0, 6]), ("1", outer)):
        panel.control("pass").select_option(backward_pass)
        expected = pytest.approx(gradient, rel=1e-5)
        panel.wait_until(lambda expected=expected: panel.whole("gradient") == expected)


def test_two_backward_passes_of_one_graph_are_chosen_between(address, page):
    panel = Panel.alone(page, address, run="linear_fit", tag="retained", **{"pass": "0"})
    passes = panel.control("pass")
    assert passes.locator("option").all_inner_texts() == ["1 of 2", "2 of 2"]
    for chosen in ("1", "0"):
        passes.select_option(chosen)
        panel.wait_until(lambda: panel.items()["leaf:b"].gradient == "1")
    assert "p.gradgraph.run=linear_fit" in page.evaluate("location.hash")


def test_retained_gradients_are_pictures_with_numbers_under_the_pointer(address, logdir, page):
    panel = Panel.alone(page, address, run="digits", step="0", sel="parameter:head.weight")
    picture = panel.control("whole-gradient")
    picture.wait_for()
    shown = [picture.get_attribute(f"data-{name}") for name in ("columns", "rows", "nonfinite")]
    assert shown == ["512", "10", "0"]
    canvas = picture.locator("canvas")
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 1.2, box["y"] + box["height"] - 3)
    text = panel.control("whole-gradient-pointed")
    panel.wait_until(lambda: "=" in text.inner_text())
    index, number = re.fullmatch(r"\[9, (\d+)\] = (\S+)", text.inner_text()).groups()
    run = read_one_run(logdir / "digits")
    gradient = read_tensor(run, read_record(run, step=0), "head.weight").gradient
    shown = float(number.replace("\N{MINUS SIGN}", "-"))
    assert shown == pytest.approx(gradient[9, int(index)], rel=1e-2)
