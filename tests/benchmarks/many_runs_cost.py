"""How fast many runs are drawn: lines in one chart, and heat maps beside each other."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import torch
from playwright.sync_api import Browser, Page
from torch import nn

import tb_gradgraph
from tests.benchmarks.measure import Figure
from tests.browser.panel import Panel

RUNS = 24
STEPS = 200
LAYERS = 12
_DIVERGED = 5
_LINED = 12  # runs in one chart


def log_many_runs(root: pathlib.Path, runs: int = RUNS, steps: int = STEPS) -> None:
    """Log trainings of one model with different learning rates; one of them diverges."""
    for number in range(runs):
        lr = 10 ** (-3 + 2 * number / runs)
        torch.manual_seed(number)
        layers = [nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(LAYERS)]
        model = nn.Sequential(*layers, nn.Linear(16, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        with tb_gradgraph.SummaryWriter(str(root / f"lr={lr:.2g},seed={number}")) as writer:
            writer.watch(model, optimizer=optimizer, every_n_steps=1, tag="net")
            x = torch.randn(32, 16)
            for step in range(steps):
                loss = (model(x) - x.mean(1, keepdim=True)).square().mean()
                if number == _DIVERGED:
                    loss = loss * 10.0 ** (step / 6)
                    optimizer.param_groups[0]["lr"] = 0.0
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


_FRAMES = """
async ([x, y]) => {
  const over = document.querySelector('.u-over');
  const send = (target, type, dx, dy) => target.dispatchEvent(new PointerEvent(type, {
    clientX: x + dx, clientY: y + dy, bubbles: true,
  }));
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  send(over, 'pointerdown', 0, 0);
  const times = [];
  let before = await frame();
  for (let i = 1; i <= 60; i++) {
    send(window, 'pointermove', 3 * i, i);
    const now = await frame();
    times.push(now - before);
    before = now;
  }
  send(window, 'pointerup', 180, 60);
  return times.sort((a, b) => a - b);
}
"""


def measure_many_runs(browser: Browser, address: str) -> Iterator[Figure]:
    """Measure how lines of twelve runs follow a drag, and how soon heat maps of all runs are drawn."""
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        yield from _measure_lines(page, address)
        yield from _measure_tiles(page, address)


def _measure_lines(page: Page, address: str) -> Iterator[Figure]:
    names = "\n".join(f"parameter:{layer}.0.weight:0" for layer in range(4))
    panel = Panel.alone_unawaited(page, address, view="charts", **{"chart.pins": names})
    boxes = panel.control("over-run")
    boxes.first.wait_for()
    for at in range(_LINED - 1):
        boxes.nth(at).check()
    chart = panel.control("chart")
    points = str(4 * _LINED * STEPS)
    panel.wait_until(lambda: chart.get_attribute("data-points") == points)
    place = page.locator(".u-over").bounding_box()
    assert place is not None
    middle = [place["x"] + place["width"] / 2, place["y"] + place["height"] / 2]
    times = page.evaluate(_FRAMES, middle)
    what = f"{_LINED} runs x 4 lines x {STEPS} steps: panning, a frame"
    yield Figure(f"{what} (median)", times[len(times) // 2], "ms", 33.4)
    yield Figure(f"{what} (95 of 100)", times[int(0.95 * len(times))], "ms")


_TILES = """
async (count) => {
  const began = performance.now();
  document.querySelector('[data-testid=as-layers]').click();
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  while (document.querySelectorAll('.tile canvas[data-drawn]').length < count) await frame();
  await frame();
  return performance.now() - began;
}
"""


def _measure_tiles(page: Page, address: str) -> Iterator[Figure]:
    """Measure from the click to the last heat map; the server has not read them before."""
    page.goto("about:blank")
    panel = Panel.alone_unawaited(page, address, view="charts")
    panel.control("chart").wait_for()
    name = f"{RUNS} heat maps x {LAYERS + 1} layers x {STEPS} steps: click to drawn"
    yield Figure(name, page.evaluate(_TILES, RUNS), "ms", 1500)
    panel.control("as-lines").click()
    panel.control("chart").wait_for()
    yield Figure(f"{name}, again", page.evaluate(_TILES, RUNS), "ms")
