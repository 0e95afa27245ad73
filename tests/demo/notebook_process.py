"""Execute a notebook and keep its kernel: ``python -m tests.demo.notebook_process IN OUT``.

The servers that cells start end with the kernel; it lives until standard input closes.
"""

from __future__ import annotations

import sys

import nbformat
from nbclient import NotebookClient

from tests.patience import patient


def execute(source: str, target: str) -> None:
    """Run all cells of ``source``, write the result to ``target``, say so and wait."""
    notebook = nbformat.read(source, as_version=4)
    client = NotebookClient(notebook, timeout=int(patient(60)), kernel_name="python3")
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        nbformat.write(notebook, target)
        print("executed", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    execute(*sys.argv[1:])
