"""Hyperparameters of runs, as TensorBoard's own dashboard has them."""

from __future__ import annotations

import json
import math
import pathlib
import urllib.request

import pytest
import torch
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from torch.utils.tensorboard import SummaryWriter as TorchWriter
from torch.utils.tensorboard.summary import hparams as hparams_summaries

import tb_gradgraph
from tb_gradgraph.serve.runs.hyperparameters import assign_hparams, parse_hparams
from tests.patience import wait_until


def train(directory: pathlib.Path, **hparams: float | str | bool) -> None:
    """Record a step in ``directory``, and hyperparameters as torch's writer does: in a directory below it."""
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        writer.add_grad_graph(torch.nn.Linear(2, 1), torch.ones(1, 2), tag="net")
        if hparams:
            writer.add_hparams(hparams, {"loss": 1.0})


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("hparams")
    train(directory / "small", lr=0.01, optimizer="sgd", nesterov=True)
    train(directory / "sweep" / "large", lr=1.0)
    train(directory / "none")
    with TorchWriter(str(directory / "sweep")) as writer:  # of all runs below
        for summary in hparams_summaries({"depth": 3, "lr": 7.0}, {"loss": 1.0}):
            writer.file_writer.add_summary(summary)
    return directory


@pytest.mark.parametrize("load_fast", [True, False])
def test_a_run_has_the_hyperparameters_that_torch_wrote_for_it(
    logdir, load_fast, tensorboard_server
):
    address = tensorboard_server(logdir, load_fast=load_fast)

    def ask() -> dict[str, dict[str, object]]:
        with urllib.request.urlopen(f"{address}data/plugin/gradgraph/hparams") as answer:
            return json.load(answer)["runs"]

    expected = {
        "small": {"lr": 0.01, "optimizer": "sgd", "nesterov": True},
        "sweep/large": {"lr": 1.0, "depth": 3.0},
    }
    assert wait_until(lambda: ask() == expected, 60), ask()


def test_the_nearest_directory_wins():
    recorded = {
        ".": {"seed": 1, "lr": 1},
        "a": {"lr": 2},
        "a/1699.5": {"lr": 3, "width": 4},
        "b/c": {"lr": 5},
        "b": {"lr": 6, "depth": 7},
    }
    assert assign_hparams(["a", "b/c", "d"], recorded) == {
        "a": {"lr": 2, "width": 4, "seed": 1},
        "b/c": {"lr": 5, "depth": 7, "seed": 1},
        "d": {"seed": 1, "lr": 1},
    }
    assert assign_hparams(["."], {"1699.5": {"lr": 3}}) == {".": {"lr": 3}}
    assert assign_hparams(["a"], {}) == {}


def test_other_content_gives_none_and_long_texts_are_cut():
    assert parse_hparams(b"\xff\xff") == {}
    assert parse_hparams(HParamsPluginData().SerializeToString()) == {}
    data = HParamsPluginData()
    values = data.session_start_info.hparams
    values["n" * 1000].string_value = "t" * 1000
    values["nan"].number_value = math.nan
    values["list"].list_value.values.add().number_value = 1
    assert parse_hparams(data.SerializeToString()) == {"n" * 200: "t" * 200, "nan": "nan"}
    for index in range(1000):
        values[f"{index}"].bool_value = True
    assert len(parse_hparams(data.SerializeToString())) <= 200
