"""Find the Chromium that the browser tests drive: ``python -m tests.browser.find_chromium``."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

from tests.patience import patient


def find_chromium() -> str | None:
    """Return the path of a Chromium that starts, or None.

    ``CHROMIUM`` in the environment wins, then the system's, then the one that
    ``playwright install chromium`` puts into the user's cache.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path and _starts(path):
            return path
    cache = pathlib.Path.home() / ".cache" / "ms-playwright"
    found = sorted(cache.glob("chromium-*/chrome-linux*/chrome"))
    return str(found[-1]) if found else None


def _starts(path: str) -> bool:
    # Ubuntu's chromium-browser without its snap is a script that only says so and fails.
    try:
        finished = subprocess.run([path, "--version"], capture_output=True, timeout=patient(30))
    except (OSError, subprocess.TimeoutExpired):
        return False
    return finished.returncode == 0


if __name__ == "__main__":
    chromium = find_chromium()
    print(chromium or "no Chromium found")
    sys.exit(chromium is None)
