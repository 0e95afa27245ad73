"""Case 14: pickle and deepcopy while attached; a copy is not logged by accident."""

from __future__ import annotations

import copy
import io
import pathlib

import torch
import torch.multiprocessing
from torch import nn

import tb_gradgraph
from tb_gradgraph.record.read.read_logdir import read_logdir


def test_saving_and_copying_a_model_whose_loss_is_observed() -> None:
    net = nn.Linear(2, 1)
    before = {name: dict(vars(module)) for name, module in net.named_modules()}
    loss = net(torch.ones(1, 2)).sum()
    graph = tb_gradgraph.capture(loss)
    buffer = io.BytesIO()
    torch.save(net, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    average = copy.deepcopy(net)
    for twin in (loaded, average):
        twin(torch.ones(1, 2)).sum().backward()
        assert not twin.weight._backward_hooks
    assert not graph.backward_passes, "what the copies did is not ours"
    loss.backward()
    assert len(graph.backward_passes) == 1
    del loss
    assert net.weight._backward_hooks is None, "nothing is left when the graph has gone"
    assert {name: dict(vars(module)) for name, module in net.named_modules()} == before


def test_a_graph_can_be_copied_and_pickled() -> None:
    graph = tb_gradgraph.capture(nn.Linear(2, 1), torch.ones(1, 2))
    twin = copy.deepcopy(graph)
    assert twin.hash == graph.hash
    assert twin["weight"].gradient.tolist() == [[1.0, 1.0]]


def test_saving_a_plain_tensor_that_is_observed_is_silent() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = (x * 2).sum()
    tb_gradgraph.capture(loss)
    torch.save(x, io.BytesIO())
    assert not copy.deepcopy(x)._backward_hooks


def _train_in_a_child(_rank: int, net: nn.Module, logdir: str) -> None:
    net(torch.ones(1, 2)).sum().backward()
    with tb_gradgraph.SummaryWriter(logdir) as writer:
        writer.add_grad_graph(net, torch.ones(1, 2))


def test_spawn_with_an_observed_model(tmp_path: pathlib.Path) -> None:
    net = nn.Linear(2, 1)
    loss = net(torch.ones(1, 2)).sum()
    graph = tb_gradgraph.capture(loss)
    torch.multiprocessing.spawn(_train_in_a_child, (net, str(tmp_path)), nprocs=1)
    assert not graph.backward_passes, "the child's backward is not ours"
    (run,) = read_logdir(tmp_path)
    assert len(run.records) == 1
    loss.backward()
    assert len(graph.backward_passes) == 1


class _Rows(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(index))


def _backward_in_a_child(_rank: int, net: nn.Module) -> None:
    net(torch.ones(1, 2)).sum().backward()


def test_workers_and_spawned_children_of_a_watched_training(tmp_path: pathlib.Path) -> None:
    net = nn.Linear(2, 1)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, every_n_steps=1, level="op")
        average = copy.deepcopy(net)
        for x in torch.utils.data.DataLoader(_Rows(), batch_size=4, num_workers=1):
            net(x).sum().backward()
            average(x).sum().backward()  # its own gradients are not ours
        torch.multiprocessing.spawn(_backward_in_a_child, (net,), nprocs=1)
        assert watch.step == 2 and watch.failure is None
    (run,) = read_logdir(tmp_path)
    assert [(record.step, record.stage) for record in run.records] == [
        (0, "backward"),
        (1, "backward"),
    ]
