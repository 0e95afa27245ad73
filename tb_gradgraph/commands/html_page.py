"""Make one HTML file that holds the panel and its data. It needs no server, network or other file."""

from __future__ import annotations

import base64
import gzip
import html
import importlib.resources
import json
import re
import struct
from collections.abc import Mapping

_ENTRY = "standalone.js"
_SERVED = "index.js"  # the entry of TensorBoard
_WORKER = re.compile(r"layout\.worker-.*\.js")

# The contents are gzip in base64, so that a name can neither close a script nor open a tag.
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ margin: 0; }}
#panel {{ height: 100vh; }}
#said {{ margin: 24px; font: 14px system-ui, sans-serif; }}
</style>
</head>
<body>
<div id="panel">
<p id="said">Opening&hellip; This page needs JavaScript, and a browser of 2023 or later.</p>
</div>
{parts}
<script>
async function unpack(element) {{
  const bytes = Uint8Array.from(atob(element.textContent), (one) => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}}
// Modules import each other by names, which the page maps to their contents: some do so in a circle.
const named = (name) => "gradgraph/" + name;
const modules = [...document.querySelectorAll(".module")];
async function load(element) {{
  let text = await (await unpack(element)).text();
  for (const {{ dataset }} of modules) text = text.replaceAll("./" + dataset.name, named(dataset.name));
  return URL.createObjectURL(new Blob([text], {{ type: "text/javascript" }}));
}}
const place = document.getElementById("panel");
async function open() {{
  const worker = await load(document.getElementById("worker"));
  const imports = {{}};
  for (const element of modules) imports[named(element.dataset.name)] = await load(element);
  const map = document.createElement("script");
  map.type = "importmap";
  map.textContent = JSON.stringify({{ imports }});
  document.head.append(map);
  const answers = await (await unpack(document.getElementById("answers"))).arrayBuffer();
  const {{ render }} = await import(named("{entry}"));
  place.replaceChildren();
  render(place, answers, worker);
}}
open().catch((error) => (place.textContent = "This page could not be opened here: " + error));
</script>
</body>
</html>
"""


def make_page(title: str, answers: Mapping[str, bytes]) -> bytes:
    """Return the file; ``answers`` holds the answers of the routes, by ``key_of``.

    Raises:
        FileNotFoundError: If the package lacks its built panel.
    """
    modules, worker = _read_panel()
    parts = [_part(name, text, 'class="module"') for name, text in modules.items()]
    parts += [_part(*worker, 'id="worker"'), _part("answers", _pack(answers), 'id="answers"')]
    return _PAGE.format(title=html.escape(title), parts="\n".join(parts), entry=_ENTRY).encode(
        "utf-8", "replace"
    )


def key_of(route: str, parameters: Mapping[str, object]) -> str:
    """Return the name under which the page looks up an answer."""
    return "\n".join([route, *sorted(f"{name}={value}" for name, value in parameters.items())])


def _part(name: str, content: bytes, attribute: str) -> str:
    text = base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()
    return f'<script type="application/octet-stream" {attribute} data-name="{name}">{text}</script>'


def _pack(answers: Mapping[str, bytes]) -> bytes:
    """Join answers into one body that begins with an index of their places."""
    index, offset = {}, 0
    for key, content in answers.items():
        index[key] = (offset, len(content))
        offset += len(content)
    text = json.dumps({"answers": index}, separators=(",", ":")).encode()
    return b"".join([struct.pack("<I", len(text)), text, *answers.values()])


def _read_panel() -> tuple[dict[str, bytes], tuple[str, bytes]]:
    """Read the modules of the panel, and the worker of the layout."""
    static = importlib.resources.files("tb_gradgraph") / "static"
    files = {file.name: file.read_bytes() for file in static.iterdir() if file.name.endswith(".js")}
    worker = next((name for name in files if _WORKER.fullmatch(name)), None)
    if worker is None or _ENTRY not in files:
        raise FileNotFoundError("expected the built panel in the package, found none.")
    modules = {name: files[name] for name in sorted(files) if name not in (worker, _SERVED)}
    return modules, (worker, files[worker])
