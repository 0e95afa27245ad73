"""Steps of healthy trainings that look odd, and of broken ones that look alike."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tb_gradgraph import SummaryWriter, capture
from tests.diagnose.asked import ask

BATCH = 16


def _worse(logdir: pathlib.Path, steps: int) -> list[tuple[str, str]]:
    """Return the kind and the node of all that is worse than a note."""
    stages = ("backward", "applied")
    return [
        (one["kind"], one["node"])
        for step in range(steps)
        for stage in stages
        for one in ask(logdir, step, stage)["findings"]
        if one["severity"] != "note"
    ]


class Adapter(nn.Module):
    """A frozen layer, and an adapter that begins at zero."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(16, 16).requires_grad_(False)
        self.a = nn.Parameter(torch.randn(4, 16) / 4)
        self.b = nn.Parameter(torch.zeros(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + x @ self.a.t() @ self.b.t()


def _train(logdir: pathlib.Path, net: nn.Module, rate: float, steps: int) -> None:
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, rate)
    with SummaryWriter(str(logdir)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for _ in range(steps):
            x = torch.randn(BATCH, 16)
            optimizer.zero_grad()
            (net(x) - x).square().mean().backward()
            optimizer.step()


def test_an_adapter_that_leaves_zero_is_no_large_update(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    _train(tmp_path, nn.Sequential(Adapter(), nn.Tanh(), Adapter()), 2e-4, 12)
    assert _worse(tmp_path, 12) == []


def test_a_weight_that_leaves_zero_by_far_too_much_is_one(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    _train(tmp_path, nn.Sequential(Adapter(), nn.Tanh(), Adapter()), 5.0, 3)
    assert {kind for kind, _ in _worse(tmp_path, 3)} == {"large_update"}


def test_a_first_step_of_rmsprop_is_a_note(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = nn.Linear(64, 64)
    optimizer = torch.optim.RMSprop(net.parameters(), 1e-2)
    with SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        net(torch.randn(BATCH, 64)).square().mean().backward()
        optimizer.step()
    assert _worse(tmp_path, 1) == []
    found = [one for one in ask(tmp_path, 0)["findings"] if one["kind"] == "large_update"]
    assert [one["severity"] for one in found] == ["note"] and "first steps" in found[0]["text"]


def _copied(logdir: pathlib.Path, net: nn.Module, copies: list[torch.Tensor]) -> list[str]:
    """Train copies of the weights; return what the watch warned of."""
    optimizer = torch.optim.AdamW(copies, 1e-3)
    with warnings.catch_warnings(record=True) as seen, SummaryWriter(str(logdir)) as writer:
        warnings.simplefilter("always")
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for _ in range(3):
            net(torch.randn(5, 4, dtype=torch.bfloat16)).float().square().mean().backward()
            for held, p in zip(copies, net.parameters()):
                held.grad, p.grad = p.grad.float().view(held.shape), None
            optimizer.step()
            with torch.no_grad():
                for held, p in zip(copies, net.parameters()):
                    p.copy_(held.view(p.shape))
    return [str(one.message) for one in seen]


def test_an_optimizer_of_wider_copies_is_not_told_of(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    net = nn.Linear(4, 2).bfloat16()
    copies = [p.detach().float().requires_grad_() for p in net.parameters()]
    assert _copied(tmp_path, net, copies) == []
    assert _worse(tmp_path, 3) == []


def test_an_optimizer_of_a_model_that_was_replaced_is(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(nn.Linear(4, 2).parameters(), 1e-3)
    net = nn.Linear(4, 2)
    with SummaryWriter(str(tmp_path)) as writer:
        with pytest.warns(UserWarning, match="expected an optimizer of the model's parameters"):
            writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for _ in range(3):
            net(torch.randn(5, 4)).square().mean().backward()
            optimizer.step()
    kinds = [one["kind"] for one in ask(tmp_path, 1)["findings"] if one["severity"] != "note"]
    assert "no_gradient" in kinds


def _adversaries(logdir: pathlib.Path) -> Iterator[nn.Module]:
    """Train two nets against each other, under one watch."""
    torch.manual_seed(0)
    makes = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6))
    judges = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    optimizers = [torch.optim.Adam(net.parameters(), 1e-3) for net in (makes, judges)]
    with SummaryWriter(str(logdir)) as writer:
        both = nn.ModuleList([makes, judges])
        writer.watch(both, optimizer=optimizers, every_n_steps=1)
        for _ in range(3):
            made = makes(torch.randn(BATCH, 4))
            optimizers[1].zero_grad()
            F.softplus(judges(made.detach()) - judges(torch.randn(BATCH, 6))).mean().backward()
            optimizers[1].step()
            optimizers[0].zero_grad()
            F.softplus(-judges(made)).mean().backward()
            optimizers[0].step()
            yield both


def test_a_net_that_is_left_out_of_one_of_two_passes_is_not_told_of(tmp_path: pathlib.Path) -> None:
    for _ in _adversaries(tmp_path):
        pass
    assert "no_gradient" not in {kind for kind, _ in _worse(tmp_path, 3)}


def test_experts_that_are_idle_for_a_step_are_not_told_of_and_one_that_is_cut_is(
    tmp_path: pathlib.Path,
) -> None:
    torch.manual_seed(0)
    net = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    with SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for step in range(6):
            used = [net[0], *([net[1]] if step % 2 == 0 else []), *([net[2]] if step < 2 else [])]
            optimizer.zero_grad()
            sum(expert(torch.ones(2, 4)).square().mean() for expert in used).backward()
            optimizer.step()
    nodes = {
        one["node"].split(".")[0]
        for one in ask(tmp_path, 3)["findings"]
        if one["kind"] == "no_gradient"
    }
    assert nodes == {"2"}, "from step 2 on it never gets one again"


@pytest.mark.parametrize(("root", "severity"), [(False, "note"), (True, "error")])
def test_an_overflow_of_the_scaled_gradient_is_a_note_and_a_root_of_zero_is_not(
    tmp_path: pathlib.Path, root: bool, severity: str
) -> None:
    torch.manual_seed(0)
    net = nn.Linear(8, 5)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16 if not root else 4.0)
    with SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, level="op")
        with torch.autocast("cpu", torch.float16):
            out = net(torch.randn(BATCH, 8))
        loss = (out * 0).sum().sqrt() if root else (out * 30).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    found = ask(tmp_path, 0)["findings"]
    assert {one["severity"] for one in found if one["kind"] == "nonfinite_origin"} == {severity}
    if not root:
        later = ask(tmp_path, 0, "unscaled")["findings"]
        assert {one["severity"] for one in (*found, *later)} == {"note"}


class Quantizer(nn.Module):
    """Replaces each point by the nearest of some, and cuts what it gives."""

    def __init__(self) -> None:
        super().__init__()
        self.code = nn.Embedding(5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        nearest = self.code(torch.cdist(x, self.code.weight).argmin(-1))
        return x + (nearest - x).detach()


def test_of_two_cuts_the_choice_of_an_index_is_told_last() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 3), Quantizer())
    (found,) = capture(net, torch.randn(8, 3)).findings()
    assert (found.kind, found.node) == ("no_gradient", "1.code.weight")
    assert (
        0
        < found.text.index("Cut off from the loss by detach (")
        < found.text.index(" and by argmin (")
    )
