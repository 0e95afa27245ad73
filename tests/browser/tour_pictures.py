"""The pictures of ``docs/tour.md``: each view as somebody would use it, in both color schemes."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

from playwright.sync_api import Browser, Page

from tests.browser.flow_view import FlowView
from tests.browser.panel import Panel
from tests.browser.pictured_runs import BLOCKS, CALLS, GPT_STEPS, MISTAKE

SIZE = {"width": 1280, "height": 900}
TALL = {**SIZE, "height": 1060}
ALL_BLOCKS = "#0~repeat:h.0#0"
#: The animation of the camera, a card's opening, the last numbers.
SETTLE_MS = 1200
BEFORE, AFTER = str(MISTAKE.start - 2), str(MISTAKE.stop + 5)
LAST = str(GPT_STEPS - 1)


def open_gpt(page: Page, address: str, **state: str) -> Panel:
    """Open the GPT's graph with its blocks folded, and numbers."""
    panel = Panel.open(page, address, run="gpt", **state)
    panel.wait_until(lambda: panel.items()[ALL_BLOCKS].state in ("number", "zero"))
    return panel


def show_folded(page: Page, address: str) -> None:
    """Equal blocks as one box, with a cell for each."""
    panel = open_gpt(page, address, step=LAST)
    close_others(panel)
    panel.control("fit").click()


def close_others(panel: Panel) -> None:
    """Close the modules beside the blocks."""
    for module in ("wte", "wpe", "ln_f", "lm_head"):
        panel.toggle(f"{module}#0")
        inside = f"parameter:{module}.weight"
        panel.wait_until(lambda inside=inside: inside not in panel.items())
    panel.page.wait_for_timeout(SETTLE_MS)


def show_opened(page: Page, address: str) -> None:
    """One block open, the way from one of its weights to the loss lit up."""
    key = f"parameter:h.{BLOCKS - 1}.attn.proj.weight"
    panel = open_linked(page, address, key)
    panel.control("card-close").click()
    page.wait_for_timeout(SETTLE_MS)
    panel.point(key)


def open_linked(page: Page, address: str, key: str) -> Panel:
    """Open the GPT's graph at one of its nodes, with its card."""
    panel = Panel.open(page, address, run="gpt", step=AFTER, sel=key)
    panel.control("card").wait_for()
    panel.wait_until(lambda: panel.items()[key].state == "number")
    page.wait_for_timeout(SETTLE_MS)
    return panel


def show_forward(page: Page, address: str) -> None:
    """The values that flowed forward, and gradient / value along the blocks."""
    panel = open_gpt(page, address, step=AFTER, dir="forward", sel=ALL_BLOCKS)
    panel.control("depth-key").wait_for()
    close_others(panel)
    panel.select(ALL_BLOCKS)
    panel.control("fit").click()
    panel.control("depth").evaluate("part => part.scrollIntoView({block: 'end'})")


def show_card(page: Page, address: str) -> None:
    """A weight's card: the stages of its gradient, and its histograms over the steps."""
    page.set_viewport_size(TALL)
    panel = open_linked(page, address, "parameter:lm_head.weight")
    panel.control("stages").evaluate("part => part.scrollIntoView({block: 'start'})")


def show_flow(page: Page, address: str) -> None:
    """All steps at once, the loss above them."""
    flow = FlowView.open(page, address, run="gpt", step=AFTER)
    flow.settle()


def show_charts(page: Page, address: str) -> None:
    """The same weight of several blocks in one chart."""
    panel = Panel.unawaited(page, address, run="gpt", view="charts", step=BEFORE)
    panel.control("find").wait_for()
    pins = panel.control("charts-lines").locator("[data-line]")
    for count, block in enumerate((0, 3, 7, BLOCKS - 1)):
        panel.control("find").fill(f"h.{block}.attn.proj.weight")
        panel.control("found").get_by_role("option").first.wait_for()
        panel.control("find").press("Enter")
        panel.wait_until(lambda count=count: pins.count() == count + 1)
    panel.control("find").fill("")


def show_compared(page: Page, address: str) -> None:
    """The step after the mistake beside the last one before it."""
    panel = open_gpt(page, address, step=AFTER, **{"vs.step": BEFORE})
    bar = panel.control("compare-bar")
    panel.wait_until(lambda: bar.get_attribute("data-ready") == "true")
    close_others(panel)
    panel.control("fit").click()


def show_loop(page: Page, address: str) -> None:
    """The gradient from call to call of a cell in a loop."""
    panel = Panel.open(page, address, run="rnn", step="0", sel=f"cell#{CALLS // 2}")
    panel.control("profile-ends").wait_for()
    page.wait_for_timeout(SETTLE_MS)
    panel.control("fit").click()


def show_take_away(page: Page, address: str) -> None:
    """What can be saved."""
    panel = open_gpt(page, address, step=AFTER)
    close_others(panel)
    panel.control("fit").click()
    panel.control("take-away").click()
    panel.control("take-away-list").wait_for()


PICTURES: dict[str, Callable[[Page, str], None]] = {
    "graph": show_folded,
    "opened": show_opened,
    "forward": show_forward,
    "card": show_card,
    "flow": show_flow,
    "charts": show_charts,
    "compare": show_compared,
    "loop": show_loop,
    "take-away": show_take_away,
}


def make_tour(browser: Browser, address: str, directory: pathlib.Path) -> None:
    """Take every picture twice, as ``tour-<name>-<scheme>.png``."""
    for scheme in ("light", "dark"):
        for name, show in PICTURES.items():
            with browser.new_context(viewport=SIZE, color_scheme=scheme) as context:
                page = context.new_page()
                show(page, address)
                page.wait_for_timeout(SETTLE_MS)
                page.screenshot(path=directory / f"tour-{name}-{scheme}.png")
