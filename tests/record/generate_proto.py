"""Make ``gradgraph_pb2.py`` from ``gradgraph.proto``: ``python -m tests.record.generate_proto``."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTO = "tb_gradgraph/record/format/gradgraph.proto"
GENERATED = (
    "tb_gradgraph/record/format/gradgraph_pb2.py",
    "tb_gradgraph/record/format/gradgraph_pb2.pyi",
)

#: The last release whose code asks for no protobuf of its own age; it needs pkg_resources.
REQUIREMENTS = ("grpcio-tools==1.62.3", "setuptools<70")


def install_generator() -> pathlib.Path:
    """Return the Python of an environment with the generator; built once under ``build/``."""
    home = ROOT / "build" / "grpcio-tools-1.62.3"
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    installed = home / "installed"
    if not installed.exists():
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        installed.touch()
    return python


def generate(destination: pathlib.Path) -> None:
    """Write the generated files under ``destination``, in the folders of the package."""
    destination.mkdir(parents=True, exist_ok=True)
    out = [f"--python_out={destination}", f"--pyi_out={destination}"]
    command = [install_generator(), "-m", "grpc_tools.protoc", f"-I{ROOT}", *out, PROTO]
    subprocess.run(command, check=True, cwd=ROOT)


if __name__ == "__main__":
    generate(ROOT)
