"""The page that keeps the figures: docs/performance.md, in sections that are written one by one."""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
import re
from collections.abc import Sequence

import tensorboard.version
import torch

import tb_gradgraph

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "performance.md"


def put_into_page(section: str, lines: Sequence[str]) -> None:
    """Replace what stands between the marks of ``section``, with date, machine and versions."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    content = "\n".join([begin, _circumstances(), "", *lines, end])
    found = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not found.search(text):
        raise ValueError(f"{PAGE}: expected the marks {begin!r} and {end!r}, got none.")
    PAGE.write_text(found.sub(lambda _: content, text), encoding="utf-8")


def _circumstances() -> str:
    machine = f"{os.cpu_count()} cores, {_processor()}, {platform.system()} {platform.machine()}"
    versions = (
        f"tb_gradgraph {tb_gradgraph.__version__}, Python {platform.python_version()}, "
        f"torch {torch.__version__}, TensorBoard {tensorboard.version.VERSION}"
    )
    return f"{datetime.date.today().isoformat()}. {machine}. {versions}."


def _processor() -> str:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
