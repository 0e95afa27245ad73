"""A file that ``tb-gradgraph export --html`` made, opened from the disk by a browser without a network."""

from __future__ import annotations

import contextlib
import pathlib
import warnings
from collections.abc import Iterator

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page
from torch import nn

import tb_gradgraph
from tb_gradgraph.commands import main as cli
from tb_gradgraph.statistics import STATISTICS
from tests.browser.chromium import PAGE_LIMIT_S, Complaints
from tests.browser.flow_view import FlowView
from tests.browser.panel import Panel
from tests.logged import read_one_run, read_record, read_tensor
from tests.patience import patient_ms

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=alert(1)>&a=b é ${1} <!--"
STEPS = 12

#: What the panel of a file says to the console of a question that the file has no answer to.
_LACKS = "not in this file"


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
        kinds = {"level": "op", "values": True, "tag": HOSTILE}
        writer.watch(model, optimizer=optimizer, every_n_steps=1, **kinds)
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
    """Open a file offline; nothing may be asked of a network or that the file lacks, and nothing complain."""
    with chromium.new_context(viewport={"width": 1280, "height": 900}, offline=True) as context:
        context.set_default_timeout(patient_ms(PAGE_LIMIT_S))
        complaints = Complaints(context)
        page = context.new_page()
        asked: list[str] = []
        lacking: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda told: _LACKS in told.text and lacking.append(told.text))
        page.goto(f"{file.as_uri()}#{state}")
        yield page
        assert complaints.texts == []
        assert lacking == []
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


_CHOICES = "select:not([data-testid=run])"


def list_values(choice: Locator) -> list[str]:
    """List what can be chosen in a list."""
    read = "options => options.map(option => option.value)"
    return choice.locator("option").evaluate_all(read)


def choose_everything(page: Page, panel: Panel) -> None:
    """Choose each value of each list that is on the page, and go through the steps."""
    for at in range(page.locator(_CHOICES).count()):
        choice = page.locator(_CHOICES).nth(at)
        if choice.count() == 0:  # another choice took it away
            continue
        for value in list_values(choice):
            choice.select_option(value)
            page.wait_for_timeout(60)
    for key in ("End", "Home", "ArrowRight"):
        page.keyboard.press(key)
        page.wait_for_timeout(60)
    page.wait_for_timeout(200)


def test_no_view_asks_what_the_file_lacks(chromium, file):
    with opened(chromium, file) as page:
        panel = panel_of(page)
        panel.control("expand-all").click()
        panel.wait_until(lambda: "parameter:head.1.weight" in panel.items())
        panel.select("parameter:head.1.weight")
        panel.control("pin").click()
        buttons = panel.control("view").locator("button")
        assert buttons.count() >= 3
        for at in range(buttons.count()):
            buttons.nth(at).click()
            page.wait_for_timeout(300)
            for direction in ("forward", "backward"):
                panel.control(f"direction-{direction}").click()
                page.wait_for_timeout(100)
                choose_everything(page, panel)
            if panel.control("compare").count() > 0:
                panel.control("compare").click()
                panel.control("compare-bar").wait_for()
                choose_everything(page, panel)
                panel.control("direction-forward").click()
                page.wait_for_timeout(200)
                choose_everything(page, panel)
                panel.control("direction-backward").click()
                panel.control("vs-close").click()


def test_forward_shows_the_recorded_values_and_numbers_of_the_step(chromium, file, run):
    logged = read_one_run(run)
    values = next(
        one.table for one in logged.forwards if one.step == 3 and one.tag == logged.records[0].tag
    )
    assert values is not None
    with opened(chromium, file, "p.gradgraph.step=3&p.gradgraph.dir=forward") as page:
        panel = panel_of(page)
        panel.control("expand-all").click()
        key = "parameter:head.1.weight"
        panel.wait_until(lambda: panel.items().get(key) is not None)
        graph = logged.graphs[logged.records[0].graph_hash]
        row = graph.slot_offsets[[node.key for node in graph.nodes].index(key)]
        expected = values.values[row, STATISTICS.index("l2_norm")]
        panel.wait_until(lambda: panel.items()[key].value == f"{expected:.6g}")
        assert "Value" in panel.control("legend").inner_text()
        panel.control("view-charts").click()
        norm = panel.control("charts-lines").locator('[data-quantity="grad_norm/backward"]')
        norm.get_by_test_id("unpin").click()
        panel.wait_until(
            lambda: panel.control("chart").get_attribute("data-points") == str(STEPS - 1)
        )


class Changing(nn.Module):
    """Every other step takes another way, so that one tag has two graphs."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.calls = nn.Linear(4, 1), nn.Linear(4, 1), 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.first(x) if self.calls % 2 else self.second(x).tanh()


def test_no_view_asks_what_the_file_lacks_where_graphs_change(chromium, tmp_path):
    torch.manual_seed(0)
    model = Changing()
    with tb_gradgraph.SummaryWriter(str(tmp_path / "run")) as writer:
        writer.watch(model, every_n_steps=1, level="op")
        for step in range(4):
            model(torch.randn(8, 4)).square().mean().backward()
            writer.add_scalar("loss", 1.0, step)
            model.zero_grad()
    page_file = tmp_path / "graph.html"
    assert cli.main(["export", "--html", str(tmp_path), str(page_file)]) == 0
    with opened(chromium, page_file) as page:
        panel = panel_of(page)
        panel.control("hash").wait_for()
        panel.control("expand-all").click()
        key = next(key for key in panel.items() if "Tanh" in key)
        panel.select(key)
        panel.control("pin").click()
        shown = panel.control("hash").input_value()
        other = next(one for one in list_values(panel.control("hash")) if one != shown)
        panel.control("hash").select_option(other)
        panel.wait_until(lambda: panel.items() != {} and key not in panel.items())
        panel.control("view-charts").click()
        panel.wait_until(lambda: panel.control("charts-lines").locator("[data-line]").count() == 1)
        choose_everything(page, panel)
