"""The panel in Firefox and in WebKit, Safari's engine: in TensorBoard behind a prefix, and as one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn

from tb_gradgraph import SummaryWriter
from tb_gradgraph.commands import main as cli
from tests.browsers.firefox import Firefox, find_firefox, launch_firefox
from tests.browsers.webkit import WebKit, find_webkit, launch_webkit
from tests.patience import wait_until

# Two more browsers are some 300 MB; what they draw is what Chromium draws, which other tests look at.
pytestmark = pytest.mark.slow

PANEL_LIMIT_S = 60.0
BROWSERS = {"firefox": (find_firefox, launch_firefox), "webkit": (find_webkit, launch_webkit)}

#: A drawing has more colors than this; a frame around nothing has fewer.
FEWEST = 8
#: How many different colors the greatest canvas of the panel has, of a tenth of its pixels.
COLORS = """(() => {
  const area = (canvas) => canvas.width * canvas.height;
  const canvas = [...document.querySelectorAll('canvas')].sort((a, b) => area(b) - area(a))[0];
  if (canvas === undefined || area(canvas) === 0) return 0;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const pixels = new Uint32Array(data.buffer);
  return new Set(pixels.filter((_, i) => i % 10 === 0)).size;
})()"""


@pytest.fixture(scope="module", params=BROWSERS)
def browser(request: pytest.FixtureRequest) -> Iterator[Firefox | WebKit]:
    find, launch = BROWSERS[request.param]
    if find() is None:
        pytest.skip(f"no {request.param}; .ci/install_browsers installs one")
    with launch() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tensorboard_server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of the same run: in TensorBoard, and in a file."""
    logdir, file = tmp_path_factory.mktemp("log"), tmp_path_factory.mktemp("page") / "graph.html"
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    with SummaryWriter(str(logdir)) as writer:
        writer.watch(model, every_n_steps=1, level="op")
        for _ in range(4):
            model(torch.randn(8, 4)).square().mean().backward()
            model.zero_grad()
    assert cli.main(["export", "--html", str(logdir), str(file)]) == 0
    server = tensorboard_server(logdir, path_prefix="/some/where")
    return {"tensorboard": f"{server}#gradgraph", "file": file.as_uri()}


def value_of(browser: Firefox | WebKit, control: str, name: str = "data-value") -> str | None:
    """Read an attribute of a part of the panel; None while there is no such part."""
    found = f"document.querySelector('[data-testid={control}]')?.getAttribute('{name}')"
    return browser.evaluate(f"{found} ?? null")


def wait(browser: Firefox | WebKit, holds: Callable[[], bool]) -> None:
    def try_it() -> bool:
        try:
            return holds()
        except RuntimeError:  # TensorBoard made the frame anew
            return False

    assert wait_until(try_it, PANEL_LIMIT_S), (
        browser.evaluate("document.body.innerText"),
        browser.complaints(),
    )


@pytest.mark.parametrize("place", ["tensorboard", "file"])
def test_it_opens_draws_every_view_and_hears_keys(browser, pages, place):
    browser.open(pages[place])
    wait(browser, lambda: browser.evaluate(COLORS) > FEWEST)
    assert browser.evaluate("document.querySelectorAll('[role=treeitem]').length") > 0

    last = value_of(browser, "slider", "aria-valuetext")
    browser.press("\ue012")  # left
    wait(browser, lambda: value_of(browser, "slider", "aria-valuetext") != last)

    for key, view in (("2", "flow"), ("3", "charts"), ("1", "graph")):
        browser.press(key)
        wait(browser, lambda view=view: value_of(browser, "view") == view)
        wait(browser, lambda view=view: browser.evaluate(COLORS) > FEWEST or view == "charts")

    assert browser.evaluate("[document.documentElement.lang, document.title !== '']") == [
        "en", True,
    ]  # fmt: skip
    assert browser.complaints() == []
