"""A file that ``tb-gradgraph export --html`` made, opened from the disk by a browser without a network."""

from __future__ import annotations

import contextlib
import pathlib
import warnings
from collections.abc import Iterator

import pytest
import torch
from playwright.sync_api import Browser, Page
from torch import nn

import tb_gradgraph
from tb_gradgraph import cli
from tests.browser.chromium import PAGE_LIMIT_S, Complaints
from tests.browser.flow_view import FlowView
from tests.browser.panel import Panel
from tests.logged import read_one_run, read_record, read_tensor
from tests.patience import patient_ms

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=alert(1)>&a=b é ${1} <!--"
STEPS = 12


class Hostile(nn.Module):
    """Module names are the user's."""

    def __init__(self) -> None:
        super().__init__()
        self.add_module(HOSTILE.replace(".", ""), nn.Linear(4, 3))
        self.head = nn.Sequential(nn.Tanh(), nn.Linear(3, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = self.children()
        return second(first(x))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A run whose name, tag, modules and scalars all try to break out."""
    directory = tmp_path_factory.mktemp("html") / HOSTILE
    torch.manual_seed(0)
    model = Hostile()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with warnings.catch_warnings(), tb_gradgraph.SummaryWriter(str(directory)) as writer:
        warnings.simplefilter("ignore")  # of a gradient that is not finite
        writer.watch(model, optimizer=optimizer, every_n_steps=1, level="op", tag=HOSTILE)
        for step in range(STEPS):
            loss = model(torch.randn(8, 4)).square().mean() * (float("inf") if step == 5 else 1)
            optimizer.zero_grad()
            loss.backward()
            if step == 5:
                optimizer.zero_grad()
            optimizer.step()
            writer.add_scalar(f"loss {HOSTILE}", loss.item(), step)
    return directory


@pytest.fixture(scope="module")
def file(run: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("page") / "graph.html"
    assert cli.main(["export", "--html", str(run.parents[1]), str(path)]) == 0
    return path


@contextlib.contextmanager
def opened(chromium: Browser, file: pathlib.Path, state: str = "") -> Iterator[Page]:
    """Open a file offline; nothing may be asked of a network, and nothing complain."""
    with chromium.new_context(viewport={"width": 1280, "height": 900}, offline=True) as context:
        context.set_default_timeout(patient_ms(PAGE_LIMIT_S))
        complaints = Complaints(context)
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{file.as_uri()}#{state}")
        yield page
        assert complaints.texts == []
        assert {url.partition(":")[0] for url in asked} <= {"file", "blob"}


def panel_of(page: Page) -> Panel:
    panel = Panel(page, page.locator("body"))  # type: ignore[arg-type]  # locates as a frame does
    panel.wait_for_picture()
    return panel


def test_it_shows_the_run_with_its_numbers(chromium, file, run):
    with opened(chromium, file, "p.gradgraph.step=3") as page:
        panel = panel_of(page)
        panel.wait_until(lambda: any(item.state == "number" for item in panel.items().values()))
        panel.control("expand-all").click()
        panel.wait_until(lambda: "parameter:head.1.weight" in panel.items())
        logged = read_one_run(run)
        for step in (3, 7):
            panel.control("step").fill(str(step))
            panel.control("step").press("Enter")
            expected = read_tensor(logged, read_record(logged, step=step), "head.1.weight")
            panel.select("parameter:head.1.weight")
            panel.wait_until(
                lambda expected=expected: (
                    panel.whole("gradient")
                    == pytest.approx(expected.gradient.flatten().tolist(), rel=1e-4)
                )
            )
        panel.control("chart").wait_for()
        assert panel.control("chart").get_attribute("data-points") == str(STEPS - 1)
        assert page.title().startswith(HOSTILE)
        assert panel.control("follow").count() == 0
        panel.wait_until(lambda: "p.gradgraph.step=7" in page.evaluate("location.hash"))


def test_everything_that_can_be_chosen_is_in_the_file(chromium, file):
    with opened(chromium, file) as page:
        panel = panel_of(page)
        panel.control("expand-all").click()
        panel.wait_until(lambda: "parameter:head.1.weight" in panel.items())
        for key in list(panel.items()):
            panel.select(key)
            page.wait_for_timeout(30)
            assert "does not hold" not in panel.control("panel").inner_text()
        options = panel.control("statistic").locator("option")
        for view in ("view-flow", "view-graph"):
            panel.control(view).click()
            for value in options.evaluate_all("options => options.map(option => option.value)"):
                panel.control("statistic").select_option(value)
                page.wait_for_timeout(60)
                assert "does not hold" not in panel.control("panel").inner_text()
        for stage in ("applied", "backward"):
            panel.control("stage").select_option(stage)
            panel.wait_until(lambda stage=stage: panel.control("stage").input_value() == stage)


def test_the_heat_map_and_the_loss_are_in_it(chromium, file):
    with opened(chromium, file, "p.gradgraph.view=flow&p.gradgraph.step=5") as page:
        flow = FlowView(Panel(page, page.locator("body")))  # type: ignore[arg-type]
        flow.wait_for_cells()
        assert flow.axis("columns").count == STEPS
        assert HOSTILE in (flow.panel.control("scalar").input_value())
        assert flow.panel.control("scalar-value").inner_text() == "+∞"
        assert flow.panel.control("bad-steps").get_attribute("data-steps") == "5"
