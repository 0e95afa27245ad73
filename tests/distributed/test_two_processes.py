"""Trainings of two processes. Checks run in one pair that is started once, hence one file."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

import pytest
import torch

from tests.distributed.pair import Pair

DIRECTORY = pathlib.Path(__file__).parent

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="this torch was built without distributed"
)


def _checks() -> Iterator[str]:
    """Yield every public function of the files ``of_*.py``."""
    for path in sorted(DIRECTORY.glob("of_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield f"{path.stem}.{node.name}"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    processes = Pair(tmp_path_factory.mktemp("pair"))
    yield processes
    processes.close()


@pytest.mark.parametrize("check", list(_checks()))
def test_check(check: str, pair: Pair, tmp_path: pathlib.Path) -> None:
    pair.run(check, tmp_path)
