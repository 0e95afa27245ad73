"""How long a person waits for the drawing of a graph: to see it, to open a part, to change the step."""

from __future__ import annotations

import dataclasses
import pathlib
import statistics
import time
from collections.abc import Callable, Iterator

import torch
from playwright.sync_api import Browser, Page
from torch import nn

from tb_gradgraph import SummaryWriter
from tests.benchmarks.measure import Figure
from tests.benchmarks.models import make_chain, make_transformer
from tests.benchmarks.trainings import GPT
from tests.browser.panel import FRAME, Panel
from tests.patience import patient_ms

_WAIT_S = 120
_VIEWPORT = {"width": 1280, "height": 900}

# Keeps the lengths of the frame's own tasks that the browser calls long, of more than 50 ms.
_NOTE_LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((list) => {
  for (const {name, duration} of list.getEntries())
    if (name !== 'same-origin-ancestor') window.longTasks.push(duration);
}).observe({type: 'longtask', buffered: true});
"""

# Resolves when the colors that the tree tells have changed and the frame after that was drawn.
_MOVE_SLIDER = """
(slider, position) => new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error(`no color changed at position ${position}`)), 60_000);
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

# Resolves when there are more boxes than before and the frame after that was drawn.
_OPEN_GROUP = """
(item) => new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error('nothing opened')), 60_000);
  const count = () => document.querySelectorAll('[role=treeitem]').length;
  const before = count();
  const start = performance.now();
  const look = () => requestAnimationFrame(count() > before
    ? () => setTimeout(() => resolve(performance.now() - start)) : look);
  item.dispatchEvent(new MouseEvent('dblclick', {bubbles: true, cancelable: true, view: window}));
  look();
})
"""

# Drags the drawing to and fro by a few pixels a frame; gives the time from frame to frame.
_PAN = """
async (canvas) => {
  const {left, top, width, height} = canvas.getBoundingClientRect();
  const send = (target, type, offset) => target.dispatchEvent(new MouseEvent(type, {view: window,
    clientX: left + width / 2 + offset, clientY: top + height / 2, bubbles: true, cancelable: true}));
  const gaps = [];
  let last = await new Promise(requestAnimationFrame);
  send(canvas, 'mousedown', 0);
  for (let i = 0; i < 90; i++) {
    send(window, 'mousemove', 40 * Math.sin(i / 5) + 6);
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  send(window, 'mouseup', 6);
  return gaps;
}
"""


@dataclasses.dataclass
class Measured:
    """A graph, how it is logged, and the limits that its drawing keeps, in milliseconds."""

    name: str
    make: Callable[[], tuple[nn.Module, torch.Tensor]]
    steps: int
    picture_ms: float
    recolor_ms: float | None = None
    open_ms: float | None = None
    task_ms: float | None = None
    nodes: int = 0

    def log(self, logdir: pathlib.Path) -> None:
        """Write the steps, with gradients that differ."""
        model, x = self.make()
        with SummaryWriter(str(logdir)) as writer:
            for step in range(self.steps):
                self.nodes = len(writer.add_grad_graph(model, x, step).nodes)
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter.mul_(0.9)


def _make_deep() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return GPT(160, 32, 2, 256, 32), torch.randint(256, (2, 32))


def _make_deeper() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return GPT(265, 32, 2, 256, 32), torch.randint(256, (2, 32))


SMALL = Measured("transformer", lambda: make_transformer(14), 12, 1000, 16, 300)
MIDDLE = Measured("deep transformer", _make_deep, 6, 2000, 50, 300)
FULL = Measured("deeper transformer", _make_deeper, 4, 4000, 50)
GREAT = Measured("chain", make_chain, 1, 4000, task_ms=200)


