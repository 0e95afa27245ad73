"""The facts that a watch writes are true of the training, and the training is what it was without."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.training.facts import equal_parameters
from tb_gradgraph.training_facts import MOST_NAMES, Names, TrainingFacts
from tests.logged import read_one_run
from tests.training.loops import Bare, run_both, state_of


def names(*some: str) -> Names:
    return Names(some, len(some))


class Deep(nn.Module):
    """Layers of one shape, a batch normalization and a dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 8)
        self.norm = nn.BatchNorm1d(8)
        self.blocks = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 8))
        self.last = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.blocks(self.norm(self.first(x))))


def facts_of(
    tmp_path: pathlib.Path, net: nn.Module, *optimizers: torch.optim.Optimizer, **options: Any
) -> TrainingFacts:
    """Train two steps, and return what the log says."""
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizers or None, **options)
        for _ in range(2):
            net(torch.randn(4, 3)).square().mean().backward()
            for optimizer in optimizers:
                optimizer.step()
        assert watch.failure is None
    (facts,) = read_one_run(tmp_path).facts.values()
    assert facts.tag == watch.tag
    return facts


def test_of_a_training_without_faults(tmp_path: pathlib.Path):
    net = Deep()
    facts = facts_of(tmp_path, net, torch.optim.Adam(net.parameters(), 1e-2))
    (optimizer,) = facts.optimizers
    (group,) = optimizer.groups
    every = [name for name, _ in net.named_parameters()]
    assert (optimizer.name, optimizer.strangers) == ("Adam", 0)
    assert (group.parameters, group.names) == (len(every), names(*every))
    numbers = {"lr": 1e-2, "betas/0": 0.9, "betas/1": 0.999, "eps": 1e-8, "weight_decay": 0.0}
    assert numbers.items() <= group.settings.items()
    assert facts == TrainingFacts(
        tag="Deep",
        parameters=len(every),
        elements=sum(parameter.numel() for parameter in net.parameters()),
        dtypes={"float32": len(every)},
        optimizers=(optimizer,),
    )


def test_settings_are_those_of_each_group(tmp_path: pathlib.Path):
    net = Deep()
    groups = [
        {"params": net.first.parameters(), "lr": torch.tensor(0.25)},
        {"params": [*net.last.parameters(), net.norm.weight], "weight_decay": 0.5, "name": "x"},
    ]
    optimizer = torch.optim.SGD(groups, 0.125, momentum=0.75, nesterov=True)
    (told,) = facts_of(tmp_path, net, optimizer).optimizers
    first, last = (group.settings for group in told.groups)
    assert (first["lr"], first["weight_decay"], first["momentum"]) == (0.25, 0.0, 0.75)
    assert (last["lr"], last["weight_decay"], last["nesterov"]) == (0.125, 0.5, 1.0)
    assert "name" not in last and "params" not in last
    assert told.groups[1].names == names("last.weight", "last.bias", "norm.weight")


def test_of_parameters_in_no_optimizer_and_of_strangers(tmp_path: pathlib.Path):
    net, other = Deep(), nn.Linear(5, 2)
    net.norm.bias.requires_grad_(False)
    held = [*net.first.parameters(), *net.blocks.parameters(), *other.parameters()]
    facts = facts_of(tmp_path, net, torch.optim.SGD(held, 0.1))
    assert facts.unoptimized == names("norm.weight", "last.weight", "last.bias")
    assert facts.optimizers[0].strangers == 2
    assert facts.optimizers[0].groups[0].parameters == 8
    assert facts.frozen == 1


def test_of_parameters_that_two_optimizers_have(tmp_path: pathlib.Path):
    net = Deep()
    first = torch.optim.SGD(net.parameters(), 0.1)
    second = torch.optim.Adam([net.first.bias, net.last.weight], 0.1)
    facts = facts_of(tmp_path, net, first, second)
    assert facts.held_twice == names("first.bias", "last.weight")
    assert [optimizer.name for optimizer in facts.optimizers] == ["SGD", "Adam"]


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
def test_of_a_parameter_that_one_optimizer_has_twice(tmp_path: pathlib.Path):
    net = Deep()
    optimizer = torch.optim.SGD([*net.parameters(), net.first.bias], 0.1)
    assert facts_of(tmp_path, net, optimizer).held_twice == names("first.bias")


def test_without_an_optimizer_nothing_is_said_of_any(tmp_path: pathlib.Path):
    facts = facts_of(tmp_path, Deep())
    assert (facts.optimizers, facts.unoptimized, facts.held_twice) == ((), Names(), Names())


def test_of_copies_that_are_trained(tmp_path: pathlib.Path):
    net = Deep()
    net.blocks[2].load_state_dict(net.blocks[0].state_dict())
    facts = facts_of(tmp_path, net, torch.optim.SGD(net.parameters(), 0.1))
    expected = ("blocks.0.weight", "blocks.2.weight"), ("blocks.0.bias", "blocks.2.bias")
    assert facts.equal == tuple(names(*some) for some in expected)


