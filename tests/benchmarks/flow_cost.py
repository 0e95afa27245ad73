"""How long a person waits for the heat map once its numbers are there, and for a frame of panning."""

from __future__ import annotations

import pathlib
import statistics

import numpy as np
import torch
from playwright.sync_api import Browser, CDPSession
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import tb_gradgraph
from tb_gradgraph.graph import Record
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.session import Session
from tb_gradgraph.statistics import STATISTICS, StatisticsTable
from tests.benchmarks.measure import Figure
from tests.browser.flow_view import FlowView

LAYERS, STEPS = 500, 2000
REPETITIONS = 3
_EVERY_CHUNK = 25

# Milliseconds from the last byte of the numbers to the frame that shows them.
_FIRST_DRAWN = """
() => {
  const there = Math.max(...performance.getEntriesByType('resource')
    .filter(({name}) => name.includes('/flow?')).map(({responseEnd}) => responseEnd));
  const [numbers] = performance.getEntriesByName('gradgraph:flow-numbers');
  const frame = performance.getEntriesByName('gradgraph:flow-frame')
    .find(({startTime}) => startTime >= numbers.startTime + numbers.duration);
  return frame.startTime + frame.duration - there;
}
"""

# Drags the map by a few pixels a frame; gives the time from frame to frame.
_PAN = """
async (canvas) => {
  const {left, top, width, height} = canvas.getBoundingClientRect();
  const send = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type,
    {clientX: left + x, clientY: top + y, shiftKey: true, bubbles: true, cancelable: true}));
  const gaps = [];
  let last = await new Promise(requestAnimationFrame);
  send('pointerdown', width * 0.7, height * 0.6);
  for (let i = 0; i < 60; i++) {
    send('pointermove', width * 0.7 - 5 * i, height * 0.6 - 3 * i);
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  send('pointerup', width * 0.3, height * 0.3);
  return gaps;
}
"""


# Turns the wheel by a row and a half in each frame, down and up again; gives the time from frame to frame.
_SCROLL = """
async (canvas) => {
  const {left, top, width, height} = canvas.getBoundingClientRect();
  const gaps = [];
  let last = await new Promise(requestAnimationFrame);
  for (let i = 0; i < 120; i++) {
    canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: i < 60 ? 27 : -27,
      clientX: left + width / 2, clientY: top + height / 2, bubbles: true, cancelable: true}));
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}
"""


def log_long_training(logdir: pathlib.Path, layers: int = LAYERS) -> None:
    """Write STEPS records of some thousand rows, as a watch would, with made-up numbers."""
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(layers)))
    captured = tb_gradgraph.capture(model, torch.randn(2, 4))
    (found,) = captured.backward_passes
    table, random = found.table, np.random.default_rng(0)
    with SummaryWriter(str(logdir)) as writer:
        sink = WriterSink(writer)
        session = Session(sink.add_summary, flush_writer=sink.flush, torch_version="2.13")
        session.write_graph("net", captured.graph)
        for step in range(STEPS):
            values = np.full_like(table.values, np.nan)
            norms = np.exp(np.sin(step / 200) + 0.5 * random.standard_normal(len(values)))
            values[:, STATISTICS.index("l2_norm")] = norms
            values[:, [STATISTICS.index(name) for name in ("nan", "posinf", "neginf")]] = 0
            numbers = StatisticsTable(values, table.present, 0 * table.histogram)
            place = ("net", captured.hash, step, 1.7e9 + step, 0)
            session.write_record(Record(*place, numbers, objective=captured.objective))
            writer.add_scalar("loss", 1 / (1 + step), step)
            if step % _EVERY_CHUNK == 0:
                session.flush()
        session.close()


def _processor_ms(session: CDPSession) -> float:
    """Return how long the page's own thread has run; what else the machine does is not in it."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * float({one["name"]: one["value"] for one in metrics}["ThreadTime"])


def measure_flow(browser: Browser, address: str, run: str) -> list[Figure]:
    """Measure the heat map of that run with all of its rows open."""
    drawn, frames, gaps, busy, rows = [], [], [], [], 0
    for _ in range(REPETITIONS):
        with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
            flow = FlowView.open(context.new_page(), address, run=run)
            page = flow.panel.page
            page.wait_for_timeout(500)
            drawn.append(flow.canvas.evaluate(_FIRST_DRAWN))
            flow.panel.control("expand-all").click()
            flow.settle()
            rows = flow.axis("rows").count
            flow.canvas.evaluate(_SCROLL)  # compiles what it runs
            session = context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            before = _processor_ms(session)
            scrolled = flow.canvas.evaluate(_SCROLL)
            busy.append((_processor_ms(session) - before) / len(scrolled))
            gaps += scrolled
            flow.canvas.hover(position={"x": 400, "y": 400})
            page.keyboard.down("Control")
            page.mouse.wheel(0, -300)
            page.keyboard.up("Control")
            page.keyboard.press("]")
            page.wait_for_timeout(300)
            frames += flow.canvas.evaluate(_PAN)
    return [
        Figure(
            f"heat map, {rows:,} rows x {STEPS:,} steps: numbers there to drawn",
            *(statistics.median(drawn), "ms", 1000),
        ),
        # Frames come at a display's pace: one of its turns is 16.7 ms, two are 33.3 ms.
        Figure("heat map: scrolling rows, a frame (median)", statistics.median(gaps), "ms", 17.5),
        Figure(
            "heat map: scrolling rows, a frame (95 of 100)",
            statistics.quantiles(gaps, n=20)[18],
            "ms",
        ),
        Figure(
            "heat map: scrolling rows, processor time of the page in a frame",
            *(statistics.median(busy), "ms", 16.7),
        ),
        Figure("heat map: panning, a frame (median)", statistics.median(frames), "ms", 33.4),
        Figure(
            "heat map: panning, a frame (95 of 100)", statistics.quantiles(frames, n=20)[18], "ms"
        ),
    ]
