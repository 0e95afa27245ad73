"""One TensorBoard with the runs of the heat map's tests, for each file."""

from __future__ import annotations

import pathlib
import warnings

import pytest

from tests.browser.flow.flow_training import train, write_odd_runs


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("flow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is not finite, which is the point here
        train(root / "training")
        write_odd_runs(root)
    return root


@pytest.fixture(scope="module")
def address(tensorboard_server, logdir: pathlib.Path) -> str:
    return tensorboard_server(logdir)
