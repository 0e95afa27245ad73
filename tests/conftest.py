"""Fixtures that more than one room's tests use: TensorBoard, Chromium, the demos' logs."""

from __future__ import annotations

import contextlib
import gc
import os
import pathlib
from collections.abc import Callable, Iterator

import pytest

from tests import order, spent
from tests.browser.find_chromium import find_chromium
from tests.demo.run_demo import run_demo
from tests.tensorboard_process import run_tensorboard

Serve = Callable[..., str]

# Torch reads it when it is imported, which conftest.py files further down do, and processes that
# tests start inherit it. Tensors here are tiny, and their sums must not depend on how many threads
# an earlier test, or another process, has.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="module", autouse=True)
def what_is_there_is_not_collected() -> None:
    """Leave what exists before a file's tests out of their collections, and of what they count.

    Torch and the tests are half a million objects, through which each ``gc.collect()`` would go.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the interpreter end as it does: triton complains of what is not collected."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def tensorboard_server() -> Iterator[Serve]:
    """Serve a logdir: ``tensorboard_server(logdir, load_fast=..., path_prefix=...)``.

    Gives the address. A second call with the same arguments gives the same
    server; all of them end with the tests.
    """
    with contextlib.ExitStack() as servers:
        started: dict[tuple[str, bool, str], str] = {}

        def serve(
            logdir: str | os.PathLike[str], *, load_fast: bool = True, path_prefix: str = ""
        ) -> str:
            key = (os.fspath(logdir), load_fast, path_prefix)
            if key not in started:
                started[key] = servers.enter_context(
                    run_tensorboard(logdir, load_fast=load_fast, path_prefix=path_prefix)
                )
            return started[key]

        yield serve


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium, shared by all tests."""
    if find_chromium() is None and os.environ.get("CI") != "true":
        pytest.skip("no Chromium; .ci/install_chromium installs one")
    from tests.browser.chromium import launch_chromium

    with launch_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def shared_page(chromium):
    from tests.browser.chromium import SharedPage

    return SharedPage(chromium)


@pytest.fixture
def page(shared_page):
    """A blank page; the test fails if anything on it complains in the console."""
    with shared_page.lend() as page:
        yield page


@pytest.fixture(scope="session")
def demo_logdir(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pathlib.Path]:
    """Run a demo script once and give the directory it logged to: ``demo_logdir("digits")``."""
    ran: dict[str, pathlib.Path] = {}

    def run(name: str) -> pathlib.Path:
        if name not in ran:
            logdir = tmp_path_factory.mktemp("logs") / name
            run_demo(name, logdir)
            ran[name] = logdir
        return ran[name]

    return run


@pytest.fixture(scope="session")
def trainings_logdir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A log directory with a healthy training and some that are not; see ``record_trainings``."""
    from tests.health.recorded import record_trainings

    logdir = tmp_path_factory.mktemp("trainings")
    record_trainings(logdir)
    return logdir


@pytest.fixture(scope="session")
def hostile_logdir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A log directory with a training whose names are hostile; see ``record_hostile``."""
    from tests.health.recorded import record_hostile

    logdir = tmp_path_factory.mktemp("hostile")
    record_hostile(logdir)
    return logdir


class _SkipsAreFailures:
    """Under CI a skipped test is a failed run: a missing tool must not hide a test."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            print(f"\nskipped, though CI=true: {', '.join(self.skipped)}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(order)
    if os.environ.get("SPENT"):
        config.pluginmanager.register(spent.Meter())
    if os.environ.get("CI") == "true":
        config.pluginmanager.register(_SkipsAreFailures())
