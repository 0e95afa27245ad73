"""Comparison, charts and profiles in a real browser and TensorBoard, against plain torch."""

from __future__ import annotations

import pathlib
import re

import pytest
from playwright.sync_api import Locator

from tests.browser.compared_runs import (
    CALLS,
    STEPS,
    plain_norms,
    plain_parts,
    plain_profile,
    watched,
    write_tied,
    write_unrolled,
)
from tests.browser.flow_view import FlowView
from tests.browser.panel import Panel

pytestmark = pytest.mark.browser

SHARED = ("trunk.0.weight", "trunk.2.bias", "head.weight")
STEP = 7


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("compared")
    watched(root / "wide", deep=False)
    watched(root / "deep", deep=True)
    write_unrolled(root / "unrolled")
    write_tied(root / "tied")
    return root


@pytest.fixture
def address(tensorboard_server, logdir: pathlib.Path) -> str:
    return tensorboard_server(logdir)


def box(panel: Panel, key: str) -> Locator:
    return panel.frame.locator(f'[role="treeitem"][data-key="{key}"]')


def ratio(panel: Panel, key: str) -> float:
    return float(box(panel, key).get_attribute("data-ratio") or "nan")


def wait_for_comparison(panel: Panel, there: str) -> None:
    bar = panel.control("compare-bar")
    panel.wait_until(
        lambda: (
            (bar.get_attribute("data-there"), bar.get_attribute("data-ready")) == (there, "true")
        )
    )


def test_two_runs_by_the_ratio_of_their_gradients(address: str, page):
    wide, deep = plain_norms(deep=False)[STEP], plain_norms(deep=True)[STEP]
    panel = Panel.alone(
        page, address, run="wide", step=str(STEP), **{"vs.run": "deep", "vs.step": "same"}
    )
    wait_for_comparison(panel, f"deep\nnet\n{STEP}\nbackward")
    panel.control("expand-all").click()
    panel.wait_until(lambda: box(panel, "parameter:gate.weight").count() == 1)
    for name in SHARED:
        assert ratio(panel, f"parameter:{name}") == pytest.approx(wide[name] / deep[name], rel=1e-4)
    assert box(panel, "parameter:gate.weight").get_attribute("data-only") == "true"
    only_wide = [name for name in wide if name not in deep]
    only_deep = [name for name in deep if name not in wide]
    assert only_wide == ["gate.weight", "gate.bias"]
    assert only_deep == ["trunk.4.weight", "trunk.4.bias"]
    for name in only_deep:  # drawn too, with its number there
        ghost = box(panel, f"parameter:{name}")
        assert ghost.get_attribute("data-ghost") == "true"
        assert float(ghost.get_attribute("data-there")) == pytest.approx(deep[name], rel=1e-4)
    # What is greater here is orange, what is smaller blue.
    for name in SHARED:
        red, _, blue = bytes.fromhex(
            box(panel, f"parameter:{name}").get_attribute("data-color")[1:]
        )
        assert (red > blue) == (wide[name] > deep[name])
    card = panel.select("parameter:trunk.0.weight")
    line = card.locator("[data-statistic=l2_norm]").first
    values = [float(line.get_attribute(f"data-{name}")) for name in ("value", "there", "ratio")]
    norms = wide["trunk.0.weight"], deep["trunk.0.weight"]
    assert values == pytest.approx([*norms, norms[0] / norms[1]], rel=1e-4)
    panel.control("vs-swap").click()
    wait_for_comparison(panel, f"wide\nnet\n{STEP}\nbackward")
    panel.wait_until(
        lambda: box(panel, "parameter:trunk.4.weight").get_attribute("data-only") == "true"
    )


def parse_ratio(text: str) -> float:
    """Read "×1.5", or "÷10,300" where the ratio is small."""
    number = float(text[1:].replace(",", ""))
    return 1 / number if text.startswith("÷") else number


def test_all_steps_of_two_runs_in_the_heat_map(address: str, page):
    wide, deep = plain_norms(deep=False), plain_norms(deep=True)
    versus = {"vs.run": "deep", "vs.step": "same"}
    flow = FlowView.alone(page, address, run="wide", step=str(STEP), **versus)
    flow.panel.control("expand-all").click()
    rows = {name: f"parameter:{name}" for name in SHARED}
    flow.panel.wait_until(lambda: set(rows.values()) <= {*flow.list_keys()})

    def text(name: str) -> str:
        return flow.row(rows[name]).get_attribute("data-value") or ""

    for step in (STEP, STEP + 1):
        expected = [wide[step][name] / deep[step][name] for name in SHARED]
        flow.panel.wait_until(lambda step=step: flow.step() == str(step))
        flow.panel.wait_until(
            lambda expected=expected: (
                all(text(name)[:1] in ("×", "÷") for name in SHARED)
                and [parse_ratio(text(name)) for name in SHARED]
                == pytest.approx(expected, rel=1e-3)
            )
        )
        page.keyboard.press("ArrowRight")
    cells = [(column, flow.place(rows[name])) for name in SHARED for column in range(STEPS - 3)]
    found = iter(flow.pixels(cells))
    for name in SHARED:
        for step in range(STEPS - 3):
            red, _, blue = next(found)
            ratio = wide[step][name] / deep[step][name]
            if max(ratio, 1 / ratio) > 1.1:
                assert (red > blue) == (ratio > 1)
    assert flow.row("parameter:gate.weight").get_attribute("data-value") == "only here"


