"""Execute a notebook in a process of its own: ``python -m tests.demo.notebook_process IN OUT``."""

from __future__ import annotations

import sys

import nbformat
from nbclient import NotebookClient


def execute(source: str, target: str) -> None:
    """Run all cells of ``source`` and write the notebook with its outputs to ``target``."""
    notebook = nbformat.read(source, as_version=4)
    NotebookClient(notebook, timeout=180, kernel_name="python3").execute()
    nbformat.write(notebook, target)


if __name__ == "__main__":
    execute(*sys.argv[1:])
