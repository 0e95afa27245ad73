"""Everything about statistics holds with the compiled code and without."""

from __future__ import annotations

import pytest

from tb_gradgraph.summarize import native
from tests.compiled import require_compiled_code


@pytest.fixture(autouse=True, params=["compiled", "torch"])
def reduced_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the tensors of a test reduced by compiled code, then by torch's kernels."""
    if request.param == "compiled":
        require_compiled_code()
    else:
        monkeypatch.setenv(native.SWITCH, "0")
        assert not native.is_available()
