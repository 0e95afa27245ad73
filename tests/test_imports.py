"""The rooms of the package, which way imports run between them, and how big files are."""

from __future__ import annotations

import ast
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "tb_gradgraph"
VOCABULARY = {"graph", "statistics", "errors"}

# Room or module -> what of the package it may import besides itself. Modules that
# are not named join the rooms and may import all; no room may import them, save
# integrations, which calls ``watch`` as a user's code does.
MAY_IMPORT = {
    "errors": set(),
    "statistics": {"errors"},
    "graph": {"statistics", "errors"},
    "memory": set(),
    "autograd": VOCABULARY | {"memory"},
    "summarize": VOCABULARY | {"memory"},
    "record": VOCABULARY,
    "diagnose": VOCABULARY | {"record"},
    "serve": VOCABULARY | {"record", "diagnose"},
    "training": VOCABULARY | {"autograd", "summarize", "memory"},
    "integrations": VOCABULARY | {"autograd", "training", "writer", "switch"},
}
WITHOUT_TORCH = ("errors", "statistics", "graph", "record", "diagnose", "serve")


def list_files(room: str) -> list[pathlib.Path]:
    directory = PACKAGE / room
    return sorted(directory.rglob("*.py")) if directory.is_dir() else [PACKAGE / f"{room}.py"]


def read_imports(path: pathlib.Path) -> Iterator[str]:
    """Yield the full names of the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_directory_of_the_package_is_a_known_room():
    found = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert found - {"static", "__pycache__"} <= MAY_IMPORT.keys()


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_run_one_way(room: str):
    for path in list_files(room):
        for name in read_imports(path):
            package, _, rest = name.partition(".")
            imported = rest.partition(".")[0]
            if package == "tb_gradgraph" and imported not in {room, "__version__", ""}:
                assert imported in MAY_IMPORT[room], f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("room", WITHOUT_TORCH)
def test_rooms_without_torch_do_not_name_it(room: str):
    for path in list_files(room):
        for name in read_imports(path):
            assert name.partition(".")[0] != "torch", f"{path.relative_to(ROOT)} imports {name}"


def test_record_diagnose_and_serve_import_where_torch_is_missing():
    script = """
import importlib, pkgutil, sys
sys.modules["torch"] = None  # every import of it fails
for room in ("record", "diagnose", "serve"):
    package = importlib.import_module(f"tb_gradgraph.{room}")
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
        print(module.name)
"""
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert "tb_gradgraph.serve.loader" in finished.stdout.split()


@pytest.mark.parametrize(
    ("directories", "suffixes", "limit"),
    [
        (("tb_gradgraph", "tests", "demo"), {".py"}, 300),
        (("frontend/src",), {".ts", ".tsx"}, 250),
        (("demo",), {".py"}, 59),
    ],
)
def test_no_file_is_long(directories: tuple[str, ...], suffixes: set[str], limit: int):
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for directory in directories
        for path in (ROOT / directory).rglob("*")
        if path.suffix in suffixes and not path.stem.endswith("_pb2")
    }
    assert lengths
    assert {name: length for name, length in lengths.items() if length > limit} == {}
