"""The house keeps its rules: small rooms, each with a face, and imports that run one way."""

from __future__ import annotations

import ast
import collections
import functools
import pathlib
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "tb_gradgraph"

#: What everybody may import: words that all rooms share.
VOCABULARY = frozenset(
    {
        *("errors", "graph", "memory", "own_statistics", "quantities", "statistics"),
        *("training_facts", "version"),
    }
)
#: Room -> what it may import besides itself and the vocabulary. A room within a room is named by
#: its path.
MAY_IMPORT: Mapping[str, frozenset[str]] = {
    room: frozenset(allowed.split())
    for room, allowed in {
        "": "api training commands diagnose health",
        "autograd/torch_internals": "",
        "autograd/bytecode": "",
        "autograd/user_code": "autograd/torch_internals autograd/bytecode",
        "autograd/forward": "autograd/torch_internals autograd/user_code",
        "autograd/operands": "autograd/torch_internals autograd/bytecode autograd/user_code "
        "autograd/forward",
        "autograd/seen": "autograd/torch_internals autograd/bytecode autograd/user_code "
        "autograd/forward autograd/operands",
        "autograd/build": "autograd/torch_internals autograd/user_code autograd/forward autograd/seen",
        "autograd/gradients": "autograd/torch_internals autograd/build",
        "autograd/model_run": "autograd/torch_internals autograd/user_code autograd/forward "
        "autograd/seen autograd/build autograd/gradients",
        "autograd/values": "autograd/torch_internals autograd/user_code autograd/forward",
        "autograd": "autograd/values autograd/torch_internals autograd/user_code autograd/forward "
        "autograd/seen autograd/build autograd/gradients autograd/model_run",
        "summarize/arithmetic": "",
        "summarize": "summarize/arithmetic",
        "record/entries": "",
        "record/format": "record/entries",
        "record/exchange": "",
        "record/write": "record/format record/exchange",
        "record/read": "record/format",
        "record": "record/entries record/format record/exchange record/write record/read",
        "diagnose/kinds": "",
        "diagnose/forward": "",
        "diagnose/structure": "",
        "diagnose/run/over_steps": "diagnose diagnose/kinds diagnose/run diagnose/forward",
        "diagnose/run": "diagnose diagnose/kinds diagnose/run/over_steps",
        "diagnose": "diagnose/kinds diagnose/forward diagnose/structure diagnose/run",
        "ranks": "record",
        "health": "record ranks diagnose",
        "serve/runs": "record ranks",
        "serve/request": "record serve/runs",
        "serve/evidence": "record diagnose serve/runs serve/request",
        "serve/routes": "record diagnose serve/runs serve/request serve/evidence",
        "serve": "record serve/runs serve/request serve/routes",
        "training/own": "autograd summarize",
        "training/reading": "autograd summarize training/own",
        "training/quantities": "autograd summarize training/reading",
        "training/step": "autograd summarize training/own training/reading training/quantities",
        "training/facts": "autograd summarize training/reading training/quantities training/step",
        "training/guard": "autograd training/step",
        "training": "autograd training/own training/quantities training/reading training/step "
        "training/facts training/guard",
        "api/at_step": "autograd diagnose training",
        "api": "autograd summarize record ranks diagnose health training api/at_step",
        "integrations": "api autograd training",
        "commands/show": "record diagnose health",
        "commands/page": "commands/show diagnose health",
        "commands": "commands/show commands/page api autograd summarize record ranks diagnose health serve",
    }.items()
}
WITHOUT_TORCH = (
    *("errors", "graph", "own_statistics", "quantities", "statistics", "training_facts"),
    *("record", "ranks", "diagnose", "health", "serve"),
)
#: Rooms with a face; ``commands`` and ``integrations`` are entered by their files.
FACES = (
    *("api", "autograd", "diagnose", "health", "ranks", "record"),
    *("serve", "summarize", "training"),
)
MOST_FILES, MOST_TEST_FILES = 12, 25


def is_generated(path: pathlib.Path) -> bool:
    return path.stem.endswith("_pb2")


FILES = sorted(path for path in PACKAGE.rglob("*.py") if not is_generated(path))


def name_of(path: pathlib.Path) -> str:
    """Return the name by which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}


@functools.cache
def parse(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def read_imports(path: pathlib.Path) -> Iterator[str]:
    """Yield the modules of ours that a file imports: lazily, for types alone, or at once."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else node.module


IMPORTS = {name: sorted({*read_imports(path)} - {name}) for name, path in MODULES.items()}


def room_of(name: str) -> str:
    """Return the room that a module is in, as "autograd/build"; "" is the package itself."""
    return "/".join(MODULES[name].parent.relative_to(PACKAGE).parts)


