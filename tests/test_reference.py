"""docs/reference.md says what the docstrings say."""

from __future__ import annotations

import tb_gradgraph
from tests import reference


def test_the_reference_is_fresh():
    """Cure: ``python -m tests.reference``."""
    assert reference.PAGE.read_text(encoding="utf-8") == reference.make_page()


def test_every_public_name_is_told_of():
    text = reference.PAGE.read_text(encoding="utf-8")
    told = [name for name in tb_gradgraph.__all__ if f"`tb_gradgraph.{name}" in text]
    assert told == [name for name in tb_gradgraph.__all__ if name != "__version__"]
