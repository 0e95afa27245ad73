"""The compiled code's files include each other in one direction."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_house import ROOT, list_circles

SOURCES = ROOT / "tb_gradgraph" / "summarize" / "csrc"


def _included(path: Path) -> list[str]:
    """List what a file includes; a header and its source count as one."""
    names = re.findall(r'^#include "(\w+)\.h"', path.read_text(), re.MULTILINE)
    return [name for name in names if name != path.stem]


def test_no_two_files_include_each_other() -> None:
    included: dict[str, list[str]] = {}
    for path in SOURCES.glob("*.[ch]"):
        included.setdefault(path.stem, []).extend(_included(path))
    assert sum(map(len, included.values())) > 10
    assert list_circles(included) == []