def test_two_steps_of_one_run(address: str, page):
    norms = plain_norms(deep=True)
    panel = Panel.alone(page, address, run="deep", step=str(STEP))
    panel.control("compare").click()
    wait_for_comparison(panel, "deep\nnet\n0\nbackward")
    name = "parameter:trunk.0.weight"
    for moves, there in ((0, 0), (3, 3)):
        if moves:
            panel.control("vs-slider").fill(str(moves))
            wait_for_comparison(panel, f"deep\nnet\n{there}\nbackward")
        expected = norms[STEP]["trunk.0.weight"] / norms[there]["trunk.0.weight"]
        panel.wait_until(
            lambda expected=expected: ratio(panel, name) == pytest.approx(expected, rel=1e-4)
        )
    panel.wait_until(lambda: f"vs.step={3}" in page.url)
    panel.control("compare").click()
    panel.wait_until(lambda: box(panel, name).get_attribute("data-ratio") is None)


def read_lines(panel: Panel) -> dict[tuple[str, str], float]:
    """Read the charts' key: run and parameter, with the number that is shown."""
    read = "lines => lines.map(line => [line.dataset.line, line.dataset.value])"
    found = panel.control("charts-lines").locator("[data-line]").evaluate_all(read)
    lines = {}
    for line, value in found:
        run, pin = line.split("\n")
        name = pin.removeprefix("parameter:").removesuffix(":0")
        lines[run, name] = float("nan" if value == "none" else value)
    return lines


def test_several_parameters_and_runs_over_each_other(address: str, page):
    norms = {"wide": plain_norms(deep=False), "deep": plain_norms(deep=True)}
    panel = Panel.alone(page, address, run="wide", step=str(STEP), sel=f"parameter:{SHARED[0]}")
    panel.control("pin").click()
    panel.control("show-charts").click()
    panel.control("find").fill("head.weight")
    panel.control("find").press("Enter")
    panel.frame.locator('[data-testid=over-run][data-run="deep"]').check()
    panel.wait_until(lambda: len(read_lines(panel)) == 4)

    def expected(step: int) -> dict[tuple[str, str], float]:
        names = (SHARED[0], "head.weight")
        return {(run, name): norms[run][step][name] for name in names for run in ("wide", "deep")}

    assert read_lines(panel) == pytest.approx(expected(STEP), rel=1e-4)
    assert panel.control("smoothing").input_value() == "0"
    chart = panel.control("charts").get_by_test_id("chart")
    assert chart.get_attribute("data-points") == str(4 * STEPS)
    over = chart.locator(".u-over")
    size = over.bounding_box()
    over.hover(position={"x": 2, "y": size["height"] / 2})
    panel.wait_until(lambda: "step 0" in panel.control("charts-at").inner_text())
    assert read_lines(panel) == pytest.approx(expected(0), rel=1e-4)
    over.click(position={"x": size["width"] - 2, "y": 20})
    panel.wait_until(lambda: panel.control("step").input_value() == str(STEPS - 1))
    panel.control("charts-of").select_option("applied")
    assert read_lines(panel) == pytest.approx(expected(STEPS - 1), rel=1e-4)


def test_gradient_along_an_unrolled_loop(address: str, page):
    panel = Panel.alone(page, address, run="unrolled", sel=f"cell#{CALLS // 2}")
    ends = panel.control("profile-ends")
    ends.wait_for()
    values = [float(part) for part in (ends.get_attribute("data-values") or "").split(",")]
    expected = plain_profile()
    assert values == pytest.approx(expected, rel=1e-4)
    assert float(ends.get_attribute("data-ratio") or "nan") == pytest.approx(
        expected[0] / expected[-1], rel=1e-4
    )
    title = panel.control("profile").locator("h3").inner_text()
    assert re.fullmatch(rf"L2 norm along the {CALLS} calls of cell", title)
    over = panel.control("profile-chart").locator(".u-over")
    over.click(position={"x": 1, "y": 20})
    panel.wait_until(lambda: panel.control("card").get_attribute("data-key") == "cell#0")


def test_part_of_each_use_of_a_tied_weight(address: str, page):
    panel = Panel.alone(page, address, run="tied", step="2", sel="parameter:weight")
    key = panel.control("shares-key")
    key.wait_for()
    read = "lines => lines.map(line => Number(line.dataset.value))"
    for step in (2, 3):
        if step == 3:
            panel.control("next").click()
            panel.wait_until(lambda: key.get_attribute("data-at") == "3")
        parts = key.locator("[data-line]").evaluate_all(read)
        assert sorted(parts) == pytest.approx(sorted(plain_parts(step)), rel=1e-4)
    assert panel.control("shares").locator("[data-part]").count() == 3
