"""Run a script of ``demo/`` as a user would: in a process of its own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]

# torch calls its own deprecated function in add_graph.
WARNINGS = ("-W", "error", "-W", "ignore:`torch.jit.:DeprecationWarning")


def run_demo(name: str, logdir: pathlib.Path) -> str:
    """Run ``demo/<name>.py LOGDIR`` with warnings as errors and return what it printed."""
    command = [sys.executable, *WARNINGS, str(ROOT / "demo" / f"{name}.py"), str(logdir)]
    finished = subprocess.run(
        command,
        cwd=logdir.parent,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
