"""How long a person waits for the panel: its first picture, and one step of the slider."""

from __future__ import annotations

import json
import pathlib
import statistics
import tempfile
import time
import urllib.request

from playwright.sync_api import Browser, Page

from tb_gradgraph import SummaryWriter
from tests.benchmarks.flow_cost import STEPS as FLOW_STEPS
from tests.benchmarks.flow_cost import log_long_training, measure_flow
from tests.benchmarks.measure import Figure
from tests.benchmarks.models import make_transformer
from tests.browser.chromium import launch_chromium
from tests.browser.panel import Panel
from tests.tensorboard_process import run_tensorboard

STEPS = 12
REPETITIONS = 5

# Resolves when the colors that the tree tells have changed and the frame after that was drawn.
_MOVE_SLIDER = """
(slider, position) => new Promise((resolve) => {
  const tree = document.querySelector('[role=tree]');
  const start = performance.now();
  const observer = new MutationObserver(() => {
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
  });
  observer.observe(tree, {subtree: true, attributes: true, attributeFilter: ['data-color']});
  slider.value = String(position);
  slider.dispatchEvent(new Event('input', {bubbles: true}));
})
"""


def measure_panel() -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        nodes = _log_transformer(pathlib.Path(directory) / "transformer")
        with run_tensorboard(directory) as address, launch_chromium() as browser:
            _wait_until_loaded(address)
            opening = [_time_opening(browser, address) for _ in range(REPETITIONS)]
            first, again = _time_slider(browser, address)
    with tempfile.TemporaryDirectory() as directory:
        log_long_training(pathlib.Path(directory) / "long")
        with run_tensorboard(directory) as address, launch_chromium() as browser:
            _wait_until_loaded(address, FLOW_STEPS)
            heat_map = measure_flow(browser, address, "long")
    return [
        Figure(
            f"panel, {nodes} nodes: tab opened to first picture",
            *(1e3 * statistics.median(opening), "ms", 2000),
        ),
        Figure("panel: slider to a step not seen yet, recolored", first, "ms", 50),
        Figure("panel: slider to a step seen before, recolored", again, "ms", 50),
        *heat_map,
    ]


def _log_transformer(logdir: pathlib.Path) -> int:
    model, x = make_transformer()
    with SummaryWriter(str(logdir)) as writer:
        for step in range(STEPS):
            graph = writer.add_grad_graph(model, x, step)
            for parameter in model.parameters():
                parameter.data.mul_(0.99)
    return len(graph.nodes)


def _wait_until_loaded(address: str, steps: int = STEPS) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with urllib.request.urlopen(f"{address}data/plugin/gradgraph/runs") as answer:
            runs = json.load(answer)["runs"]
        if runs and len(runs[0]["tags"][0]["steps"]) == steps:
            return
        time.sleep(0.2)
    raise TimeoutError("TensorBoard did not load the log")


def _time_opening(browser: Browser, address: str) -> float:
    """Open the tab of a TensorBoard that shows another one, as a user does."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(f"{address}#graphs")
        tab = page.get_by_role("tab", name="Grad Graph")
        tab.wait_for()
        start = time.perf_counter()
        tab.click()
        _panel(page).wait_for_picture()
        return time.perf_counter() - start


def _time_slider(browser: Browser, address: str) -> tuple[float, float]:
    """Give medians in milliseconds: for steps not seen yet, and for the same steps again."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        panel = Panel.open(context.new_page(), address, step="0")
        panel.page.wait_for_timeout(1000)
        slider = panel.control("slider")
        passes = [
            [slider.evaluate(_MOVE_SLIDER, position) for position in positions]
            for positions in (range(1, STEPS), range(STEPS - 2, -1, -1))
        ]
    return statistics.median(passes[0]), statistics.median(passes[1])


def _panel(page: Page) -> Panel:
    return Panel(page, page.frame_locator('iframe[src*="name=gradgraph"]'))
