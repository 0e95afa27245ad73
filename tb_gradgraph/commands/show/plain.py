"""Write text from logs so that neither a terminal, nor Markdown, nor HTML obeys it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

#: What Markdown may read as something else than the letter itself.
_MARKS = re.compile(r"[\\`*\[\]<>|~&$]|(?<!\w)_|_(?!\w)")
#: The same at the beginning of a line: a heading, a list, a rule.
_AT_BEGIN = re.compile(r"^(\s*)([#=]|[+-](?=[\s-]|$))|^(\s*\d+)([.)](?=\s|$))")
#: What a site would turn into a link or a picture: a person, an issue, an address, an emoji.
_LINKS = re.compile(r"(?<!\w)[@#](?=\w)|:(?=//|\w+:)|(?<=www)(?=\.)", re.IGNORECASE)
_NO_WIDTH = "&#8203;"


def printable(text: str) -> str:
    """Replace control characters of a terminal, because names come from logs."""
    return "".join(character if character.isprintable() else "?" for character in text)


def plain_markdown(text: str) -> str:
    """Escape text for Markdown, also within a table: it has no effect but its letters."""
    escaped = _MARKS.sub(r"\\\g<0>", printable(text))
    escaped = _AT_BEGIN.sub(r"\1\3\\\2\4", escaped)
    return _LINKS.sub(rf"\g<0>{_NO_WIDTH}", escaped)


def code_markdown(text: str, in_table: bool = False) -> str:
    """Write a name as code in Markdown; "" stays ""."""
    shown = printable(text)
    if in_table:  # where a bar ends a cell even within code, unless it is escaped
        shown = shown.replace("\\|", "¦").replace("|", "\\|")
    if not shown:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def plain_html(text: str) -> str:
    """Escape text for HTML, for elements and attributes."""
    return html.escape(printable(text))


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Align the columns of a table whose first row is its header."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [printable("  ".join(map(str.ljust, row, widths)).rstrip()) for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
