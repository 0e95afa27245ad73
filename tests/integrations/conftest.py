"""What the tests of integrations begin with."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def no_graph_of_another_test() -> None:
    """Free the graphs of earlier tests: one whose backward never ran listens until it is freed."""
    gc.collect()
