"""Files that the panel gives, saved by a real browser from a real TensorBoard, under its policy."""

from __future__ import annotations

import csv
import pathlib
import struct
import xml.etree.ElementTree as ET

import pytest

from tests.browser.panel import Panel
from tests.logged import read_one_run, read_record, read_tensor

pytestmark = pytest.mark.browser


def save(panel: Panel, name: str, path: pathlib.Path) -> bytes:
    """Press a button and give the file that comes."""
    with panel.page.expect_download() as download:
        panel.control(name).click()
    download.value.save_as(path)
    return path.read_bytes()


def test_pictures_tables_and_link(address, logdir, page, tmp_path):
    panel = Panel.open(page, address, run="digits", step="0", sel="parameter:head.weight")
    panel.control("chart").wait_for()
    rows = list(csv.DictReader(save(panel, "chart-csv", tmp_path / "a.csv").decode().splitlines()))
    run = read_one_run(logdir / "digits")
    assert len(rows) == int(panel.control("chart").get_attribute("data-points") or 0) > 2
    for row in rows:
        expected = read_tensor(run, read_record(run, step=int(row["step"])), "head.weight")
        assert float(row["l2_norm"]) == pytest.approx(expected.statistics.l2_norm, rel=1e-6)

    panel.control("take-away").click()
    png = save(panel, "save-png", tmp_path / "a.png")
    width, height = struct.unpack(">II", png[16:24])
    box = panel.control("canvas").bounding_box()
    assert (width, height) == (2 * box["width"], int(2 * (box["height"] + 44)))
    svg = ET.fromstring(save(panel, "save-whole-svg", tmp_path / "a.svg"))
    texts = {element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"head", "log_softmax", "digits · Net, step 0"} < texts
    dot = save(panel, "save-dot", tmp_path / "a.dot").decode()
    assert dot.startswith("digraph")

    link = panel.control("link").input_value()
    other = page.context.new_page()
    other.goto(link)
    again = Panel(other, other.frame_locator('iframe[src*="name=gradgraph"]'))
    again.wait_for_picture()
    card = again.control("card")
    again.wait_until(lambda: card.get_attribute("data-key") == "parameter:head.weight")
    assert again.control("step").input_value() == "0"
