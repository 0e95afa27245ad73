"""The notebook: its cells run, and the frame that TensorBoard puts below them shows the panel."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import nbformat
import pytest

from tests.browser.panel import Panel
from tests.logged import read_one_run, read_record, read_tensor

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[pathlib.Path, list[str]]]:
    """Run the notebook; give its log directory and the HTML that its cells show.

    The server that it starts outlives its kernel, as it is meant to; it writes
    its process id where the temporary files are, and is ended by that.
    """
    directory = tmp_path_factory.mktemp("notebook")
    logdir, temporary = directory / "log", directory / "tmp"
    temporary.mkdir()
    environment = {
        **os.environ,
        "LOGDIR": str(logdir),
        "TMPDIR": str(temporary),
        "JUPYTER_PLATFORM_DIRS": "1",
        "IPYTHONDIR": str(directory / "ipython"),
    }
    target = directory / "executed.ipynb"
    command = [sys.executable, "-m", "tests.demo.notebook_process"]
    try:
        finished = subprocess.run(
            [*command, str(ROOT / "demo" / "net.ipynb"), str(target)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert finished.returncode == 0, finished.stderr
        yield logdir, list(_list_html(nbformat.read(target, as_version=4)))
    finally:
        for path in (temporary / ".tensorboard-info").glob("pid-*.info"):
            os.kill(json.loads(path.read_text())["pid"], signal.SIGTERM)


def _list_html(notebook: nbformat.NotebookNode) -> Iterator[str]:
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "text/html" in output.get("data", {}):
                yield output["data"]["text/html"]


def test_cells_log_the_graph(executed):
    run = read_one_run(executed[0])
    assert (read_tensor(run, read_record(run), "b").gradient == 10).all()


def test_graph_shows_itself_as_a_table(executed):
    table, *_ = executed[1]
    assert "<table" in table
    assert "(2, 1)" in table or "[2, 1]" in table


@pytest.mark.browser
def test_frame_in_the_notebook_shows_the_panel(executed, page):
    frames = [text for text in executed[1] if "<iframe" in text]
    (frame,) = frames
    page.route(
        "http://localhost:8888/notebook",
        lambda route: route.fulfill(content_type="text/html", body=f"<!DOCTYPE html>{frame}"),
    )
    page.goto("http://localhost:8888/notebook")
    panel = Panel.of_notebook(page)
    assert {"w", "b", "x"} <= set(panel.list_names())
