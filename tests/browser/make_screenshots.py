"""Make the pictures in ``docs/`` from the demos: ``python -m tests.browser.make_screenshots``."""

from __future__ import annotations

import pathlib
import tempfile

import torch
from playwright.sync_api import Browser
from torch import nn
from torch.nn.functional import cross_entropy

from tb_gradgraph import SummaryWriter
from tests.browser.chromium import launch_chromium
from tests.browser.flow_view import FlowView
from tests.browser.panel import Panel
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
    """Run the demos and write every picture; the README's in both color schemes."""
    with tempfile.TemporaryDirectory() as directory:
        for demo in ("digits", "detached", "meta_learning"):
            run_demo(demo, pathlib.Path(directory) / demo)
        train_with_a_spike(pathlib.Path(directory) / "transformer")
        with run_tensorboard(directory) as address, launch_chromium() as browser:
            for scheme, name in (("light", "panel-light.png"), ("dark", "panel-dark.png")):
                make_picture(browser, address, scheme, ROOT / "docs" / name)
            for scheme in ("light", "dark"):
                make_flow_picture(browser, address, scheme, ROOT / "docs" / f"flow-{scheme}.png")
            for name, (state, selected) in DETAILS.items():
                make_detail(browser, address, state, selected, ROOT / "docs" / name)


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


def train_with_a_spike(directory: pathlib.Path) -> None:
    """Train a small transformer whose learning rate is far too high for some steps."""
    torch.manual_seed(0)
    tokens, width, length = 32, 32, 24
    layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    model = nn.Sequential(nn.Embedding(tokens, width), encoder, nn.Linear(width, tokens))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with SummaryWriter(str(directory)) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=1)
        for step in range(300):
            optimizer.param_groups[0]["lr"] = 1.5 if 150 <= step < 156 else 0.05
            start, stride = torch.randint(tokens, (2, 16, 1))
            batch = (start + (1 + stride % 6) * torch.arange(length)) % tokens
            output = model(batch[:, :-1])
            loss = cross_entropy(output.flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("train/loss", loss.item(), step)


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
