"""Whether the part of the package that is compiled is there to be tested."""

from __future__ import annotations

import shutil

import pytest

from tb_gradgraph.summarize import native


def require_compiled_code() -> None:
    """Skip where the package was built without; where there is a compiler it must not have been."""
    if not native.is_available():
        assert shutil.which("cc") is None, "built without compiled code though there is a compiler"
        pytest.skip("there is no C compiler")


def without_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have tensors reduced as where there is none."""
    monkeypatch.setenv(native.SWITCH, "0")
