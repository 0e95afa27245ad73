"""What ``tb-gradgraph summary`` says of health and layers; the numbers are compared with torch's own."""

from __future__ import annotations

import copy
import re

import pytest
import torch
from torch import nn

from tb_gradgraph import SummaryWriter
from tb_gradgraph.commands import main as cli
from tb_gradgraph.commands.show.layers import layers_of, row_of
from tb_gradgraph.health import examine


@pytest.fixture
def printed(trainings_logdir, capsys) -> str:
    assert cli.main(["summary", str(trainings_logdir)]) == 0
    return capsys.readouterr().out


def test_each_run_has_its_headline(trainings_logdir, printed):
    *_, blind, healthy, idle, rooted, last = printed.splitlines()
    assert blind.startswith("run blind: healthy.") and healthy.startswith("run healthy: healthy.")
    assert re.match(r"run idle: warning no_gradient at idle\.\w+ and 1 more, steps 0 to 19", idle)
    assert re.match(r"run rooted: error \w+ at ", rooted)
    assert last == f"What to do about it: tb-gradgraph findings {trainings_logdir}"


def test_each_training_has_a_table_of_layers(printed):
    tables = re.split(
        r"^run (\w+), tag net: norms of the gradients \(applied\).*$", printed, flags=re.M
    )
    rows = dict(zip(tables[1::2], tables[2::2]))
    assert set(rows) == {"blind", "healthy", "idle", "rooted"}
    assert re.search(
        r"^0 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.e-]+ +0% +[▁▂▃▄▅▆▇█]{20}$", rows["healthy"], re.M
    )
    assert re.search(r"^1 +- +- +- +- +\d\d%$", rows["healthy"], re.M)  # of the ReLU
    assert re.search(r"^0 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.e-]+ +- ", rows["blind"], re.M)
    assert re.search(r"^first +not finite .*×{8}$", rows["rooted"], re.M)
    assert re.search(r"^idle +- +- +- +- +-$", rows["idle"], re.M)


def test_numbers_of_layers_are_those_of_torch(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    norms, ratios, zeros = [], [], []
    with SummaryWriter(str(tmp_path)) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=1, level="op", values=True)
        for _ in range(5):
            x = torch.randn(8, 3)
            before = copy.deepcopy(model[0]).state_dict()
            zeros.append((model[:2](x) == 0).float().mean().item())
            optimizer.zero_grad()
            model(x).pow(2).sum().backward()
            parts = [parameter.grad.flatten() for parameter in model[0].parameters()]
            norms.append(torch.cat(parts).norm().item())
            optimizer.step()
            old = torch.cat([value.flatten() for value in before.values()])
            new = torch.cat([value.flatten() for value in model[0].state_dict().values()])
            ratios.append(((new - old).norm() / old.norm()).item())
    (training,) = examine(tmp_path)
    first, relu, _ = layers_of(training).shown
    assert first.norms == pytest.approx(norms, rel=1e-5)
    assert first.update_ratio == pytest.approx(sorted(ratios)[2], rel=1e-4)
    assert relu.zeros == pytest.approx(sorted(zeros)[2], rel=1e-5)
    last, median, greatest = (
        f"{number:.3g}" for number in (norms[-1], sorted(norms)[2], max(norms))
    )
    assert row_of(first)[:4] == ("0", last, median, greatest)


def test_of_many_layers_the_greatest_and_the_least_are_shown(tmp_path, capsys):
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(30)))
    with SummaryWriter(str(tmp_path)) as writer:
        writer.watch(model, every_n_steps=1)
        model(torch.ones(4, 2)).sum().backward()
    (training,) = examine(tmp_path)
    layers, all_of_them = layers_of(training), layers_of(training, most=100)
    assert (len(layers.shown), layers.further, layers.stage) == (20, 10, "backward")
    names = [layer.name for layer in layers.shown]
    assert names == sorted(names, key=int)  # in the order of the model
    left = [layer.size for layer in all_of_them.shown if layer.name not in names]
    shown = sorted(layer.size for layer in layers.shown)
    assert shown[9] <= min(left) and max(left) <= shown[10]
    assert cli.main(["summary", str(tmp_path)]) == 0
    assert "and 10 more, with gradients between these" in capsys.readouterr().out


def test_layers_that_are_not_finite_or_dead_are_shown_before_others(tmp_path):
    torch.manual_seed(0)
    layers = [nn.Linear(2, 2) for _ in range(30)]
    nn.init.constant_(layers[10].bias, -100.0)
    model = nn.Sequential(*layers[:11], nn.ReLU(), *layers[11:])
    with SummaryWriter(str(tmp_path)) as writer:
        writer.watch(model, every_n_steps=1, level="op", values=True)
        (model(torch.ones(4, 2)).sum() + layers[20].weight.sum() * torch.nan).backward()
    (training,) = examine(tmp_path)
    shown = {layer.name: layer for layer in layers_of(training, most=2).shown}
    assert set(shown) == {"11", "21"}  # the ReLU is number 11
    assert (shown["11"].zeros, shown["21"].size) == (1.0, float("inf"))


def test_a_structure_alone_has_no_layers_to_show(tmp_path, capsys):
    x = torch.ones(2, requires_grad=True)
    writer = SummaryWriter(str(tmp_path))
    writer.add_grad_graph((x * 2).sum())
    with pytest.warns(UserWarning, match="no backward"):
        writer.close()
    assert cli.main(["summary", str(tmp_path)]) == 0
    assert "norms of the gradients" not in capsys.readouterr().out
