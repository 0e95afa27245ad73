"""The page that keeps the battery's figures: docs/battery.md, with a section for each half."""

from __future__ import annotations

import datetime
import pathlib
import platform
import re
from collections.abc import Sequence

import torch

import tb_gradgraph
from tests.diagnose.battery.examine import Outcome
from tests.diagnose.battery.score import headline, table

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "battery.md"
_EARLIER = "Earlier runs:"
_SHORT = {
    "right finding first": "first",
    "in the first three": "first three",
    "anywhere": "anywhere",
    "right node (of faults that have one)": "node",
    "right step (of those found that have one)": "step",
    "healthy runs with a warning or error": "healthy with an alarm",
}


def write_half(half: str, outcomes: Sequence[Outcome], page: pathlib.Path = PAGE) -> None:
    """Replace the section of a half; what it said before stays as one line."""
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {half}: begin -->", f"<!-- {half}: end -->"
    found = re.search(f"{re.escape(begin)}(.*?){re.escape(end)}", text, re.DOTALL)
    if found is None:
        raise ValueError(f"{page}: expected the marks {begin!r} and {end!r}, got none.")
    lines = [begin, "", circumstances(), "", *table(outcomes), ""]
    earlier = list_earlier(found[1])
    if earlier:
        lines += [_EARLIER, "", *earlier, ""]
    section = "\n".join([*lines, f"<!-- last: {in_a_line(outcomes)} -->", end])
    page.write_text(text[: found.start()] + section + text[found.end() :], encoding="utf-8")


def list_earlier(section: str) -> list[str]:
    """Return a line for each run that a section tells of, the newest first."""
    last = re.findall(r"^<!-- last: (.*) -->$", section, re.MULTILINE)
    _, _, listed = section.partition(_EARLIER)
    return [*(f"- {line}" for line in last), *re.findall(r"^- .*$", listed, re.MULTILINE)]


def in_a_line(outcomes: Sequence[Outcome]) -> str:
    """Return the figures of a run in a line, with its date."""
    rows = headline(outcomes)
    figures = ", ".join(f"{short} {rows[name]}" for name, short in _SHORT.items())
    return f"{datetime.date.today().isoformat()}: {figures}"


def circumstances() -> str:
    """Say when and with what the battery ran."""
    versions = (
        f"tb_gradgraph {tb_gradgraph.__version__}, Python {platform.python_version()}, "
        f"torch {torch.__version__}"
    )
    return f"{datetime.date.today().isoformat()}. {versions}. Each training has its own seed."
