"""What a training opens with, in a real TensorBoard: its findings, or that nothing looks wrong."""

from __future__ import annotations

import pathlib
import warnings

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.commands import main as cli
from tests.browser.panel import FRAME, Panel
from tests.browser.test_html_export import opened, panel_of

pytestmark = pytest.mark.browser

STEPS, BAD = 40, 12


def train(directory: pathlib.Path, bad: int | None) -> None:
    """Train a small net; from step ``bad`` on, its input has a NaN."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    weight = torch.randn(8, 1)
    with warnings.catch_warnings(), tb_gradgraph.SummaryWriter(str(directory)) as writer:
        warnings.simplefilter("ignore")  # of what is not finite
        writer.watch(model, optimizer=optimizer, every_n_steps=1, level="op", values=True)
        for step in range(STEPS):
            x = torch.randn(32, 8)
            target = torch.tanh(x @ weight)
            if step == bad:
                x[0, 0] = float("nan")
            optimizer.zero_grad()
            (model(x) - target).square().mean().backward()
            optimizer.step()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("verdicts")
    train(root / "faulty", BAD)
    train(root / "healthy", None)
    return root


def sentences(panel: Panel) -> list[str]:
    """Read the sentences that a training opens with."""
    panel.control("verdict").wait_for()
    return panel.control("verdict").locator(".what").all_inner_texts()


def list_bars(panel: Panel) -> list[str]:
    """List the kinds of the findings below the slider."""
    read = "bars => bars.map(bar => bar.dataset.kind)"
    return panel.control("lanes").locator("button").evaluate_all(read)


@pytest.mark.parametrize("load_fast", [True, False])
def test_a_fault_is_told_and_leads_to_its_step_and_node(load_fast, tensorboard_server, runs, page):
    address = tensorboard_server(runs, load_fast=load_fast)
    panel = Panel.open(page, address, run="faulty")
    panel.wait_until(lambda: f"{STEPS} of {STEPS}" in panel.control("step-count").inner_text())
    panel.wait_until(lambda: any("NaN" in text for text in sentences(panel)))
    first = panel.control("verdict").get_by_test_id("run-finding").first
    assert "NaN" in first.locator(".what").inner_text()
    panel.wait_until(lambda: f"{BAD}" in first.locator(".when").inner_text())
    bar = panel.control("lanes").locator("button").first
    assert bar.get_attribute("data-from") == str(BAD)
    assert panel.control("findings").inner_text().endswith(("finding", "findings"))
    key = first.get_attribute("data-key")
    first.locator(".go").click()
    panel.wait_until(lambda: panel.control("step").input_value() == str(BAD))
    panel.wait_until(lambda: panel.control("card").get_attribute("data-key") == key)


def test_a_healthy_training_is_called_healthy(tensorboard_server, runs, page):
    panel = Panel.open(page, tensorboard_server(runs), run="healthy")
    said = f"Nothing looks wrong in {STEPS} recorded steps."
    panel.wait_until(lambda: said in panel.control("verdict").inner_text())
    assert panel.control("lanes").count() == 0
    panel.control("verdict-close").click()
    with page.expect_response(lambda response: "/run_findings" in response.url):
        page.reload()
    panel.wait_for_picture()
    assert panel.control("verdict").count() == 0


def test_what_is_on_purpose_stays_so_in_another_browser(tensorboard_server, runs, chromium, page):
    panel = Panel.open(page, tensorboard_server(runs), run="faulty")
    panel.control("findings").click()
    panel.control("run-finding-list").wait_for()
    bars = list_bars(panel)
    panel.control("run-finding-list").get_by_test_id("on-purpose").first.click()
    panel.control("purposed-list").wait_for()
    panel.wait_until(lambda: "p.gradgraph.purpose=" in page.evaluate("location.hash"))
    with chromium.new_context() as context:
        elsewhere = context.new_page()
        elsewhere.goto(page.evaluate("location.href"))
        there = Panel(elsewhere, elsewhere.frame_locator(FRAME))
        there.wait_for_picture()
        there.control("findings").click()
        there.control("purposed-list").wait_for()
        assert list_bars(there) == bars[1:]


def test_a_file_without_tensorboard_says_the_same(chromium, runs, tmp_path):
    path = tmp_path / "faulty.html"
    assert cli.main(["export", "--html", str(runs / "faulty"), str(path)]) == 0
    with opened(chromium, path) as page:
        panel = panel_of(page)
        assert any("NaN" in text for text in sentences(panel))
        panel.control("verdict").get_by_test_id("run-finding").first.locator(".go").click()
        panel.wait_until(lambda: panel.control("step").input_value() == str(BAD))
