"""The panel's files: types, caching and compression."""

from __future__ import annotations

import gzip
import pathlib
import re
import urllib.parse

import pytest

from tb_gradgraph.serve import assets
from tb_gradgraph.serve.assets import answer_asset
from tb_gradgraph.serve.request.parameters import RequestError


@pytest.fixture
def static(tmp_path: pathlib.Path, monkeypatch):
    package = tmp_path / "static"
    (package / "assets").mkdir(parents=True)
    for name in (
        "index.js",
        "assets/part-B8KxQ_2f.js",
        "notes-abcdefgh.md",
        "image.png",
        "small.css",
    ):
        (package / name).write_bytes(b"// content\n" * (1 if name == "small.css" else 300))
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    assets._list_assets.cache_clear()
    assets._read_asset.cache_clear()
    yield package
    assets._list_assets.cache_clear()
    assets._read_asset.cache_clear()


def test_hashed_file_is_kept_for_a_year_and_the_entry_never(static):
    assert answer_asset("index.js").expires_seconds == 0
    assert answer_asset("assets/part-B8KxQ_2f.js").expires_seconds == 365 * 24 * 3600


def test_text_is_compressed_once_and_images_and_small_files_not_at_all(static):
    answer = answer_asset("index.js")
    assert answer.is_gzip
    assert gzip.decompress(answer.content) == (static / "index.js").read_bytes()
    assert answer_asset("index.js") is answer
    assert not answer_asset("image.png").is_gzip
    assert not answer_asset("small.css").is_gzip


@pytest.mark.parametrize(
    ("name", "content_type"),
    [("index.js", "text/javascript"), ("image.png", "image/png"), ("small.css", "text/css")],
)
def test_types_do_not_come_from_the_system(static, name, content_type, monkeypatch):
    monkeypatch.setattr("mimetypes.guess_type", lambda *_: ("text/plain", None))
    assert answer_asset(name).content_type == content_type


@pytest.mark.parametrize("name", ["notes-abcdefgh.md", "assets", "assets/", "../static/index.js"])
def test_other_names_are_not_found(static, name: str):
    with pytest.raises(RequestError) as error:
        answer_asset(name)
    assert error.value.status == 404


def test_panel_is_served_by_tensorboard(client):
    reply = client.get("static/index.js")
    assert reply.status == 200
    assert reply.headers["Content-Type"].startswith("text/javascript")
    assert reply.headers["Cache-Control"] == "no-cache, must-revalidate"
    assert b"render" in reply.content


@pytest.mark.parametrize("browser", ["WebKit", "others"])
def test_page_of_tensorboard_finds_the_panel_in_every_browser(client, browser):
    page = client.fetch("data/plugin_entry.html?name=gradgraph").content.decode()
    base = "data/" + re.search(r'<base href="(.+?)"', page).group(1)
    imported = re.search(r'import\("(.+?)"\)', page).group(1)
    beside = "data/plugin_entry.html" if browser == "WebKit" else base
    reply = client.fetch(urllib.parse.urljoin(f"/{beside}", imported).removeprefix("/"))
    assert reply.status == 200
    assert reply.content == client.get("static/index.js").content


def test_a_panel_that_is_installed_anew_meanwhile_asks_for_a_restart(static):
    answer_asset("index.js")
    (static / "assets" / "part-B8KxQ_2f.js").unlink()
    with pytest.raises(RequestError, match="Restart TensorBoard") as caught:
        answer_asset("assets/part-B8KxQ_2f.js")
    assert caught.value.status == 404
    assert answer_asset("index.js").content
