"""In columns, the lines of a net cross no more often than in one column: counted in the whole layout."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.gallery.first_sight import count_crossings
from tests.browser.gallery.gallery_runs import NETS, log_gallery
from tests.browser.panel import Panel

pytestmark = pytest.mark.browser

_KEEP = (pathlib.Path(__file__).parent / "laid_out.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The logs of all nets."""
    directory = tmp_path_factory.mktemp("crossings")
    log_gallery(directory)
    return directory


def lay_out(page: Page, address: str, **state: str) -> tuple[set[str], list[Any]]:
    """Open a graph; give the keys of its boxes, and its lines."""
    page.goto("about:blank")
    panel = Panel.alone(page, address, **state)
    return set(panel.places()), page.evaluate("() => window.laidOut")


@pytest.mark.parametrize("net", NETS)
def test_columns_cross_no_more_lines_than_one_column(net, logged, tensorboard_server, page) -> None:
    page.add_init_script(_KEEP)
    page.set_viewport_size({"width": 1280, "height": 720})
    address = tensorboard_server(logged)
    boxes, lines = lay_out(page, address, run=net)
    same_boxes, single = lay_out(page, address, run=net, columns="1")
    assert boxes == same_boxes
    assert len(lines) == len(single) > 0
    assert lines != single
    assert count_crossings(lines) <= count_crossings(single)
