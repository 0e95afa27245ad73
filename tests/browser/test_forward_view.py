"""Forward and backward in a real TensorBoard: values and gradients beside plain torch's, in every view."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.browser.flow_view import FlowView
from tests.browser.panel import Panel

pytestmark = pytest.mark.browser

STEPS, SHOWN, BREAKS = 5, 2, 3
MOST_NORM = 0.05
WEIGHT, HIDDEN = "parameter:0.weight", "1#0/ReluBackward0.0"


@dataclasses.dataclass
class Truth:
    """What plain torch says of one step."""

    weight: float
    weight_grad: float
    hidden: float
    hidden_grad: float
    loss: float
    total: float


@torch.no_grad()
def by_hand(net: nn.Sequential, x: torch.Tensor) -> tuple[float, float, float]:
    """Compute the norms of the first weight, of what the ReLU puts out, and of its gradient."""
    first, last = net[0].weight.clone(), net[2].weight.clone()
    hidden = (x @ first.T + net[0].bias).clamp(min=0)
    out = hidden @ last.T + net[2].bias
    gradient = (2 * out / out.numel()) @ last
    return float(first.norm()), float(hidden.norm()), float(gradient.norm())


def train(directory: pathlib.Path, values: bool) -> list[Truth]:
    """Train a small net with clipping; at the step ``BREAKS`` its input holds NaN."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    truths = []
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, values=values, tag="net")
        for step in range(STEPS):
            x = torch.randn(8, 4)
            if step == BREAKS:
                x[0, 0] = float("nan")
            weight, hidden, hidden_grad = by_hand(net, x)
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            grads = [each.grad for each in net.parameters() if each.grad is not None]
            total = float(torch.cat([grad.flatten() for grad in grads]).norm())
            weight_grad = float(net[0].weight.grad.norm())
            torch.nn.utils.clip_grad_norm_(net.parameters(), MOST_NORM)
            if step == BREAKS:
                optimizer.zero_grad()
            optimizer.step()
            truths.append(Truth(weight, weight_grad, hidden, hidden_grad, loss.item(), total))
    return truths


