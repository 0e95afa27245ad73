"""What a demo wrote with ``add_text``: torch's own errors, as they reached the script."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable

from tb_gradgraph.record.read.event_file import list_event_files, read_event_file

_TAG = re.compile(r"(.*)/text_summary$")


def read_texts(logdir: pathlib.Path) -> dict[str, str]:
    """Read the text logged under each tag."""
    texts: dict[str, str] = {}
    for path in list_event_files(logdir):
        for event in read_event_file(path):
            for value in event.summary.value:
                found = _TAG.match(value.tag)
                if found and value.metadata.plugin_data.plugin_name == "text":
                    texts[found.group(1)] = value.tensor.string_val[0].decode()
    return texts


def error_of(call: Callable[[], object]) -> str:
    """Return the message of the error that ``call()`` raises, here and without the tool."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("expected torch to raise a RuntimeError")
