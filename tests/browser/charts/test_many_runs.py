"""Many runs in Charts, in a real TensorBoard: lines, hyperparameters, a diverged run, heat maps."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest
import torch
from playwright.sync_api import Browser
from torch import nn

import tb_gradgraph
from tests.browser.chromium import PAGE_LIMIT_S, Complaints
from tests.browser.panel import Panel
from tests.patience import patient_ms

pytestmark = pytest.mark.browser

RUNS, STEPS = 10, 6
DIVERGED = 4


@dataclasses.dataclass(frozen=True)
class Sweep:
    """What the trainings saw: the last loss of each run, and its last gradient norm of the first layer."""

    logdir: pathlib.Path
    losses: dict[str, float]
    norms: dict[str, float]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    logdir = tmp_path_factory.mktemp("sweep")
    losses, norms = {}, {}
    for number in range(RUNS):
        torch.manual_seed(number)
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        name = f"run{number}"
        with tb_gradgraph.SummaryWriter(str(logdir / name)) as writer:
            writer.watch(model, every_n_steps=1, tag="net")
            for step in range(STEPS):
                loss = model(torch.ones(2, 4)).square().mean() + 1
                loss = loss * (10.0 ** (6 * step) if number == DIVERGED else 1)
                model.zero_grad()
                loss.backward()
            losses[name] = loss.item()
            parameters = [parameter.grad.norm() for parameter in model[0].parameters()]
            norms[name] = max(parameters).item()
            writer.add_hparams({"width": number % 2}, {"loss": loss.item()})
    return Sweep(logdir, losses, norms)


def test_ten_runs_with_a_diverged_one_and_a_language_that_is_none(
    chromium: Browser, tensorboard_server, sweep: Sweep
):
    address = tensorboard_server(sweep.logdir)
    with chromium.new_context(viewport={"width": 1280, "height": 800}) as context:
        context.set_default_timeout(patient_ms(PAGE_LIMIT_S))
        complaints = Complaints(context)
        context.add_init_script(
            "Object.defineProperty(navigator, 'language', {value: 'C', configurable: true})"
        )
        page = context.new_page()
        state = {"view": "charts", "chart.step": "loss", "chart.every": "1", "run": "run0"}
        panel = Panel.alone_unawaited(page, address, **state)
        lines = panel.control("charts-lines").locator("[data-line]")
        panel.wait_until(lambda: lines.count() == RUNS)
        read = "lines => lines.map(line => [line.dataset.line.split('\\n')[0], Number(line.dataset.value)])"
        panel.wait_until(
            lambda: dict(lines.evaluate_all(read)) == pytest.approx(sweep.losses, rel=1e-5)
        )
        outliers = panel.control("outliers")
        assert outliers.get_attribute("data-lines").split("\n")[0] == f"run{DIVERGED}"
        options = panel.control("color-by").locator("option")
        panel.wait_until(lambda: "width" in options.all_inner_texts())
        panel.control("color-by").select_option("=width")
        panel.wait_until(lambda: panel.control("levels").locator("li").count() == 2)
        panel.control("as-layers").click()
        layers = panel.control("layers")
        panel.wait_until(lambda: layers.get_attribute("data-ready") == str(RUNS))
        expected = sorted(sweep.losses, key=lambda run: sweep.losses[run])
        panel.wait_until(lambda: (layers.get_attribute("data-runs") or "").split("\n") == expected)
        last = page.locator(f'[data-testid=tile][data-run="{expected[0]}"] canvas').bounding_box()
        assert last is not None
        page.mouse.move(last["x"] + last["width"] - 4, last["y"] + 4)
        said = panel.control("layers-said")
        panel.wait_until(
            lambda: said.inner_text().startswith(f"{expected[0]}: 0#0, step {STEPS - 1}:")
        )
        number = float(said.inner_text().rsplit(" ", 1)[1].replace("−", "-"))
        assert number == pytest.approx(sweep.norms[expected[0]], rel=2e-3)
        assert complaints.texts == []
