"""A training that runs while somebody looks at it: new steps come, and nothing that he looks at moves."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator

import pytest

from tests import warm
from tests.browser.chromium import PAGE_LIMIT_S
from tests.browser.flow_view import FlowView
from tests.browser.panel import Panel
from tests.patience import patient_ms

pytestmark = pytest.mark.browser


class Training:
    """A process that trains when it is told to."""

    def __init__(self, logdir: pathlib.Path) -> None:
        program = ("-m", "tests.browser.live_training", str(logdir))
        self._talk = warm.Talk(*program, stderr=sys.__stderr__)
        self.close = self._talk.close

    def go_on(self, steps: int) -> str:
        """Train that many steps and wait until they are on disk; gives the last one."""
        self._talk.say(str(steps))
        return self._talk.stdout.readline().strip()

    def end(self) -> None:
        """Let the loop end, and its writer close."""
        self._talk.stdin.close()
        assert self._talk.process.wait() == 0


@pytest.fixture
def training(tmp_path: pathlib.Path) -> Iterator[Training]:
    made = Training(tmp_path / "run")
    try:
        yield made
    finally:
        made.close()


def shown(panel: Panel) -> str:
    return panel.control("step-count").inner_text()


def look_of(panel: Panel) -> tuple[object, ...]:
    """What must not move."""
    slider, canvas = panel.control("slider"), panel.control("canvas")
    card = panel.control("card")
    return (
        *(panel.control("step").input_value(), slider.input_value()),
        *(canvas.get_attribute("data-camera"), panel.places(), card.get_attribute("data-key")),
        card.evaluate("card => card.scrollTop"),
    )


@pytest.mark.parametrize("load_fast", [True, False], ids=["rust", "python"])
def test_new_steps_come_by_themselves_and_move_nothing(
    load_fast, tensorboard_server, training, tmp_path, page
):
    assert training.go_on(5) == "4"
    address = tensorboard_server(tmp_path, load_fast=load_fast)
    panel = Panel.open(page, address, step="2")
    panel.select("parameter:0.weight")
    panel.control("chart").wait_for()
    panel.control("zoom-in").click()
    panel.control("card").evaluate("card => card.scrollTop = 60")
    page.wait_for_timeout(600)  # the card takes its room
    before = look_of(panel)
    assert (shown(panel), panel.control("follow").get_attribute("aria-pressed")) == (
        "3 of 5",
        "false",
    )
    training.go_on(4)
    panel.wait_until(lambda: shown(panel) == "3 of 9")
    panel.wait_until(lambda: panel.control("unseen").inner_text() == "4 new")
    panel.wait_until(lambda: panel.control("chart").get_attribute("data-points") == "9")
    assert look_of(panel) == before

    panel.control("follow").click()
    panel.wait_until(lambda: shown(panel) == "9 of 9")
    assert panel.control("unseen").inner_text() == ""
    value = panel.items()["parameter:0.weight"].value
    training.go_on(3)
    panel.wait_until(lambda: shown(panel) == "12 of 12")
    panel.wait_until(lambda: panel.items()["parameter:0.weight"].value != value)
    assert look_of(panel)[2:] == before[2:]
    panel.wait_until(lambda: "p.gradgraph.follow=1" in page.evaluate("location.hash"))
    training.end()


def test_the_heat_map_grows_by_its_new_columns_only(tensorboard_server, training, tmp_path, page):
    training.go_on(6)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    flow = FlowView.alone(page, tensorboard_server(tmp_path), step="3")
    flow.panel.wait_until(lambda: flow.axis("columns").count == 6)
    rows = flow.list_keys()
    asked.clear()
    training.go_on(4)
    flow.panel.wait_until(lambda: flow.axis("columns").count == 10)
    froms = [url.partition("from=")[2].partition("&")[0] for url in asked if "/flow?" in url]
    assert froms == ["6"]
    assert (flow.step(), flow.list_keys()) == ("3", rows)
    training.end()


def test_an_empty_log_directory_fills_while_it_is_open(
    tensorboard_server, training, tmp_path, page
):
    panel = Panel.alone_unawaited(page, tensorboard_server(tmp_path))
    panel.control("empty").wait_for()
    training.go_on(2)
    panel.wait_for_picture()
    training.end()


def test_a_server_that_is_gone_is_said_and_what_is_shown_stays(tmp_path, training, chromium):
    """Not the fixture's page: what a browser writes to the console of a refused connection is right here."""
    from tests.tensorboard_process import run_tensorboard

    training.go_on(2)
    with chromium.new_context() as context:
        context.set_default_timeout(patient_ms(PAGE_LIMIT_S))
        page = context.new_page()
        with run_tensorboard(tmp_path) as address:
            panel = Panel.open(page, address)
        panel.control("unreachable").wait_for()
        assert panel.control("notice").count() == 0
        assert len(panel.items()) > 0
    training.end()