def list_circles(imports: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """List the sets of modules that import each other, by Kosaraju's two walks."""
    order: list[str] = []
    seen: set[str] = set()

    def walk(start: str, following: Mapping[str, Iterable[str]], found: list[str]) -> None:
        pending = [(start, iter(following.get(start, ())))]
        seen.add(start)
        while pending:
            name, rest = pending[-1]
            other = next((each for each in rest if each not in seen), None)
            if other is None:
                found.append(name)
                pending.pop()
            else:
                seen.add(other)
                pending.append((other, iter(following.get(other, ()))))

    for name in imports:
        if name not in seen:
            walk(name, imports, order)
    importers: dict[str, list[str]] = collections.defaultdict(list)
    for name, others in imports.items():
        for other in others:
            importers[other].append(name)
    seen.clear()
    circles = []
    for name in reversed(order):
        if name not in seen:
            circle: list[str] = []
            walk(name, importers, circle)
            circles.append({*circle})
    return [circle for circle in circles if len(circle) > 1]


def test_circles_are_found():
    imports = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": [], "e": ["a", "d"]}
    assert list_circles(imports) == [{"a", "b", "c"}]


def test_no_module_imports_itself_by_way_of_others():
    assert list_circles(IMPORTS) == []


def test_every_folder_is_a_known_room():
    rooms = {room_of(name) for name in MODULES}
    assert rooms == MAY_IMPORT.keys()


@pytest.mark.parametrize("name", IMPORTS)
def test_imports_run_one_way(name: str):
    room = room_of(name)
    for imported in IMPORTS[name]:
        other = room_of(imported)
        word = imported.removeprefix("tb_gradgraph.")
        if other == room or word in VOCABULARY:
            continue
        assert other in MAY_IMPORT[room], f"{name} imports {imported}"


@pytest.mark.parametrize("name", IMPORTS)
def test_from_outside_a_room_only_its_face_is_imported(name: str):
    outer = room_of(name).partition("/")[0]
    for imported in IMPORTS[name]:
        other = room_of(imported)
        if other.partition("/")[0] in {*FACES} - {outer}:
            assert imported == f"tb_gradgraph.{other}", f"{name} imports {imported}, no face"


@pytest.mark.parametrize("room", FACES)
def test_a_face_lists_what_others_use_and_no_more(room: str):
    face = MODULES[f"tb_gradgraph.{room}"]
    (listed,) = (
        ast.literal_eval(node.value)
        for node in parse(face).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    used = {
        alias.name
        for path in (*FILES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "demo").rglob("*.py"))
        if path.relative_to(ROOT).parts[:2] != ("tb_gradgraph", room)
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ImportFrom) and node.module == f"tb_gradgraph.{room}"
        for alias in node.names
        if f"tb_gradgraph.{room}.{alias.name}" not in MODULES
    }
    assert sorted(used) == sorted(listed)


def count_files(folder: pathlib.Path) -> int:
    """Count what people write: Python and protobuf, without ``__init__`` and what is generated."""
    written = [*folder.glob("*.py"), *folder.glob("*.proto")]
    return sum(path.name != "__init__.py" and not is_generated(path) for path in written)


def test_folders_are_small():
    folders = [folder for folder in (PACKAGE, *PACKAGE.rglob("*")) if folder.is_dir()]
    assert {f.name: count_files(f) for f in folders if count_files(f) > MOST_FILES} == {}
    tests = [folder for folder in (ROOT / "tests").rglob("*") if folder.is_dir()]
    assert {f.name: count_files(f) for f in tests if count_files(f) > MOST_TEST_FILES} == {}


def test_every_room_is_a_package():
    # setuptools leaves out a folder without, and .gitignore had hidden one
    rooms = {path.parent for path in FILES}
    assert [str(room) for room in sorted(rooms) if not (room / "__init__.py").is_file()] == []


def test_one_name_means_one_thing():
    stems = collections.Counter(path.stem for path in FILES if path.stem != "__init__")
    assert [stem for stem, count in stems.items() if count > 1] == []


@pytest.mark.parametrize("room", WITHOUT_TORCH)
def test_rooms_without_torch_do_not_name_it(room: str):
    for name, path in MODULES.items():
        if f"{name}.".startswith(f"tb_gradgraph.{room}."):
            for node in ast.walk(parse(path)):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
                assert "torch" not in {each.partition(".")[0] for each in names}, name


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
        if path.suffix in suffixes and not is_generated(path)
    }
    assert lengths
    assert {name: length for name, length in lengths.items() if length > limit} == {}
