"""Serve the files of the built panel, a fixed set. Each is read once and compressed once."""

from __future__ import annotations

import functools
import gzip
import importlib.resources
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tb_gradgraph.serve.request.answer import Answer
from tb_gradgraph.serve.request.parameters import not_found

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # Python 3.11

# These are fixed, because on Windows the result of mimetypes for .js depends on the registry, and
# browsers refuse a module that is sent as plain text.
_TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
    ".txt": "text/plain",
}
_COMPRESSED_ALREADY = {".png", ".woff2"}
_LEAST_COMPRESSED = 1024  # bytes; smaller files are not compressed

# Vite's file names, such as part-B8KxQ_2f.js
_HASHED = re.compile(r".*-[A-Za-z0-9_-]{8}\.[a-z0-9]+")
_YEAR_SECONDS = 365 * 24 * 3600


def answer_asset(name: str) -> Answer:
    """Return a file of the panel; any name outside the fixed set is 404."""
    if name not in _list_assets():
        raise not_found(f"Expected a file of the panel, got {name[:200]!r}.")
    try:
        return _read_asset(name)
    except FileNotFoundError:
        _list_assets.cache_clear()
        raise not_found(
            f"Expected the same panel as when TensorBoard started, but {name[:200]!r} no longer exists: "
            "the package was reinstalled. Restart TensorBoard."
        ) from None


@functools.cache
def _list_assets() -> dict[str, Traversable]:
    root = importlib.resources.files("tb_gradgraph") / "static"
    return dict(_walk(root, "")) if root.is_dir() else {}


def _walk(directory: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif _suffix(entry.name) in _TYPES:
            yield f"{prefix}{entry.name}", entry


@functools.cache
def _read_asset(name: str) -> Answer:
    content, suffix = _list_assets()[name].read_bytes(), _suffix(name)
    is_gzip = suffix not in _COMPRESSED_ALREADY and len(content) >= _LEAST_COMPRESSED
    if is_gzip:
        content = gzip.compress(content, 9, mtime=0)
    expires = _YEAR_SECONDS if _HASHED.fullmatch(name) else 0
    return Answer(content, _TYPES[suffix], is_gzip, expires)


def _suffix(name: str) -> str:
    return name[name.rfind(".") :].lower() if "." in name else ""
