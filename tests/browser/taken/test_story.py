"""A story of marked views: kept, handed on as a file, and opened again from a real TensorBoard."""

from __future__ import annotations

import pathlib

import pytest
from playwright.sync_api import Page

from tests.browser.panel import Panel
from tests.browser.test_accessibility import AXE, list_violations

pytestmark = pytest.mark.browser


def mark(panel: Panel, line: str, number: int) -> None:
    """Mark the shown view by its key, and write a line for it."""
    panel.control("story").focus()
    panel.page.keyboard.press("m")
    panel.wait_until(lambda: panel.control("mark").count() == number)
    panel.wait_until(
        lambda: panel.control("mark-line").last.evaluate(
            "input => input === document.activeElement"
        )
    )
    panel.page.keyboard.type(line)
    panel.page.keyboard.press("Escape")
    panel.wait_until(lambda: panel.control("story-list").count() == 0)


def test_story_is_kept_saved_and_opened_again(address: str, page: Page, tmp_path: pathlib.Path):
    panel = Panel.open(page, address, run="digits", step="0", sel="parameter:head.weight")
    panel.control("card").wait_for()
    mark(panel, "It began here", 1)
    panel.control("view-flow").click()
    panel.control("flow-canvas").wait_for()
    mark(panel, "All steps <b>at once</b>", 2)

    page.reload()
    panel = Panel(page, panel.frame)
    panel.control("story").click()
    lines = panel.control("mark-line")
    panel.wait_until(lambda: lines.count() == 2)
    assert [lines.nth(i).input_value() for i in range(2)] == [
        "It began here",
        "All steps <b>at once</b>",
    ]
    pictures = panel.frame.locator("[data-testid=mark-go] img")
    panel.wait_until(lambda: pictures.count() == 2)  # also after the page was loaded again

    files = {}
    for kind in ("html", "md"):
        with page.expect_download() as download:
            panel.control(f"story-{kind}").click()
        files[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[kind])
    assert files["md"].read_text(encoding="utf-8").count("](data:image/png;base64,") == 2

    panel.control("mark-go").first.click()
    card = panel.control("card")
    panel.wait_until(
        lambda: card.count() == 1 and card.get_attribute("data-key") == "parameter:head.weight"
    )
    assert panel.control("step").input_value() == "0"

    reader = page.context.new_page()
    reader.goto(files["html"].as_uri())
    assert reader.locator("h2").all_inner_texts() == [
        "1. It began here",
        "2. All steps <b>at once</b>",
    ]
    widths = reader.locator("img").evaluate_all("all => all.map(image => image.naturalWidth)")
    assert len(widths) == 2 and min(widths) > 400
    if AXE.exists():
        assert list_violations(reader) == []
    reader.locator("a").first.click()
    again = Panel(reader, reader.frame_locator('iframe[src*="name=gradgraph"]'))
    again.wait_for_picture()
    again.wait_until(
        lambda: again.control("card").get_attribute("data-key") == "parameter:head.weight"
    )
