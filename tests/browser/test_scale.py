"""Great graphs in a real browser: folded, and saying so; the page answers, and nothing recurses."""

from __future__ import annotations

import functools
import pathlib

import pytest

import tb_gradgraph
from tests.benchmarks.models import make_chain, make_recurrent_loop
from tests.browser.panel import Item, Panel
from tests.patience import patient_ms

pytestmark = pytest.mark.browser

#: As many boxes as a drawing has at most when it is opened, and as ever are drawn.
START, MOST = 60, 10_000
GRAPHS = {
    "loop": (functools.partial(make_recurrent_loop, 1000), 15_000),
    "long loop": (make_recurrent_loop, 30_000),
    "chain": (make_chain, 100_000),
}
RUNS = {"loop": "cell#0 … cell#999", "long loop": "cell#0 … cell#1999", "chain": "mul"}


def write_log(directory: pathlib.Path, run: str) -> None:
    """Log an LSTMCell called 1,000 or 2,000 times, or 100,000 operations in a chain."""
    make, least = GRAPHS[run]
    model, x = make()
    with tb_gradgraph.SummaryWriter(str(directory / run)) as writer:
        graph = writer.add_grad_graph(model, x)
    assert len(graph.nodes) >= least


def open_panel(page, address: str, run: str) -> Panel:
    """Open a run and wait for its numbers."""
    page.set_default_timeout(patient_ms(60))
    panel = Panel.alone(page, address, run=run)
    panel.control("panel").get_by_role("treeitem").first.wait_for(state="attached")
    panel.wait_until(lambda: "number" in {item.state for item in panel.items().values()})
    return panel


def counted(panel: Panel) -> int:
    """Add up what the boxes on show say that they hold."""
    parts = [item.detail.split() for item in panel.items().values() if " nodes" in item.detail]
    return sum(int(part[0].replace(",", "")) for part in parts)


def count_boxes(panel: Panel) -> int:
    """Count what is drawn."""
    return int(panel.control("tree").get_attribute("data-boxes") or 0)


def unfold(panel: Panel, run: str) -> dict[str, Item]:
    """Open the run, and give the boxes: its parts are numbered."""
    panel.toggle(next(key for key, item in panel.items().items() if item.name == RUNS[run]))
    panel.wait_until(lambda: any(name.startswith("1–") for name in panel.list_names()))
    return panel.items()


# The smallest is more than is ever drawn; what is greater takes its time in the same code.
@pytest.mark.parametrize(
    "run", ["loop", *(pytest.param(run, marks=pytest.mark.slow) for run in ("long loop", "chain"))]
)
def test_it_opens_folded_answers_and_opens_as_far_as_fits(
    run: str, tensorboard_server, tmp_path: pathlib.Path, page
) -> None:
    """In one page: it takes as long to open as all that is asked of it."""
    write_log(tmp_path, run)
    panel = open_panel(page, tensorboard_server(tmp_path), run)
    says_how_much_is_inside(panel, run)
    controls_answer(panel)
    parts_open_one_in_another_as_far_as_fits(panel)


def says_how_much_is_inside(panel: Panel, run: str) -> None:
    """Look at it as it opens, and at what its run of equal parts opens to."""
    items = panel.items()
    assert RUNS[run] in panel.list_names()
    assert counted(panel) >= GRAPHS[run][1]
    assert len(items) < START / 4
    items = unfold(panel, run)
    ranges = [item.name for item in items.values() if "–" in item.name]
    assert ranges[0].startswith("1–") and ranges[-1].endswith(("–1000", "–2000", "–100000"))


def controls_answer(panel: Panel) -> None:
    """Turn the drawing and back, choose a statistic, and find an operation."""
    now = panel.control("direction").get_attribute("data-value")
    other = "forward" if now == "backward" else "backward"
    for direction in (other, now):
        panel.control(f"direction-{direction}").click()
        panel.wait_until(
            lambda direction=direction: (
                panel.control("direction").get_attribute("data-value") == direction
            )
        )
    panel.control("statistic").select_option("abs_max")
    panel.wait_until(lambda: "p.gradgraph.stat=abs_max" in panel.page.evaluate("location.hash"))
    panel.control("find").fill("mul")
    panel.control("found").get_by_role("option").first.wait_for()
    panel.control("find").fill("")


def parts_open_one_in_another_as_far_as_fits(panel: Panel) -> None:
    """Open the first part, then everything, and close it all again."""
    first = next(key for key, item in panel.items().items() if item.name.startswith("1–"))
    panel.toggle(first)
    panel.wait_until(lambda: len(panel.items()) > START)
    assert len(panel.items()) <= MOST
    panel.control("expand-all").click()
    notice = panel.control("notice")
    notice.wait_for()
    assert f"Opened as many groups as fit in {MOST:,} boxes;" in notice.inner_text()
    assert "stay closed" in notice.inner_text()
    panel.wait_until(lambda: MOST / 2 < count_boxes(panel) <= MOST)
    # The tree holds only those of the thousands that are around the selection.
    assert len(panel.items()) < MOST / 10
    panel.control("collapse-all").click()
    panel.wait_until(lambda: len(panel.items()) < 10)