class Root(nn.Module):
    """Takes the root of numbers below zero."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(-x.abs() - 1)


def train_on_roots(directory: pathlib.Path) -> None:
    """Run one step of a net whose middle makes NaN, level "module"."""
    net = nn.Sequential(nn.Linear(4, 6), Root(), nn.Linear(6, 1))
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        writer.watch(net, every_n_steps=1, values=True, tag="net")
        net(torch.ones(8, 4)).mean().backward()


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[pathlib.Path, list[Truth]]:
    directory = tmp_path_factory.mktemp("forward")
    train_on_roots(directory / "roots")
    train(directory / "without", values=False)
    return directory, train(directory / "with", values=True)


@pytest.fixture
def logdir(trained) -> pathlib.Path:
    return trained[0]


@pytest.fixture
def truth(trained) -> Truth:
    return trained[1][SHOWN]


def near(number: float) -> object:
    return pytest.approx(number, rel=1e-3)


def number_of(panel: Panel, key: str) -> float:
    return float(panel.items()[key].value)


def opened(page, address: str, **state: str) -> Panel:
    panel = Panel.alone(page, address, step=str(SHOWN), **state)
    panel.control("expand-all").click()
    panel.wait_until(lambda: panel.items().get(WEIGHT) is not None)
    panel.wait_until(lambda: panel.items()[WEIGHT].state == "number")
    return panel


def test_the_switch_shows_either_half(address, page, truth):
    panel = opened(page, address, run="with")
    assert number_of(panel, WEIGHT) == near(truth.weight_grad)
    assert number_of(panel, HIDDEN) == near(truth.hidden_grad)
    panel.control("direction-forward").click()
    panel.wait_until(lambda: number_of(panel, WEIGHT) == near(truth.weight))
    assert number_of(panel, HIDDEN) == near(truth.hidden)
    labels = {(edge["source"], edge["label"]) for edge in panel.edges()}
    assert any(source == HIDDEN and float(text) == near(truth.hidden) for source, text in labels)
    assert "Value, L2 norm" in panel.control("legend").inner_text()


def test_the_card_has_both(address, page, truth):
    panel = opened(page, address, run="with", dir="forward")
    card = panel.select(WEIGHT)
    row = card.locator('[data-testid="statistics"] [data-statistic="l2_norm"]')
    panel.wait_until(lambda: row.get_attribute("data-value") not in (None, "none"))
    assert float(row.get_attribute("data-value")) == near(truth.weight_grad)
    assert float(row.get_attribute("data-forward")) == near(truth.weight)
    for strip in ("histogram-strip", "value-histogram-strip"):
        panel.control(strip).wait_for()


def test_the_ratio_along_the_depth(address, page, truth):
    panel = opened(page, address, run="with")
    panel.select(HIDDEN)  # its module is one operation
    panel.control("depth-key").wait_for()
    ratios = panel.control("depth-key").get_attribute("data-values").split(",")
    assert float(ratios[1]) == near(truth.hidden_grad / truth.hidden)


def test_a_run_without_values_shows_gradients_and_says_so(address, page):
    panel = opened(page, address, run="without", dir="forward")
    assert "values=True" in panel.control("no-values").inner_text()
    assert "Gradient, L2 norm" in panel.control("legend").inner_text()


def test_flow_and_charts_of_either_half(address, page, trained):
    flow = FlowView.alone(page, address, run="with", dir="forward", step=str(SHOWN))
    flow.wait_for_cells()
    panel = flow.panel
    panel.wait_until(lambda: "Value" in panel.control("flow-legend").inner_text())
    truths = trained[1]
    panel.wait_until(lambda: panel.control("scalar").input_value() == "step:loss")
    assert float(panel.control("scalar-value").inner_text()) == near(truths[SHOWN].loss)
    panel.wait_until(lambda: panel.control("bad-steps").get_attribute("data-steps") == str(BREAKS))
    panel.control("view-charts").click()
    lines = panel.control("charts-lines")
    line = lines.locator('[data-quantity="grad_norm/backward"] [data-line]')
    panel.wait_until(lambda: line.count() == 1)
    assert float(line.get_attribute("data-value")) == near(truths[SHOWN].total)


def test_values_are_compared(address, page, trained):
    panel = opened(page, address, run="with", dir="forward", **{"vs.step": "0"})
    truths = trained[1]
    ratio = truths[SHOWN].weight / truths[0].weight
    box = panel.frame.locator(f'[role="treeitem"][data-key="{WEIGHT}"]')
    panel.wait_until(lambda: box.get_attribute("data-ratio") is not None)
    assert float(box.get_attribute("data-ratio")) == near(ratio)


def test_a_nan_of_the_forward_is_found_by_name(address, page):
    panel = Panel.alone(page, address, run="with", dir="forward", step=str(BREAKS))
    panel.control("expand-all").click()
    panel.wait_until(lambda: panel.items().get(HIDDEN) is not None)
    panel.wait_until(lambda: panel.items()[HIDDEN].state == "nonfinite")
    assert panel.items()[WEIGHT].state == "number"
    found = panel.frame.locator('[data-testid="finding-list"] [data-kind="nonfinite_value"] button')
    panel.control("findings").click()
    assert "It began with what was given to it" in found.inner_text()
    assert "1 NaN of 32 elements" in found.inner_text()
    key = found.get_attribute("data-key")
    found.click()
    panel.wait_until(lambda: panel.control("card").get_attribute("data-key") == key)
    assert panel.items()[key].kind in ("input", "constant")


def test_the_operation_that_made_nan_is_found_by_name(address, page):
    panel = Panel.alone(page, address, run="roots", step="0")
    panel.wait_until(lambda: panel.control("findings").count() == 1)
    panel.control("findings").click()
    first = panel.control("finding-list").locator("li").first
    assert first.get_attribute("data-kind") == "nonfinite_value"
    assert "It began at 1/sqrt" in first.inner_text()
    first.locator("button").click()
    card = panel.control("card")
    panel.wait_until(lambda: card.get_attribute("data-key") == "1#0/SqrtBackward0.0")
    panel.wait_until(lambda: "NaN" in card.inner_text())