@pytest.mark.parametrize(
    "change",
    [
        lambda net: None,
        lambda net: [nn.init.zeros_(layer.weight) for layer in (net.blocks[0], net.blocks[2])],
        lambda net: net.blocks.requires_grad_(False),
        lambda net: setattr(net.blocks[2], "weight", net.blocks[0].weight),  # tied
        lambda net: net.blocks[2].weight.data.view(-1)[63].add_(1e-6),
    ],
)
def test_of_what_is_no_trained_copy(change: Callable[[Deep], Any], tmp_path: pathlib.Path):
    net = Deep()
    with torch.no_grad():
        net.blocks[2].weight.copy_(net.blocks[0].weight)
        if change(net) is None:
            net.blocks[2].weight.add_(1.0)
    assert facts_of(tmp_path, net, torch.optim.SGD(net.parameters(), 0.1)).equal == ()


def test_all_elements_count_unless_there_are_very_many(monkeypatch: pytest.MonkeyPatch):
    first = torch.arange(1000.0)
    second, third = first.clone(), first.clone()
    second[17] = 0  # not sampled
    same = equal_parameters.EqualParameters([first, second, third], "abc").finish()
    assert same == (names("a", "c"),)
    monkeypatch.setattr(equal_parameters, "_MOST_ELEMENTS", 999)
    same = equal_parameters.EqualParameters([first, second, third], "abc").finish()
    assert same == (names("a", "b", "c"),)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.complex64, torch.float64, torch.bool])
def test_copies_of_any_type_are_found(dtype: torch.dtype):
    first = torch.arange(6).reshape(2, 3).to(dtype)
    turned = first.t().contiguous().t()  # other strides are not compared
    found = equal_parameters.EqualParameters([first, first.clone(), turned, turned.clone()], "abcd")
    assert found.finish() == (names("a", "b"), names("c", "d"))


def test_of_modes(tmp_path: pathlib.Path):
    net = Deep()
    net.norm.eval()
    net.blocks.eval()
    facts = facts_of(tmp_path, net, torch.optim.SGD(net.parameters(), 0.1))
    assert facts.is_training
    assert facts.evaluating == names("norm", "blocks.1")
    assert facts.outer_evaluating == names("norm", "blocks")


def test_of_a_model_in_evaluation_mode(tmp_path: pathlib.Path):
    net = Deep().eval()
    facts = facts_of(tmp_path, net, torch.optim.SGD(net.parameters(), 0.1))
    assert not facts.is_training
    assert (facts.evaluating, facts.outer_evaluating) == (names("norm", "blocks.1"), Names())


def test_of_types_and_a_scaler(tmp_path: pathlib.Path):
    net = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1, dtype=torch.float64))
    net[0].register_forward_hook(lambda _m, _i, output: output.double())
    scaler = torch.amp.GradScaler("cpu")
    facts = facts_of(tmp_path, net, torch.optim.SGD(net.parameters(), 0.1), grad_scaler=scaler)
    assert facts.dtypes == {"float32": 2, "float64": 2}
    assert facts.has_scaler


def test_they_are_those_of_the_first_recorded_backward(tmp_path: pathlib.Path):
    """Between ``watch`` and the first backward much may change."""
    net = Deep().eval()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer)
        watch.step = 100
        net.train()
        optimizer.param_groups[0]["lr"] = 0.5
        nn.Linear(3, 1)(torch.randn(4, 3)).mean().backward()  # of another model
        for _ in range(2):
            net(torch.randn(4, 3)).mean().backward()
            optimizer.step()
            net.eval()
    (facts,) = read_one_run(tmp_path).facts.values()
    assert (facts.step, facts.is_training) == (100, True)
    assert facts.optimizers[0].groups[0].settings["lr"] == 0.5


def test_a_list_keeps_some_names_and_the_count(tmp_path: pathlib.Path):
    net = nn.Sequential(*(nn.Linear(3, 3) for _ in range(MOST_NAMES)))
    facts = facts_of(tmp_path, net, torch.optim.SGD([net[0].bias], 0.1))
    assert facts.unoptimized.count == 2 * MOST_NAMES - 1
    assert len(facts.unoptimized.first) == MOST_NAMES
    assert facts.unoptimized.first[0] == "0.weight"


def test_an_unusual_optimizer_costs_the_facts_alone(tmp_path: pathlib.Path):
    class Odd(dict):
        def items(self) -> Any:
            raise ZeroDivisionError("odd")

    net = Deep()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    optimizer.param_groups[0] = Odd(optimizer.param_groups[0])
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer)
        with pytest.warns(
            RuntimeWarning, match="did not record the facts .*ZeroDivisionError: odd"
        ):
            net(torch.randn(4, 3)).mean().backward()
        optimizer.step()
        assert watch.failure is None
    run = read_one_run(tmp_path)
    assert run.facts == {} and run.records


def test_the_training_is_what_it_was_without(tmp_path: pathlib.Path):
    def loop(run: Bare) -> Any:
        net = Deep()
        net.blocks[2].load_state_dict(net.blocks[0].state_dict())
        optimizer = torch.optim.AdamW(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer, every_n_steps=2)
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            optimizer.step()
        return state_of(net, optimizer)

    assert len(run_both(loop, tmp_path).run.facts["Deep"].equal) == 2


def test_modes_of_the_user_see_nothing_of_it(tmp_path: pathlib.Path):
    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    net = Deep()
    net.blocks[2].load_state_dict(net.blocks[0].state_dict())
    with Seen() as seen:
        found = equal_parameters.EqualParameters(list(net.parameters()), list("abcdefghij"))
    assert seen.names == [] and len(found.finish()) == 2
