"""Which tests share a process under pytest-xdist, and which begin: what takes longest, and together.

All that uses the browser or the demos' logs goes to one process, so that Chromium, its page, the
demos and the TensorBoards that serve them are there once. All else is shared out file by file.
"""

from __future__ import annotations

import pytest

#: Beginnings of paths in tests/ whose files share a process.
TOGETHER = ("browser/", "demo/", "test_cli.py", "test_html_export.py", "cases/test_07")
#: Beginnings of paths of what is begun first, after those; each takes 20 s or more.
LONG = (
    "watch/test_compiled.py",
    "serve/",
    "autograd/",
    "integrations/",
    "watch/",
)


def group_of(nodeid: str) -> str:
    """Name what a test has to share a process with."""
    path = _path_of(nodeid)
    return "browser" if path.startswith(TOGETHER) else path


def place_of(nodeid: str) -> int:
    """Give the place of a test's file among those that begin."""
    path = _path_of(nodeid)
    if path.startswith(TOGETHER):
        return 0
    found = (place for place, beginning in enumerate(LONG, 1) if path.startswith(beginning))
    return next(found, len(LONG) + 1)


def _path_of(nodeid: str) -> str:
    return nodeid.partition("::")[0].removeprefix("tests/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by place; within one all stays as it was."""
    items.sort(key=lambda item: place_of(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """Share tests out by group where files would be (``--dist loadfile``)."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class GroupScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return GroupScheduling(config, log)
