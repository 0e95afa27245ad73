"""A fixture for tests of the compiled code alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tb_gradgraph.summarize import native
from tests.compiled import require_compiled_code


@pytest.fixture(autouse=True, params=["table", "asked"])
def reduced_by(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stands in for the one of that name: every test runs with torch's exchange table and without."""
    require_compiled_code()
    native.read_tensors(asks=request.param == "asked")
    yield
    native.read_tensors()
