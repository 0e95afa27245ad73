"""Check this environment for reasons why the panel does not show, each with its cure."""

from __future__ import annotations

import importlib.metadata
import pathlib
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator

from tb_gradgraph.commands.checked import Checked, State
from tb_gradgraph.version import __version__

PLUGIN_GROUP = "tensorboard_plugins"
PACKAGE = pathlib.Path(__file__).parents[1]
STATIC = PACKAGE / "static"


def examine() -> Iterator[Checked]:
    """Run all checks in order. A check that raises an error is a finding too."""
    for check in CHECKS:
        try:
            yield from check()
        except Exception as error:
            yield Checked("wrong", f"{check.__name__[1:]}: {type(error).__name__}: {error}")


def _versions() -> Iterator[Checked]:
    yield Checked("ok", f"Python {sys.version.split()[0]} at {sys.executable}")
    yield Checked("ok", f"tb_gradgraph {__version__} at {PACKAGE}")
    for name, least in (("torch", "2.6"), ("tensorboard", "2.16"), ("protobuf", "3.20")):
        version = _find_version(name)
        if version is None:
            state: State = "note" if name == "torch" else "wrong"  # viewing logs needs no torch
            yield Checked(state, f"{name} is not installed", f'pip install "{name}>={least}"')
        elif _parse(version) < _parse(least):
            cure = f'pip install --upgrade "{name}>={least}"'
            yield Checked("wrong", f"{name} {version} is older than {least}", cure)
        else:
            yield Checked("ok", f"{name} {version}")


def _setuptools_for_old_tensorboard() -> Iterator[Checked]:
    tensorboard, setuptools = _find_version("tensorboard"), _find_version("setuptools")
    old = tensorboard is not None and _parse(tensorboard) < (2, 21)
    if old and (setuptools is None or _parse(setuptools) >= (82,)):
        text = f"tensorboard {tensorboard} needs pkg_resources, which setuptools 82 removed"
        yield Checked("wrong", text, 'pip install "setuptools<82"')


def _hidden_by_a_folder() -> Iterator[Checked]:
    """Check whether a folder with our name, such as a clone's, hides the package from ``python -m``."""
    folder = pathlib.Path.cwd() / "tb_gradgraph"
    if folder.is_dir() and not (folder / "__init__.py").exists():
        text = f"{folder} hides the package from a Python started here"
        yield Checked("wrong", text, "start TensorBoard from another folder")


def _tensorboard_on_path() -> Iterator[Checked]:
    found = shutil.which("tensorboard")
    scripts = pathlib.Path(sysconfig.get_path("scripts"))
    cure = f"start it as: {sys.executable} -m tensorboard.main --logdir ..."
    if found is None:
        yield Checked("note", "no tensorboard on the PATH", cure)
    elif pathlib.Path(found).parent.resolve() == scripts.resolve():
        yield Checked("ok", f"tensorboard on the PATH is this environment's: {found}")
    else:
        text = f"tensorboard on the PATH is another environment's, without this plugin: {found}"
        yield Checked("note", text, f"{cure}; in a notebook set TENSORBOARD_BINARY")


def _plugin_is_visible() -> Iterator[Checked]:
    points = list(importlib.metadata.entry_points(group=PLUGIN_GROUP, name="gradgraph"))
    if not points:
        text = "TensorBoard cannot find the plugin: no entry point gradgraph"
        yield Checked("wrong", text, "pip install tb-gradgraph, with this Python's pip")
        return
    for point in points:
        point.load()
        yield Checked("ok", f"TensorBoard finds the plugin: {point.value}")


def _panel_is_there() -> Iterator[Checked]:
    files = [path for path in STATIC.rglob("*") if path.is_file()]
    if STATIC / "index.js" not in files:
        text = f"the panel is missing: no index.js in {STATIC}"
        yield Checked("wrong", text, "reinstall: pip install --force-reinstall tb-gradgraph")
        return
    size = sum(path.stat().st_size for path in files)
    yield Checked("ok", f"the panel is there: {len(files)} files, {size / 1e6:.1f} MB")


def _data_server() -> Iterator[Checked]:
    try:
        import tensorboard_data_server

        binary = tensorboard_data_server.server_binary()
    except ImportError:
        binary = None
    if binary:
        yield Checked("ok", "TensorBoard's fast data server is there")
    else:
        text = "TensorBoard's fast data server is not there for this system: logs load slower"
        yield Checked("note", text, "nothing to do: the panel shows the same")


def _checksum() -> Iterator[Checked]:
    import google_crc32c

    if google_crc32c.implementation == "c":
        yield Checked("ok", "checksums are computed by compiled code")
    else:
        text = "checksums are computed in Python: writing records is slow"
        yield Checked("note", text, "pip install --force-reinstall google-crc32c")


def _torch_side() -> Iterator[Checked]:
    from tb_gradgraph.commands.doctor_torch import examine_torch

    yield from examine_torch()


CHECKS: tuple[Callable[[], Iterator[Checked]], ...] = (
    _versions,
    _setuptools_for_old_tensorboard,
    _hidden_by_a_folder,
    _tensorboard_on_path,
    _plugin_is_visible,
    _panel_is_there,
    _data_server,
    _checksum,
    _torch_side,
)


def _find_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _parse(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])
