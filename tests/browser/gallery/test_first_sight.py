"""Nets that people train can be read when they open: measured from what the canvas was told to paint."""

from __future__ import annotations

import pathlib

import pytest

from tests.browser.gallery.first_sight import look_at, watch_painting
from tests.browser.gallery.gallery_runs import NETS, log_gallery
from tests.browser.panel import Panel

pytestmark = pytest.mark.browser

SMALL, LARGE = {"width": 1280, "height": 720}, {"width": 1920, "height": 1080}
NAMED = 15


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The logs of all nets."""
    directory = tmp_path_factory.mktemp("gallery")
    log_gallery(directory)
    return directory


@pytest.mark.parametrize("net", NETS)
def test_a_net_opens_readable(net: str, logged, tensorboard_server, page) -> None:
    watch_painting(page)
    page.set_viewport_size(SMALL)
    panel = Panel.open(page, tensorboard_server(logged), run=net)
    panel.wait_until(lambda: any(item.state == "number" for item in panel.items().values()))
    for size, scheme in ((SMALL, "light"), (SMALL, "dark"), (LARGE, "light")):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        if size == LARGE:
            page.reload()
            panel.wait_for_picture()
            panel.wait_until(lambda: any(i.state == "number" for i in panel.items().values()))
        seen = look_at(panel)
        assert seen.smallest_px >= 10, seen.tell()
        assert seen.least_contrast >= 4.5, seen.tell()
        assert seen.named >= min(NAMED, seen.nodes), seen.tell()
        # Small nets are not enlarged without limit.
        assert seen.width_used >= 0.6 or seen.zoom > 1.05, seen.tell()
        assert seen.struck == (), seen.tell()
        assert seen.overlaps == 0, seen.tell()
        whole = panel.control("parts").count() == 0
        assert whole or panel.control("minimap").is_visible()
