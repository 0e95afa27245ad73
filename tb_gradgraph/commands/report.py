"""The command ``tb-gradgraph report``: a page about trainings, to send to somebody."""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Any

from tb_gradgraph.commands.findings import add_choice, examined
from tb_gradgraph.commands.page.redacted import redacted
from tb_gradgraph.commands.page.report_markdown import report_markdown
from tb_gradgraph.commands.page.report_page import report_page

_TEXT = (
    "Write what looks wrong in trainings, or that they are healthy, with pictures and numbers, to one "
    "file: for an issue, a pull request, a colleague or a language model. Nothing in the file loads or "
    "runs anything."
)
_WRITERS = {".html": report_page, ".htm": report_page, ".md": report_markdown}


def add_report(commands: argparse._SubParsersAction[Any]) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "report", help="write what looks wrong to a page to send", description=_TEXT
    )
    add_choice(parser)
    parser.add_argument("output", help="file to write: .html or .md")
    parser.add_argument(
        "--redact",
        action="store_true",
        help="leave out paths, names of runs, source lines and kept inputs",
    )
    parser.set_defaults(run=run_report)


def run_report(arguments: argparse.Namespace) -> int:
    """Write the page; return 0, or 2 for bad input."""
    output = pathlib.Path(arguments.output)
    write = _WRITERS.get(output.suffix.lower())
    if write is None:
        message = f"expected a file that ends in .html or .md, got {arguments.output!r}"
        print(f"tb-gradgraph report: {message}", file=sys.stderr)
        return 2
    trainings = examined(arguments, "report", [])
    if trainings is None:
        return 2
    page = write(redacted(trainings) if arguments.redact else trainings)
    output.write_text(page, encoding="utf-8")
    print(f"{arguments.output}: {len(page.encode()) / 1e3:,.0f} kB")
    return 0
