"""Parts of the panel that are loaded on demand, from a real TensorBoard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import PAGE_LIMIT_S
from tests.browser.panel import Panel
from tests.patience import patient_ms

pytestmark = pytest.mark.browser


def test_a_part_that_could_not_be_loaded_says_so_and_is_tried_again(
    chromium: Browser, tensorboard_server, logdir
):
    address = tensorboard_server(logdir, load_fast=False, path_prefix="/foo/bar")
    with chromium.new_context() as context:
        context.set_default_timeout(patient_ms(PAGE_LIMIT_S))
        page = context.new_page()
        page.route("**/charts_body-*.js", lambda route: route.abort())
        panel = Panel.alone(page, address, run="digits")
        panel.control("view-charts").click()
        failed = panel.control("part-failed")
        failed.wait_for()
        assert "The charts could not be loaded" in failed.inner_text()
        panel.control("view-flow").click()
        panel.control("flow").wait_for()
        panel.control("view-charts").click()
        failed.wait_for()
        page.unroute_all()
        panel.control("part-retry").click()
        panel.control("add-quantity").wait_for()
