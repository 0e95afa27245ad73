"""A graph that cannot be read at once opens where its first finding begins, or else at the loss."""

from __future__ import annotations

import pathlib

import pytest
import torch
from torch.nn.functional import cross_entropy

from tb_gradgraph import SummaryWriter
from tests.browser.gallery import nets_of_images as images
from tests.browser.panel import Panel

pytestmark = pytest.mark.browser

STEPS = 4
READABLE = 0.8


def train(directory: pathlib.Path, fault: bool) -> None:
    """Train a residual net; with the fault, its first convolution has an infinite weight in the end."""
    torch.manual_seed(0)
    net = images.ResNet(images.BasicBlock, [2, 2, 2, 2])
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    with SummaryWriter(str(directory)) as writer:
        settings = {"every_n_steps": 1, "level": "op", "values": True, "on_finding": None}
        writer.watch(net, optimizer=optimizer, **settings)
        for step in range(STEPS):
            if fault and step == STEPS - 1:
                with torch.no_grad():
                    net.conv1.weight[0, 0, 0, 0] = float("inf")
            optimizer.zero_grad()
            cross_entropy(net(torch.randn(4, 3, 64, 64)), torch.randint(10, (4,))).backward()
            optimizer.step()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("opening")
    train(root / "faulty", True)
    train(root / "healthy", False)
    return root


def is_in_view(panel: Panel, key: str) -> bool:
    """Say whether the upper left corner of a box is on the canvas."""
    canvas = panel.control("canvas")
    x, y, zoom = map(float, (canvas.get_attribute("data-camera") or "").split(","))
    left, top, _, _ = map(float, panel.places()[key].split(","))
    place = canvas.bounding_box()
    assert place is not None
    return (
        0 <= x + left * zoom <= place["width"]
        and 0 <= y + top * zoom <= place["height"]
        and zoom >= READABLE
    )


def wait_for_numbers(panel: Panel) -> None:
    panel.wait_until(lambda: any(item.state != "" for item in panel.items().values()))
    panel.wait_until(lambda: bool(panel.control("canvas").get_attribute("data-camera")))


def test_a_graph_opens_at_its_first_finding(runs, tensorboard_server, page) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    panel = Panel.alone(page, tensorboard_server(runs), run="faulty")
    finding = panel.control("verdict").get_by_test_id("run-finding").first
    finding.wait_for()
    key = finding.get_attribute("data-key")
    assert key in panel.places()
    assert key != "root:loss"
    panel.wait_until(lambda: is_in_view(panel, key))
    assert not is_in_view(panel, "root:loss")


def test_without_a_finding_it_opens_at_the_loss(runs, tensorboard_server, page) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    panel = Panel.alone(page, tensorboard_server(runs), run="healthy")
    wait_for_numbers(panel)
    panel.wait_until(lambda: is_in_view(panel, "root:loss"))
    assert not is_in_view(panel, next(iter(panel.places())))
