"""``watch.findings()``: what is wrong with a training, asked within its loop."""

from __future__ import annotations

import pytest
import tensorboardX
import torch
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import tb_gradgraph
from tests.health.recorded import IdleNet, make_net

WRITERS = (tb_gradgraph.SummaryWriter, TorchWriter)
X = torch.ones(3, 4)


@pytest.mark.parametrize("writer_class", WRITERS)
def test_a_watch_knows_what_is_wrong_so_far(tmp_path, writer_class):
    model = make_net()
    writer = writer_class(str(tmp_path))
    watch = tb_gradgraph.watch(writer, model, every_n_steps=1, values=True)
    assert watch.findings() == []  # nothing is recorded yet
    for step in range(4):
        (model(X).sum() * (torch.nan if step > 1 else 1.0)).backward()
        errors = [one for one in watch.findings() if one.severity == "error"]
        assert bool(errors) == (step > 1)
    watch.close()
    writer.close()
    assert [one.first_step for one in watch.findings() if one.severity == "error"] == [2]
    assert watch.findings() == tb_gradgraph.findings(tmp_path)


def test_of_a_writer_that_cannot_be_waited_for_all_is_known_when_it_is_closed(tmp_path):
    model = make_net()
    with tensorboardX.SummaryWriter(str(tmp_path)) as writer:
        watch = tb_gradgraph.watch(writer, model, every_n_steps=1, values=True)
        (model(X).sum() * torch.nan).backward()
        watch.findings()
    assert "error" in {one.severity for one in watch.findings()}


def test_it_is_about_this_watch_alone(tmp_path):
    models = {"a": make_net(), "b": IdleNet()}
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watches = {
            tag: writer.watch(model, every_n_steps=1, values=True, tag=tag)
            for tag, model in models.items()
        }
        for model in models.values():
            model(X).sum().backward()
        assert {one.tag for one in watches["b"].findings()} == {"b"}
        assert "no_gradient" not in {one.kind for one in watches["a"].findings()}


def test_asking_changes_nothing_of_the_training(tmp_path):
    ends = []
    for asks in (False, True):
        torch.manual_seed(0)
        model = make_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with tb_gradgraph.SummaryWriter(str(tmp_path / str(asks))) as writer:
            watch = writer.watch(model, optimizer=optimizer, every_n_steps=1)
            for _ in range(3):
                optimizer.zero_grad()
                model(torch.randn(5, 4)).pow(2).sum().backward()
                optimizer.step()
                if asks:
                    watch.findings()
        ends.append([*model.state_dict().values(), torch.get_rng_state()])
    assert all(map(torch.equal, *ends))


def test_a_watch_that_records_nothing_finds_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("TB_GRADGRAPH", "0")
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        assert writer.watch(make_net()).findings() == []
