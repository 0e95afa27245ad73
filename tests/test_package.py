"""The wheel: what is in it, and that TensorBoard finds the plugin where it is installed."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import site
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import Mapping

import pytest

from tests.compiled import require_compiled_code
from tests.tensorboard_process import run_tensorboard
from tests.third_party_notices import NOTICES, make_heading, read_shipped

ROOT = pathlib.Path(__file__).parents[1]
STATIC_LIMIT_BYTES = 2_500_000


WHEEL = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir")


def run_pip(*arguments: str, env: Mapping[str, str] | None = None, succeeds: bool = True) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, env=env)
    printed = finished.stdout + finished.stderr
    assert (finished.returncode == 0) == succeeds, printed
    return printed


@pytest.fixture
def sources(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A copy to build from: setuptools leaves files behind, and would pack those of earlier builds."""
    return copy_sources(tmp_path_factory)


def copy_sources(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    sources = tmp_path_factory.mktemp("sources") / "tb_gradgraph"
    sources.mkdir()
    for name in (
        *("setup.cfg", "setup.py", "pyproject.toml", "MANIFEST.in"),
        *("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"),
    ):
        shutil.copy(ROOT / name, sources)
    ignored = shutil.ignore_patterns("__pycache__", "_native.*")
    shutil.copytree(ROOT / "tb_gradgraph", sources / "tb_gradgraph", ignore=ignored)
    return sources


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    built = tmp_path_factory.mktemp("dist")
    run_pip(*WHEEL, str(built), str(copy_sources(tmp_path_factory)))
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def installed_python(wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An environment with the wheel installed, and torch and TensorBoard borrowed from this one.

    A path file lends the packages; the path files among them, and so the
    editable installation of the checkout, are not followed.
    """
    directory = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    python = str(directory / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    run_pip("--python", python, "install", "--no-deps", "--no-index", str(wheel))
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
    lent = pathlib.Path(packages.stdout.strip(), "lent.pth")
    lent.write_text("\n".join(site.getsitepackages()))
    return python


def test_wheel_holds_panel_format_and_licenses(wheel: pathlib.Path):
    with zipfile.ZipFile(wheel) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    assert {
        "tb_gradgraph/static/index.js",
        "tb_gradgraph/THIRD_PARTY_NOTICES.md",
        "tb_gradgraph/record/FORMAT.md",
        "tb_gradgraph/record/format/gradgraph.proto",
        "tb_gradgraph/serve/http_api.md",
    } <= sizes.keys()
    assert any(name.endswith("/LICENSE") for name in sizes)
    assert {name.partition("/")[0].split("-")[0] for name in sizes} == {"tb_gradgraph"}
    panel = sum(size for name, size in sizes.items() if name.startswith("tb_gradgraph/static/"))
    assert 0 < panel <= STATIC_LIMIT_BYTES


def test_wheel_holds_every_file_of_the_panel(wheel: pathlib.Path):
    static = ROOT / "tb_gradgraph" / "static"
    here = {path.relative_to(ROOT).as_posix() for path in static.rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if "/static/" in name} == here


def test_wheel_holds_every_module(wheel: pathlib.Path):
    # Once two rooms were missing, which an editable installation hides.
    here = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tb_gradgraph").rglob("*.py")}
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if name.endswith(".py")} == here


def test_compiled_code_is_in_the_wheel_and_used(installed_python: str):
    require_compiled_code()
    script = "from tb_gradgraph.summarize import native; print(native.is_available())"
    command = [installed_python, "-c", script]
    finished = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert finished.stdout.strip() == "True", finished.stderr


def test_package_is_built_without_a_compiler(sources: pathlib.Path, tmp_path: pathlib.Path):
    # Stands for a machine without one: setuptools calls what CC names.
    environment = {**os.environ, "CC": "no-such-compiler"}
    told = run_pip("-v", *WHEEL, str(tmp_path), str(sources), env=environment)
    assert "this build has no compiled statistics" in " ".join(told.split())
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl"), "it is no binary one"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (name for name in names if name.endswith(".dist-info/WHEEL"))
        assert b"Root-Is-Purelib: true" in archive.read(about)
    assert "tb_gradgraph/summarize/native.py" in names
    assert not any(name.endswith((".so", ".pyd")) for name in names)


def test_a_build_that_requires_compiled_code_fails_without(
    sources: pathlib.Path, tmp_path: pathlib.Path
):
    environment = {**os.environ, "CC": "no-such-compiler", "TB_GRADGRAPH_REQUIRE_NATIVE": "1"}
    told = run_pip("-v", *WHEEL, str(tmp_path), str(sources), env=environment, succeeds=False)
    assert "Install a C compiler and Python's headers" in " ".join(told.split())
    assert not list(tmp_path.glob("*.whl"))


def test_the_source_distribution_holds_all_that_a_build_needs(
    sources: pathlib.Path, tmp_path: pathlib.Path
):
    # setuptools before 80 leaves out what only ``depends`` names: so does this build.
    text = (sources / "setup.py").read_text(encoding="utf-8")
    (sources / "setup.py").write_text(text.replace("for name in HEADERS", "for name in ()"))
    script = "import sys, setuptools.build_meta as b; b.build_sdist(sys.argv[1])"
    command = [sys.executable, "-c", script, str(tmp_path)]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=sources)
    assert finished.returncode == 0, finished.stderr
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    code = {path.relative_to(sources).as_posix() for path in sources.rglob("csrc/*.[ch]")}
    assert len(code) > 10 and code <= held
    assert {"setup.py", "SECURITY.md", "tb_gradgraph/static/index.js"} <= held


def test_notices_name_every_package_that_the_panel_ships():
    """Cure: ``npm ci`` in ``frontend``, then ``python -m tests.third_party_notices``."""
    text = NOTICES.read_text(encoding="utf-8")
    headings = re.findall(r"^## \S+ \d\S* \(.*\)$", text, re.MULTILINE)
    assert headings == [make_heading(name, *rest) for name, rest in read_shipped().items()]


def test_installed_plugin_is_found_and_loads_without_torch(installed_python: str, tmp_path):
    script = """
import importlib.metadata, json, sys
(entry,) = importlib.metadata.entry_points(group="tensorboard_plugins", name="gradgraph")
loader = entry.load()
import tb_gradgraph
print(json.dumps([tb_gradgraph.__file__, tb_gradgraph.__version__,
                  importlib.metadata.version("tb-gradgraph"), "torch" in sys.modules]))
"""
    command = [installed_python, "-c", script]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    file, version, metadata_version, has_torch = json.loads(finished.stdout)
    assert not pathlib.Path(file).is_relative_to(ROOT / "tb_gradgraph")
    assert version == metadata_version
    assert not has_torch


def test_tensorboard_serves_the_installed_panel(installed_python: str, tmp_path: pathlib.Path):
    with run_tensorboard(tmp_path, python=installed_python) as address:
        with urllib.request.urlopen(address + "data/plugins_listing") as answer:
            listing = json.load(answer)
        with urllib.request.urlopen(address + "data/plugin/gradgraph/static/index.js") as answer:
            script = answer.read()
    assert "gradgraph" in listing
    assert script == (ROOT / "tb_gradgraph" / "static" / "index.js").read_bytes()


def test_doctor_of_the_installed_package_records_a_step(
    installed_python: str, tmp_path: pathlib.Path
):
    command = pathlib.Path(installed_python).with_name("tb-gradgraph")
    finished = subprocess.run([command, "doctor"], capture_output=True, text=True, cwd=tmp_path)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "Nothing found wrong." in finished.stdout
