"""Make pictures of the gallery's nets: ``python -m tests.browser.gallery.make_gallery [FOLDER]``.

As they open, and with one more level open, in both schemes and two sizes of
the window. What can be read is printed. The folder is by default
``runs/gallery``, which git ignores.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

from playwright.sync_api import Browser

from tests.browser.chromium import launch_chromium
from tests.browser.gallery.first_sight import look_at, watch_painting
from tests.browser.gallery.gallery_runs import NETS, log_gallery
from tests.browser.panel import Panel
from tests.demo.run_demo import ROOT
from tests.tensorboard_process import run_tensorboard

SIZES = ((1280, 720), (1920, 1080))


def make_gallery(folder: pathlib.Path) -> None:
    """Train the nets and take their pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        log_gallery(pathlib.Path(directory))
        with run_tensorboard(directory) as address, launch_chromium() as browser:
            for width, height in SIZES:
                for scheme in ("light", "dark"):
                    for net in NETS:
                        name = f"{net}-{width}-{scheme}"
                        take_pictures(browser, address, net, (width, height), scheme, folder / name)


def take_pictures(
    browser: Browser,
    address: str,
    net: str,
    size: tuple[int, int],
    scheme: str,
    path: pathlib.Path,
) -> None:
    """Take two pictures of a net, as it opens and with the first closed module open."""
    viewport = {"width": size[0], "height": size[1]}
    with browser.new_context(viewport=viewport, color_scheme=scheme) as context:
        page = context.new_page()
        watch_painting(page)
        panel = Panel.open(page, address, run=net)
        panel.wait_until(lambda: any(item.state == "number" for item in panel.items().values()))
        print(f"{path.name:24} {look_at(panel).tell()}", flush=True)
        page.screenshot(path=f"{path}.png")
        closed = panel.frame.locator('[role="treeitem"][aria-expanded="false"]')
        if closed.count() == 0:
            return
        before = len(panel.items())
        closed.last.dispatch_event("dblclick")
        panel.wait_until(lambda: len(panel.items()) > before)
        look_at(panel)
        page.screenshot(path=f"{path}-expanded.png")


if __name__ == "__main__":
    make_gallery(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "runs" / "gallery")
