"""Make the pictures in ``docs/`` from the demos: ``python -m tests.browser.make_screenshots``."""

from __future__ import annotations

import pathlib
import tempfile

from playwright.sync_api import Browser

from tests.browser.chromium import launch_chromium
from tests.browser.flow_view import FlowView
from tests.browser.panel import Panel
from tests.browser.pictured_runs import train_gpt, train_loop, train_with_a_spike
from tests.browser.tour_pictures import make_tour
from tests.demo.run_demo import ROOT, run_demo
from tests.tensorboard_process import run_tensorboard

SIZE = {"width": 1360, "height": 960}
SMALL = {"width": 1100, "height": 760}

# A graph of a demo with one box selected, by the name of its picture.
DETAILS = {
    "cut.png": ({"run": "detached"}, "parameter:A.weight"),
    "second-order.png": ({"run": "meta_learning", "tag": "query", "step": "0"}, "/MvBackward0.1"),
}


def make_screenshots() -> None:
    """Run the demos and trainings and write every picture; those of README and tour in both schemes."""
    with tempfile.TemporaryDirectory() as directory:
        for demo in ("digits", "detached", "meta_learning"):
            run_demo(demo, pathlib.Path(directory) / demo)
        trainings = {"transformer": train_with_a_spike, "gpt": train_gpt, "rnn": train_loop}
        for run, train in trainings.items():
            train(pathlib.Path(directory) / run)
        with run_tensorboard(directory) as address, launch_chromium() as browser:
            for scheme, name in (("light", "panel-light.png"), ("dark", "panel-dark.png")):
                make_picture(browser, address, scheme, ROOT / "docs" / name)
            for scheme in ("light", "dark"):
                make_flow_picture(browser, address, scheme, ROOT / "docs" / f"flow-{scheme}.png")
            for name, (state, selected) in DETAILS.items():
                make_detail(browser, address, state, selected, ROOT / "docs" / name)
            make_tour(browser, address, ROOT / "docs")


def make_picture(browser: Browser, address: str, scheme: str, path: pathlib.Path) -> None:
    """Take one picture: two modules open, one parameter selected."""
    with browser.new_context(viewport=SIZE, color_scheme=scheme) as context:
        page = context.new_page()
        panel = Panel.open(page, address, run="digits", step="40")
        panel.control("collapse-all").click()
        panel.wait_until(lambda: "stem.0#0" not in panel.items())
        for group, inside in (("head#0", "parameter:head.weight"), ("stem#0", "stem.0#0")):
            panel.toggle(group)
            panel.wait_until(lambda inside=inside: inside in panel.items())
        panel.select("parameter:head.weight")
        panel.control("fit").click()
        page.wait_for_timeout(1500)  # the last animation ends
        page.screenshot(path=path)


def make_flow_picture(browser: Browser, address: str, scheme: str, path: pathlib.Path) -> None:
    """Take one picture of the heat map, with one module open."""
    with browser.new_context(viewport=SIZE, color_scheme=scheme) as context:
        page = context.new_page()
        flow = FlowView.open(page, address, run="transformer", step="152")
        flow.row("1.layers.4#0").dblclick()
        flow.panel.wait_until(lambda: "1.layers.4.norm1#0" in flow.list_keys())
        page.mouse.move(0, 0)
        page.wait_for_timeout(800)
        page.screenshot(path=path)


def make_detail(
    browser: Browser, address: str, state: dict[str, str], selected: str, path: pathlib.Path
) -> None:
    """Take a picture of one graph as it opens, with one box selected."""
    with browser.new_context(viewport=SMALL, color_scheme="light") as context:
        page = context.new_page()
        panel = Panel.open(page, address, **state)
        panel.select(selected)
        page.wait_for_timeout(600)  # the card takes its room
        panel.control("fit").click()
        page.wait_for_timeout(600)
        page.screenshot(path=path)


if __name__ == "__main__":
    make_screenshots()
