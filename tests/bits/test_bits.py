"""A part of ``python -m tests.bits``, and that it finds what it is there for."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import tb_gradgraph
from tests import warm
from tests.bits.check import VISITS, Checker, Result
from tests.bits.compositions import compositions
from tests.bits.modules import padded
from tests.bits.samples import Source
from tests.bits.shell import Shell

LIMIT_S = 180
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of how modules are made


def test_a_sample_of_torch() -> None:
    """80 operators and modules, attention with padding, and what a trace once changed."""
    arguments = ("--each", "1", "--operators", "80", "--dtype", "float32")
    ended = warm.run("-m", "tests.bits", *arguments, limit_s=LIMIT_S)
    print(ended.stdout)
    assert ended.returncode == 0
    assert " 0 differ" in ended.stdout


@pytest.mark.parametrize("level", ["param", "module"])
def test_the_other_levels(level: str, tmp_path: pathlib.Path) -> None:
    sources = [*compositions(["float32", "complex64"]), *padded(["float32"])]
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        results = check_all(Checker(writer, level), sources, 4)
    assert len(results) > 100
    assert [result for result in results if result.differs or result.left_out] == []


class Meddling:
    """Stands for a writer whose watch is not harmless: it does something around each forward."""

    def __init__(self, begin: Callable[[], Any], end: Callable[[], Any]) -> None:
        self._begin, self._end = begin, end
        self.step = VISITS

    def watch(self, shell: Shell, **_: Any) -> Meddling:
        shell.register_forward_pre_hook(lambda *_: self._begin())
        shell.register_forward_hook(lambda *_: self._end(), always_call=True)
        return self

    def close(self) -> None:
        """Do nothing."""


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def test_a_mode_is_found() -> None:
    """Under any dispatch mode torch multiplies a batch with one matrix in another way."""
    modes: list[_Mode] = []

    def begin() -> None:
        modes.append(_Mode())
        modes[-1].__enter__()

    def end() -> None:
        modes.pop().__exit__(None, None, None)

    results = check_all(Checker(Meddling(begin, end), "op"), [*compositions(["float32"])], None)
    differing = [result for result in results if result.differs]
    assert any("outputs and gradients and names" in result.differs for result in differing)
    assert any("norm" in result.place and "outputs" in result.differs for result in differing)
    assert len(differing) < len(results)


def test_a_random_number_is_found() -> None:
    meddling = Meddling(lambda: None, _draw)
    results = check_all(Checker(meddling, "op"), [*compositions(["float32"])], 1)
    assert {result.differs for result in results} == {
        "randomness at visit 1, randomness at visit 2"
    }


def _draw() -> None:
    torch.rand(1)


def check_all(checker: Checker, sources: list[Source], most: int | None) -> list[Result]:
    samples = [sample for source in sources for sample in source.samples(0, None)[:most]]
    return [result for sample in samples for result in checker.check(sample)]
