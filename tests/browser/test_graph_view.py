"""Folding in a real browser: runs with their strip, chains in their line, the way that lights up."""

from __future__ import annotations

import pathlib

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.browser.panel import Panel

pytestmark = pytest.mark.browser

BLOCKS, COUNT = "#0~repeat:h.0#0", 8
#: Height of a strip's middle above the lower border of its box, and how far it is from the sides.
STRIP_ABOVE, STRIP_MARGIN = 18, 12


class Block(nn.Module):
    """Attention with its reshaping, in small."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.view(2, 4, 2, 4).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        mixed = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return x + self.out(mixed.transpose(1, 2).reshape(2, 4, 8))


class Net(nn.Module):
    """Equal blocks one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.h = nn.ModuleList(Block() for _ in range(COUNT))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.h:
            x = block(x)
        return x.square().mean()


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, tb_gradgraph.GradGraph]:
    """The log of one step, and the same graph in Python."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("folded")
    with tb_gradgraph.SummaryWriter(str(path / "net")) as writer:
        graph = writer.add_grad_graph(Net(), torch.randn(2, 4, 8))
    return path, graph


@pytest.fixture
def panel(logged, tensorboard_server, page) -> Panel:
    """The panel on it, with numbers and a picture."""
    panel = Panel.alone(page, tensorboard_server(logged[0]), run="net")
    panel.wait_until(lambda: panel.items()[BLOCKS].state == "number")
    panel.wait_until(lambda: bool(panel.control("canvas").get_attribute("data-camera")))
    return panel


def on_screen(panel: Panel, x: float, y: float) -> tuple[float, float]:
    """Find a point of the drawing in the window."""
    left, top, zoom = map(float, panel.control("canvas").get_attribute("data-camera").split(","))
    box = panel.control("canvas").bounding_box()
    return box["x"] + left + x * zoom, box["y"] + top + y * zoom


def rect(panel: Panel, key: str) -> list[float]:
    """Read where a box lies in the drawing: left, top, width, height."""
    return [float(part) for part in panel.places()[key].split(",")]


def cell(panel: Panel, block: int) -> tuple[float, float]:
    """Find the middle of a block's cell in the window."""
    x, y, width, height = rect(panel, BLOCKS)
    along = (block + 0.5) / COUNT * (width - 2 * STRIP_MARGIN)
    return on_screen(panel, x + STRIP_MARGIN + along, y + height - STRIP_ABOVE)


def lit(panel: Panel) -> set[str]:
    """Read the keys of what lights up."""
    return set((panel.control("canvas").get_attribute("data-lit") or "").split("\n")) - {""}


def test_equal_blocks_are_one_box_and_a_cell_is_its_block(panel: Panel, logged) -> None:
    assert not [key for key in panel.items() if key.startswith("h.")]
    panel.page.mouse.click(*cell(panel, 5))
    panel.wait_until(lambda: panel.control("card").get_attribute("data-key") == "h.5#0")
    shown = float(panel.control("summary-value").get_attribute("data-value"))
    graph = logged[1]
    inside = [n for n in graph.nodes if n.key.removeprefix("parameter:").startswith("h.5")]
    read = [graph[n.name].statistics for n in inside]
    norms = [one.l2_norm for one in read if one is not None]
    assert shown == pytest.approx(max(norms), rel=1e-5)
    panel.page.mouse.dblclick(*cell(panel, 5))
    panel.wait_until(lambda: {f"h.{nr}#0" for nr in range(COUNT)} <= set(panel.items()))
    assert panel.control("breadcrumbs").inner_text().split("›")[-1].strip() == "h.5"


def test_the_mark_of_a_chain_opens_it(panel: Panel) -> None:
    panel.toggle(BLOCKS)
    panel.wait_until(lambda: "h.1#0" in panel.items())
    panel.toggle("h.1#0")
    softmax, out = "h.1#0/SoftmaxBackward0.0", "h.1.out#0"
    panel.wait_until(lambda: softmax in panel.items() and out in panel.items())
    folded = [edge for edge in panel.edges() if "transpose" in edge.get("folded", "")]
    assert folded
    assert not [key for key in panel.items() if "ViewBackward0" in key or "Transpose" in key]
    marked = next(edge for edge in folded if edge["target"] == out)
    panel.control("fit").click()
    panel.wait_until(lambda: not panel.control("minimap").is_visible())
    panel.page.mouse.click(*on_screen(panel, *map(float, marked["mark"].split(","))))
    panel.wait_until(lambda: any("Transpose" in key for key in panel.items()))
    into = {edge["source"] for edge in panel.edges() if edge["target"] == out}
    assert all("Backward" in key and "folded" not in key for key in into - {"h.0#0"})


def test_the_way_to_the_loss_and_the_leaves_lights_up(panel: Panel) -> None:
    x, y, width, height = rect(panel, "root:output")
    panel.page.mouse.move(*on_screen(panel, x + width / 2, y + height / 2))
    panel.wait_until(lambda: {BLOCKS, "root:output"} <= lit(panel))
    boxes = {key for key, item in panel.items().items() if key != "#0"}
    assert lit(panel) == boxes
    panel.page.mouse.move(5, 300)
    panel.wait_until(lambda: not lit(panel))
