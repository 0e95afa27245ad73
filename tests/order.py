"""Which tests share a process under pytest-xdist, and which begin: what takes longest, and together.

What uses the demos' logs goes to one process, what else uses the browser to one, serve to one, so that logs,
Chromium, its page and each TensorBoard are there once. All else is shared out file by file.
"""

from __future__ import annotations

import pytest

#: Beginnings of paths in tests/ whose files share a process; the first that fits counts.
GROUPS = {
    "demos": (
        "browser/test_panel",
        "browser/test_documents",
        "browser/test_take",
        "demo/",
        "commands/test_cli",
    ),
    "browser": ("browser/", "commands/test_html_export", "cases/gradients/test_07"),
    "serve": ("serve/",),
}
#: Groups, and beginnings of paths, in the order in which they begin; each takes 20 s or more.
LONG = (
    "browser",
    "demos",
    "training/test_compiled",
    "serve",
    "distributed/",
    "test_readme",
    "test_package",
    "bits/",
    "autograd/",
    "integrations/",
    "training/",
)


def group_of(nodeid: str) -> str:
    """Name what a test has to share a process with: a group, or the file itself."""
    path = nodeid.partition("::")[0].removeprefix("tests/")
    found = (group for group, beginnings in GROUPS.items() if path.startswith(beginnings))
    return next(found, path)


def place_of(nodeid: str) -> int:
    """Return the place of a test's group among those that begin."""
    group = group_of(nodeid)
    found = (place for place, beginning in enumerate(LONG) if group.startswith(beginning))
    return next(found, len(LONG))


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
