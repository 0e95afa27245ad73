"""A private part of torch that is missing: said once, never in the way of the user's training."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from tb_gradgraph.autograd.torch_internals import private
from tests.autograd.torch_internals.without_parts_process import TAKE_AWAY

ROOT = pathlib.Path(__file__).parents[3]
USES = ("import", "model", "tensors", "watch")

#: What does not go on as ever: what is said then.
OTHERWISE = {
    ("queue_callback", "tensors"): "None, None",
    ("_input_metadata", "model"): "CaptureError: capture(): expected a torch with",
    ("_input_metadata", "tensors"): "CaptureError: capture(): expected a torch with",
    ("_input_metadata", "watch"): "CaptureError: watch(): expected a torch with",
    ("_engine_run_backward", "watch"): "CaptureError: watch(): expected a torch with",
    **{("a file of ours", use): "ModuleNotFoundError" for use in USES},
}
#: Without these nothing is lost but time.
UNNEEDED = {"nothing", "_pytree", "_saved_alpha", "__dlpack_c_exchange_api__"}


@pytest.fixture(scope="module")
def without() -> dict[str, dict[str, Any]]:
    """What each use gives where a part is missing, by the part."""
    finished = subprocess.run(
        [sys.executable, "-m", "tests.autograd.torch_internals.without_parts_process"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    return json.loads(finished.stdout)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("part", TAKE_AWAY)
def test_numbers_are_right_or_the_use_is_refused(
    part: str, use: str, without: dict[str, dict[str, Any]]
) -> None:
    found, otherwise = without[part][use], OTHERWISE.get((part, use))
    assert otherwise in found if otherwise else found == "right"


@pytest.mark.parametrize("part", [part for part in TAKE_AWAY if part != "a file of ours"])
def test_the_loss_is_told_once_or_nothing_is_lost(
    part: str, without: dict[str, dict[str, Any]]
) -> None:
    told = [text for text in without[part]["warnings"] if part in text]
    refused = [use for use in USES if "expected a torch with" in without[part][use]]
    assert len(told) == (0 if part in UNNEEDED or refused else 1)
    assert all(part in without[part][use] for use in refused)


@pytest.mark.parametrize("part", TAKE_AWAY)
def test_the_doctor_names_what_is_missing(part: str, without: dict[str, dict[str, Any]]) -> None:
    findings = without[part]["doctor"]
    if part in UNNEEDED:  # before torch 2.9 one part is missing in any case
        lacks = [text for state, text in findings if state != "ok"]
        assert all("SavedTensor.unpack_hook" in text for text in lacks)
    elif part == "a file of ours":
        ((state, text),) = (finding for finding in findings if finding[0] == "wrong")
        assert "recording fails" in text and "tb_gradgraph.autograd.torch_internals.walk" in text
    else:
        stops = part in ("_input_metadata", "_engine_run_backward")
        named = [state for state, text in findings if f"{part};" in text or f"{part} " in text]
        assert named and ("wrong" in named) == stops


def test_the_table_in_the_documentation_has_every_part() -> None:
    text = (ROOT / "docs/how-it-works.md").read_text(encoding="utf-8")
    for part in private.PARTS:
        for name in part.names:
            assert name.rpartition(".")[2] in text, name
