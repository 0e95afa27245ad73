"""Statistics of a test's own, which are gone after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tb_gradgraph
from tb_gradgraph.training import registered

Add = Callable[..., Any]


@pytest.fixture
def add() -> Iterator[Add]:
    """Add statistics as the decorator does; all are removed at the end."""
    assert registered() == ()
    yield tb_gradgraph.statistic
    for one in registered():
        one.remove()
