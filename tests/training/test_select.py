"""What select, exclude and level leave of a training; where that is nothing, it is said at once."""

from __future__ import annotations

import json
import pathlib
import re
import urllib.parse
import urllib.request
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.logged import read_one_run, read_tensor
from tests.patience import patient
from tests.training.loops import assert_gradient, small_net

NAMES = "0.bias, 0.weight, 2.bias, 2.weight"


def _train(logdir: pathlib.Path, net: nn.Module, steps: int = 2, **options: Any) -> list[str]:
    """Run a watched training; give what was warned of."""
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with tb_gradgraph.SummaryWriter(str(logdir)) as writer:
            writer.watch(net, optimizer=optimizer, every_n_steps=1, **options)
            for step in range(steps):
                optimizer.zero_grad()
                loss = net(torch.ones(2, 3)).square().mean()
                (loss * 2 if step else loss).backward()  # another graph
                optimizer.step()
    return [str(each.message) for each in warned]


@pytest.mark.parametrize(
    "options",
    [
        {"select": lambda node: False},
        {"select": []},
        {"exclude": "*"},
        {"select": "*", "exclude": lambda node: True},
    ],
)
def test_where_nothing_is_left_names_are_told(
    options: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    (text,) = _train(tmp_path, small_net(), level="param", **options)
    assert text.startswith(
        "watch(): select, exclude and level='param' leave nothing of this graph, so no "
        "gradient is read. Names at this level: "
    )
    told = re.search(r"level: (.*)\.$", text)
    assert told is not None and set(told[1].split(", ")) == set(NAMES.split(", "))


@pytest.mark.parametrize("select", ["encoder.*", ["encoder.*"]])
def test_a_pattern_for_nothing_is_told_beside_it(select: Any, tmp_path: pathlib.Path) -> None:
    texts = _train(tmp_path, small_net(), select=select)
    assert texts[0].startswith("watch(): the pattern 'encoder.*' matches no node or tensor")
    assert texts[1].startswith("watch(): select, exclude and level='module' leave nothing")
    assert "Names at this level: " in texts[1] and len(texts) == 2


def test_an_operation_is_not_read_at_the_level_of_parameters(tmp_path: pathlib.Path) -> None:
    selected = {"select": lambda node: node.kind == "operation"}
    (text,) = _train(tmp_path, small_net(), level="param", **selected)
    assert "level='param' leave nothing" in text


@pytest.mark.parametrize("argument", ["select", "exclude", "retain"])
@pytest.mark.parametrize("given", [5, [None], None])
def test_what_is_no_selector_is_an_error_at_the_call(
    argument: str, given: Any, tmp_path: pathlib.Path
) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(tb_gradgraph.CaptureError, match=r"^watch\(\): expected a selector"):
            writer.watch(small_net(), **{argument: given})


def test_what_is_selected_is_read_without_a_word(tmp_path: pathlib.Path) -> None:
    net = small_net()
    assert _train(tmp_path, net, steps=1, select="2.*", level="param") == []
    run = read_one_run(tmp_path)
    found = {name: read_tensor(run, run.records[0], name) for name in NAMES.split(", ")}
    for name, parameter in net.named_parameters():
        assert_gradient(found[name], parameter.grad if name[0] == "2" else None, name)


def test_what_is_served_does_not_say_that_no_backward_ran(
    tmp_path: pathlib.Path, tensorboard_server: Callable[..., str]
) -> None:
    _train(tmp_path / "run", small_net(), steps=1, exclude="*")
    base = tensorboard_server(tmp_path) + "data/plugin/gradgraph/"
    with urllib.request.urlopen(base + "runs", timeout=patient(20)) as answer:
        (run,) = json.load(answer)["runs"]
    (tag,) = run["tags"]
    assert set(tag["has_gradients"]) == {True}
    query = urllib.parse.urlencode({"run": run["run"], "tag": tag["tag"], "step": 0})
    with urllib.request.urlopen(f"{base}findings?{query}", timeout=patient(20)) as answer:
        kinds = [finding["kind"] for finding in json.load(answer)["findings"]]
    assert kinds == ["nothing_selected"]
