"""Terms of a loss: values, shares of the gradient and cosines, compared with ``torch.autograd.grad``."""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
import pathlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

import tb_gradgraph
from tb_gradgraph.record import read_logdir
from tb_gradgraph.training.quantities import loss_terms
from tests.training.loops import Bare, run_both, state_of
from tests.training.quantities.test_norms_and_settings import values_of

Named = dict[str, torch.Tensor]


class Heads(nn.Module):
    """A trunk with three heads."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 8), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(8, 2) for _ in range(3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        hidden = self.trunk(x)
        return hidden, [head(hidden) for head in self.heads]


def expected_of(weighted: Named, common: torch.Tensor) -> dict[str, float]:
    """Differentiate each term by itself, at the tensor where all of them meet."""
    gradients = {
        name: torch.autograd.grad(term, common, retain_graph=True)[0].double().reshape(-1)
        for name, term in weighted.items()
    }
    norms = {name: gradient.norm().item() for name, gradient in gradients.items()}
    whole = sum(norms.values())
    found = {f"loss/{name}": term.item() for name, term in weighted.items()}
    found |= {f"loss_share/{name}": norm / whole for name, norm in norms.items()}
    for a, b in itertools.combinations(weighted, 2):
        product = gradients[a] @ gradients[b]
        found[f"loss_cosine/{a}/{b}"] = (product / norms[a] / norms[b]).item()
    return found


# The variables of the frame that calls backward give the names: each loop is written out.


@pytest.mark.parametrize("level", ["module", "op"])
def test_values_shares_and_cosines(level: str, tmp_path: pathlib.Path) -> None:
    expected = []

    def loop(told: Bare) -> Any:
        net = Heads()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        told.watch(net, optimizer=optimizer)
        weight = torch.tensor(0.25)
        for _ in range(3):
            optimizer.zero_grad()
            hidden, (a, b, c) = net(torch.randn(4, 3))
            fit, size, last = a.square().mean(), b.abs().sum(), c.sum()
            loss = fit + 0.5 * size - last * weight
            if type(told) is Bare:
                terms = {"fit": fit, "size": 0.5 * size, "last": -weight * last}
                expected.append(expected_of(terms, hidden))
            loss.backward()
            optimizer.step()
        return state_of(net)

    run_both(loop, tmp_path, level=level)
    found = values_of(tmp_path)
    names = {name for name in found if name.startswith(("loss/", "loss_"))}
    assert names == expected[0].keys()
    for name in names:
        assert found[name] == pytest.approx([step[name] for step in expected[:3]], rel=1e-4)
    total = [sum(values) for values in zip(*(found[f"loss/{n}"] for n in ("fit", "size", "last")))]
    assert total == pytest.approx(found["loss"], rel=1e-5)


def _stacked(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.stack(list(parts)).sum()


def _mean(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.stack(list(parts)).mean() * len(parts)


def _halves(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    return -((-parts[0] - parts[1] - parts[2]) / 2.0 * 2) + 3.0


def _alpha(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.add(parts[0] + parts[2], parts[1] * 0.5, alpha=2)


@pytest.mark.parametrize("add", [sum, _stacked, _mean, _halves, _alpha])
@pytest.mark.parametrize("holder", ["dict", "list"])
def test_each_way_of_adding_up(
    add: Callable[[Any], torch.Tensor], holder: str, tmp_path: pathlib.Path
) -> None:
    torch.manual_seed(0)
    net = Heads()
    x = torch.randn(4, 3)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1)
        hidden, outputs = net(x)
        parts = [output.square().sum() for output in outputs]
        names = (
            ["first", "second", "third"] if holder == "dict" else [f"kept[{n}]" for n in range(3)]
        )
        kept = dict(zip(names, parts)) if holder == "dict" else parts
        del parts
        expected = expected_of(
            dict(zip(names, kept.values() if holder == "dict" else kept)), hidden
        )
        add([*kept.values()] if holder == "dict" else kept).backward()
    found = {name: values[-1] for name, values in values_of(tmp_path).items()}
    if add is _alpha:  # in the order of the addition
        turned = f"loss_cosine/{names[2]}/{names[1]}"
        found[f"loss_cosine/{names[1]}/{names[2]}"] = found[turned]
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-4)


def test_terms_without_a_variable_are_named_by_their_operation(tmp_path: pathlib.Path) -> None:
    net = Heads()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1)
        _, (a, b, _) = net(torch.randn(4, 3))
        (a.square().sum() + b.mean() + b.sum()).backward()
    (record,) = (r for run in read_logdir(tmp_path) for r in run.records if r.stage == "backward")
    shares = [name for name in record.quantities if name.startswith("loss_share/")]
    assert len(shares) == 2 and "loss_share/Mean" in shares
    assert dict(record.quantity_reasons)["loss_share/Sum"] == loss_terms.MEETS_LATER
    assert sum(record.quantities[name] for name in shares) == pytest.approx(1)
    assert record.quantity_reasons["loss/Mean"] == loss_terms.NO_VARIABLE


def test_a_scalers_factor_is_divided_out(tmp_path: pathlib.Path) -> None:
    net = Heads()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        _, (a, b, _) = net(torch.randn(4, 3))
        fit, size = a.square().mean(), b.abs().sum()
        scaler.scale(fit + size).backward()
        scaler.step(optimizer)
    found = values_of(tmp_path)
    assert found["loss/fit"] == [pytest.approx(fit.item())]
    assert found["loss/size"] == [pytest.approx(size.item())]


def reasons_of(logdir: pathlib.Path) -> dict[str, str]:
    (record,) = (r for run in read_logdir(logdir) for r in run.records if r.stage == "backward")
    assert not any(name.startswith(("loss_share", "loss_cosine")) for name in record.quantities)
    return dict(record.quantity_reasons)


def test_terms_that_meet_nowhere(tmp_path: pathlib.Path) -> None:
    net = Heads()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1)
        first = net.heads[0](torch.ones(1, 8)).sum()
        second = net.heads[1](torch.ones(1, 8)).sum()
        (first + second).backward()
    assert reasons_of(tmp_path) == dict.fromkeys(
        ("loss_share", "loss_cosine"), loss_terms.NO_MEETING
    )
    assert values_of(tmp_path)["loss/first"] == [pytest.approx(first.item())]


def test_large_gradients_are_not_held(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss_terms, "MOST_HELD", 100)
    net = Heads()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1)
        _, (a, b, _) = net(torch.randn(4, 3))
        first, second = a.sum(), b.sum()
        (first + second).backward()
    assert reasons_of(tmp_path)["loss_share"] == loss_terms.LARGE


def test_a_sum_of_very_many_is_not_split(tmp_path: pathlib.Path) -> None:
    net = Heads()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1)
        loss = torch.zeros(())
        for _ in range(300):
            loss = loss + net.trunk(torch.randn(1, 3)).sum()
        loss.backward()
    assert reasons_of(tmp_path)["loss_share"] == loss_terms.MANY


def test_a_named_sum_and_a_penalty_stay_whole(tmp_path: pathlib.Path) -> None:
    net = Heads()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1)
        _, (a, b, _) = net(torch.randn(4, 3))
        fit = a.square().sum() + b.square().sum()
        penalty = sum(p.square().sum() for p in net.parameters())
        (fit + 0.25 * penalty).backward()
    found = values_of(tmp_path)
    assert [name for name in found if name.startswith("loss/")] == ["loss/fit", "loss/penalty"]
    assert found["loss/penalty"] == [pytest.approx(penalty.item() / 4)]


@pytest.mark.parametrize("is_spoiled", [False, True])
def test_nothing_is_kept_alive(is_spoiled: bool, tmp_path: pathlib.Path) -> None:
    def fail(_gradient: torch.Tensor) -> None:
        if is_spoiled:
            raise ValueError("no gradient")

    net = Heads()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, every_n_steps=1)
        hidden, (a, b, _) = net(torch.randn(4, 3))
        first, second = a.sum(), b.sum()
        hidden.register_hook(fail)  # after the gradients of both terms have arrived
        loss = first + second
        with contextlib.suppress(ValueError):
            loss.backward(retain_graph=True)
        kept = [weakref.ref(tensor) for tensor in (hidden, a, first, loss)]
        del hidden, a, b, first, second, loss, _
        gc.collect()
        assert [reference() for reference in kept] == [None] * 4
        assert watch.failure is None


def test_a_second_backward_over_the_same_graph(tmp_path: pathlib.Path) -> None:
    net = Heads()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1)
        hidden, (a, b, _) = net(torch.randn(4, 3))
        first, second = a.sum(), b.square().sum()
        loss = first + second
        loss.backward(retain_graph=True)
        shares = torch.autograd.grad(first, hidden, retain_graph=True)[0].norm()
        other = torch.autograd.grad(second, hidden, retain_graph=True)[0].norm()
        loss.backward()
    share = (shares / (shares + other)).item()
    assert values_of(tmp_path)["loss_share/first"] == pytest.approx([share] * 2, rel=1e-4)


def test_a_mode_of_the_users_notices_nothing(tmp_path: pathlib.Path) -> None:
    class Seen(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    counts = []
    for watches in (False, True):
        net, seen = Heads(), []
        with tb_gradgraph.SummaryWriter(str(tmp_path / str(watches))) as writer:
            if watches:
                writer.watch(net, every_n_steps=1)
            _, (a, b, _) = net(torch.randn(4, 3))
            first, second = a.sum(), b.sum()
            loss = first + second
            with Seen():
                torch.autograd.backward([loss])
        counts.append(len(seen))
    assert counts[0] == counts[1]
    # The mode's own frame calls backward, so no variable gives a name.
    assert "loss_share/Sum#1" in values_of(tmp_path)


def test_nan_is_no_share(tmp_path: pathlib.Path) -> None:
    net = Heads()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1)
        _, (a, b, _) = net(torch.randn(4, 3))
        first, second = a.sum() * math.nan, b.sum()
        (first + second).backward()
    found = values_of(tmp_path)
    assert math.isnan(found["loss/first"][0]) or "loss/a" in found
    assert not any(name.startswith("loss_share") for name in found)
