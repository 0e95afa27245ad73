"""Write the licenses of what the panel ships: ``python -m tests.third_party_notices``.

Reads ``frontend/package-lock.json`` and the packages that ``npm ci`` installed.
"""

from __future__ import annotations

import json
import pathlib

ROOT = pathlib.Path(__file__).parents[1]
LOCK = ROOT / "frontend" / "package-lock.json"
NOTICES = ROOT / "tb_gradgraph" / "THIRD_PARTY_NOTICES.md"

INTRODUCTION = """# Third-party notices

The panel in `tb_gradgraph/static` contains, bundled and minified but otherwise unchanged, the packages below.
Their licenses follow. Of elkjs, the Eclipse Public License 2.0 is the one chosen; its source code is at
https://github.com/kieler/elkjs and https://github.com/eclipse-elk/elk, under the version named here.

"""


def read_shipped() -> dict[str, tuple[str, str]]:
    """Read name -> (version, license) of every package that is not for development only."""
    packages = json.loads(LOCK.read_text(encoding="utf-8"))["packages"]
    return {
        path.rpartition("node_modules/")[2]: (entry["version"], entry.get("license", ""))
        for path, entry in sorted(packages.items())
        if path and not entry.get("dev")
    }


def make_heading(name: str, version: str, license_name: str) -> str:
    """Make the line that a package's notice begins with."""
    return f"## {name} {version} ({license_name})"


def write_notices() -> None:
    """Write the notices file anew."""
    parts = []
    for name, (version, license_name) in read_shipped().items():
        directory = LOCK.parent / "node_modules" / name
        text = next(directory.glob("LICENSE*")).read_text(encoding="utf-8").strip()
        heading = make_heading(name, version, license_name)
        parts.append(f"{heading}\n\n```text\n{text}\n```\n")
    NOTICES.write_text(INTRODUCTION + "\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    write_notices()
