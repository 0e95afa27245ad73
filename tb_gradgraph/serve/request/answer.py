"""The answer of a route, before it becomes an HTTP response."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

JSON = "application/json"
BINARY = "application/octet-stream"


@dataclasses.dataclass(frozen=True)
class Answer:
    """The content of an answer. An iterable is sent in parts."""

    content: bytes | Iterable[bytes]
    content_type: str
    is_gzip: bool = False
    expires_seconds: int = 0
    file_name: str = ""  # for a download
