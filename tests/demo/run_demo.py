"""Run a script of ``demo/`` as a user would: in a process of its own."""

from __future__ import annotations

import pathlib

from tests import warm

ROOT = pathlib.Path(__file__).parents[2]

# torch calls its own deprecated function in add_graph; what it warns with changed in 2.15.
WARNINGS = (
    *("-W", "error", "-W", "ignore:`torch.jit.:DeprecationWarning"),
    *("-W", "ignore:`torch.jit.:FutureWarning"),
)


def run_demo(name: str, logdir: pathlib.Path) -> str:
    """Run ``demo/<name>.py --logdir LOGDIR`` with warnings as errors and return what it printed."""
    script = str(ROOT / "demo" / f"{name}.py")
    finished = warm.run(*WARNINGS, script, "--logdir", str(logdir), cwd=logdir.parent)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