def measure_graph(browser: Browser, address: str, measured: Measured) -> Iterator[Figure]:
    """Measure what has a limit."""
    name = f"{measured.name}, {measured.nodes:,} nodes"
    opening, busy, tasks = zip(*(_time_opening(browser, address) for _ in range(3)))
    pictures = 1e3 * statistics.median(opening)
    yield Figure(f"{name}: tab opened to first picture", pictures, "ms", measured.picture_ms)
    processor = 1e3 * statistics.median(busy)
    yield Figure(f"{name}: processor time of the page meanwhile", processor, "ms")
    if measured.task_ms is not None:
        yield Figure(f"{name}: longest task meanwhile", max(tasks), "ms", measured.task_ms)
    with browser.new_context(viewport=_VIEWPORT) as context:
        context.set_default_timeout(patient_ms(_WAIT_S))
        panel = Panel.open(context.new_page(), address)
        panel.page.wait_for_timeout(1000)
        if measured.open_ms is not None:
            yield Figure(f"{name}: a part opened", _time_parts(panel), "ms", measured.open_ms)
        expanded = _time_expanding(panel)
        shown = f"{name}, {_count_boxes(panel):,} boxes in sight"
        yield Figure(f"{shown}: expanded from the start", expanded, "ms")
        panel.control("fit").click()
        panel.page.wait_for_timeout(500)
        if measured.recolor_ms is not None:
            recolored = _time_slider(panel, measured.steps)
            yield Figure(f"{shown}: a step seen before", recolored, "ms", measured.recolor_ms)
        frames = panel.control("canvas").evaluate(_PAN)
        yield Figure(f"{shown}: panning, a frame (median)", statistics.median(frames), "ms")
        slow = statistics.quantiles(frames, n=20)[18]
        yield Figure(f"{shown}: panning, a frame (95 of 100)", slow, "ms")


def _time_opening(browser: Browser, address: str) -> tuple[float, float, float]:
    """Open the tab of a TensorBoard that shows another one, as a user does.

    Gives seconds to the first picture, processor time of all threads of the
    page until then, and milliseconds of the longest task of the panel's frame
    until a second later, 0 if none was longer than 50.
    """
    with browser.new_context(viewport=_VIEWPORT) as context:
        context.set_default_timeout(patient_ms(_WAIT_S))
        context.add_init_script(_NOTE_LONG_TASKS)
        page = context.new_page()
        page.goto(f"{address}#graphs")
        tab = page.get_by_role("tab", name="Grad Graph")
        tab.wait_for()
        before = _processor_s(browser)
        start = time.perf_counter()
        tab.click()
        panel = _panel(page)
        panel.wait_for_picture()
        seconds = time.perf_counter() - start
        busy = _processor_s(browser) - before
        page.wait_for_timeout(1000)
        tasks = panel.control("panel").evaluate("() => window.longTasks")
        return seconds, busy, max(tasks, default=0)


def _processor_s(browser: Browser) -> float:
    """Return how long the threads of all pages have run, workers' too; there is one page."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return float(sum(one["cpuTime"] for one in processes if one["type"] == "renderer"))


def _time_parts(panel: Panel) -> float:
    """Open closed groups one after another."""
    closed = panel.frame.locator("[role=treeitem][aria-expanded=false]")
    times = []
    for _ in range(min(3, closed.count())):
        times.append(closed.last.evaluate(_OPEN_GROUP))
        panel.page.wait_for_timeout(300)
    return statistics.median(times)


def _time_slider(panel: Panel, steps: int) -> float:
    """Go through all steps, which fetches their numbers, and measure the way back and forth."""
    slider = panel.control("slider")
    # The slider stands at the last step.
    for position in range(steps - 2, -1, -1):
        slider.evaluate(_MOVE_SLIDER, position)
    there, back = range(1, steps), range(steps - 2, -1, -1)
    return statistics.median(
        slider.evaluate(_MOVE_SLIDER, position) for position in [*there, *back]
    )


def _time_expanding(panel: Panel) -> float:
    """Open all that may be shown, and wait for its picture."""
    start = time.perf_counter()
    panel.control("expand-all").click()
    # What was laid out before is drawn until then.
    panel.control("loading").wait_for(state="attached")
    panel.control("loading").wait_for(state="detached")
    return 1e3 * (time.perf_counter() - start)


def _count_boxes(panel: Panel) -> int:
    return int(panel.control("tree").get_attribute("data-boxes") or 0)


def _panel(page: Page) -> Panel:
    return Panel(page, page.frame_locator(FRAME))
