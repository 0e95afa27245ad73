"""Make the README's pictures from the digits demo: ``python -m tests.browser.make_screenshots``."""

from __future__ import annotations

import pathlib
import tempfile

from playwright.sync_api import Browser

from tests.browser.chromium import launch_chromium
from tests.browser.panel import Panel
from tests.demo.run_demo import ROOT, run_demo
from tests.tensorboard_process import run_tensorboard

SIZE = {"width": 1360, "height": 960}


def make_screenshots() -> None:
    """Run the demo, open its last step in both color schemes, and write both pictures."""
    with tempfile.TemporaryDirectory() as directory:
        logdir = pathlib.Path(directory) / "digits"
        run_demo("digits", logdir)
        with run_tensorboard(directory) as address, launch_chromium() as browser:
            for scheme, name in (("light", "panel-light.png"), ("dark", "panel-dark.png")):
                make_picture(browser, address, scheme, ROOT / "docs" / name)


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


if __name__ == "__main__":
    make_screenshots()
