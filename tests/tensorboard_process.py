"""A real TensorBoard process for tests and benchmarks."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from tests.patience import Limit, patient

_ADDRESS = re.compile(r"TensorBoard \S+ at (http://\S+)")
START_LIMIT_S = 60


@contextlib.contextmanager
def run_tensorboard(
    logdir: str | os.PathLike[str],
    *,
    load_fast: bool = True,
    path_prefix: str = "",
    python: str = sys.executable,
    arguments: tuple[str, ...] = (),
) -> Iterator[str]:
    """Serve ``logdir`` with the TensorBoard of ``python`` and yield the address.

    The address ends with ``/`` and includes ``path_prefix``. The port is a free
    one; on leaving, the process is asked to end by its id and waited for.
    """
    command = [
        *(python, "-m", "tensorboard.main", "--logdir", os.fspath(logdir)),
        *("--host", "127.0.0.1", "--port", "0", "--reload_interval", "1"),
        *("--load_fast", "true" if load_fast else "false"),
        *("--path_prefix", path_prefix, *arguments),
    ]
    with tempfile.TemporaryDirectory() as directory:
        output = pathlib.Path(directory) / "output"
        with output.open("wb") as stream:
            process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        try:
            yield _wait_for_address(process, output)
        finally:
            process.terminate()
            try:
                process.wait(patient(10))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_address(process: subprocess.Popen[bytes], output: pathlib.Path) -> str:
    limit = Limit(START_LIMIT_S)
    while not limit.is_over():
        text = output.read_text(errors="replace")
        found = _ADDRESS.search(text)
        if found:
            return found.group(1).rstrip("/") + "/"
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"TensorBoard did not start:\n{output.read_text(errors='replace')}")
