"""The notebook: its cells run, and the frame that TensorBoard puts below them shows the panel."""

from __future__ import annotations

import functools
import http.server
import os
import pathlib
import subprocess
import sys
import threading
from collections.abc import Iterator

import nbformat
import pytest

from tests.browser.panel import Panel
from tests.logged import read_one_run, read_record, read_tensor
from tests.patience import patient

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[pathlib.Path, list[str]]]:
    """Run the notebook; give its log directory and the HTML that its cells show."""
    directory = tmp_path_factory.mktemp("notebook")
    logdir, target = directory / "log", directory / "executed.ipynb"
    command = [sys.executable, "-m", "tests.demo.notebook_process"]
    environment = {
        **os.environ,
        "LOGDIR": str(logdir),
        "TMPDIR": str(directory),  # where TensorBoard notes its running servers, to reuse them
        "IPYTHONDIR": str(directory / "ipython"),
    }
    with subprocess.Popen(
        [*command, str(ROOT / "demo" / "net.ipynb"), str(target)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout.readline() == b"executed\n"
            yield logdir, list(_list_html(nbformat.read(target, as_version=4)))
        finally:
            process.stdin.close()
            process.wait(patient(20))


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


@pytest.fixture
def notebook_page(executed, tmp_path: pathlib.Path) -> Iterator[str]:
    """Serve what the cells show, as a notebook server would; give the address.

    A browser lets a page frame a server of the own machine only if the page
    comes from the own machine itself.
    """
    (tmp_path / "index.html").write_text("<!DOCTYPE html>" + "".join(executed[1]))
    (tmp_path / "favicon.ico").write_bytes(b"")  # browsers ask for it
    handler = functools.partial(_QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}/index.html"
        server.shutdown()
        thread.join()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.browser
def test_frame_in_the_notebook_shows_the_panel(notebook_page: str, page):
    page.goto(notebook_page)
    panel = Panel.of_notebook(page)
    assert {"input:x", "root:output"} <= panel.items().keys()
