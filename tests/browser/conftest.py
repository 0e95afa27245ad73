"""The demos' logs as runs of one TensorBoard, shared by all tests of the panel."""

from __future__ import annotations

import concurrent.futures
import pathlib
import shutil

import pytest

DEMOS = (
    "chain_rule",
    "custom_function",
    "detached",
    "digits",
    "in_place",
    "leaves",
    "linear_fit",
    "meta_learning",
    "notebook_net",
    "second_order",
    "two_drawings",
    "vector_output",
)


@pytest.fixture(scope="session")
def logdir(demo_logdir, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The logs of the demos as runs of one directory."""
    directory = tmp_path_factory.mktemp("runs")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # most of a demo is importing torch
        for name, log in zip(DEMOS, pool.map(demo_logdir, DEMOS)):
            shutil.copytree(log, directory / name)
    return directory


@pytest.fixture
def address(tensorboard_server, logdir: pathlib.Path) -> str:
    """The TensorBoard that serves all of them."""
    return tensorboard_server(logdir)
