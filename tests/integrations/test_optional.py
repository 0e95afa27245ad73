"""None of the libraries is needed by anything but its own module."""

from __future__ import annotations

import subprocess

import pytest

from tests import warm

LIBRARIES = ("lightning", "pytorch_lightning", "transformers", "accelerate", "tensorboardX")


def run(script: str) -> subprocess.CompletedProcess[str]:
    """Run ``script`` where no library can be imported."""
    missing = "".join(f"sys.modules[{name!r}] = None\n" for name in LIBRARIES)
    return warm.run("-W", "error", "-c", f"import sys\n{missing}{script}")


def test_everything_else_is_imported_without_them():
    finished = run("from tb_gradgraph import *\nimport tb_gradgraph.integrations.watching")
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("lightning", "expected lightning or pytorch_lightning to be installed, found neither"),
        ("transformers", "import of transformers halted"),
    ],
)
def test_a_missing_library_is_named(module: str, message: str):
    finished = run(f"import tb_gradgraph.integrations.{module}")
    assert finished.returncode == 1
    assert f"ModuleNotFoundError: {message}" in finished.stderr.replace(
        f"tb_gradgraph.integrations.{module}: ", ""
    )


def test_the_callback_is_one_of_the_package_in_use():
    script = """
import sys
import pytorch_lightning
from tb_gradgraph.integrations.lightning import GradGraphCallback
assert issubclass(GradGraphCallback, pytorch_lightning.Callback)
assert "lightning.pytorch" not in sys.modules
"""
    finished = warm.run("-c", script)
    assert finished.returncode == 0, finished.stderr
