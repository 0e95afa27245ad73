"""Case 7: gradients that are not finite are counted, the finite part is described, training goes on."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.logged import LoggedRun, LoggedTensor, read_one_run, read_record, read_tensor

NAN, INF = float("nan"), float("inf")
#: What the loss multiplies each weight by, at each step; so that is the weight's gradient.
STEPS = {
    0: [1.0, 3.0, -2.0, 0.0, 0.5, 0.25],
    1: [1.0, 3.0, NAN, INF, -INF, 0.0],
    2: [NAN] * 6,
    3: [-INF, -INF, INF, INF, INF, NAN],
    4: [2.0] * 6,
}


class Weights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(6))
        self.finite = nn.Parameter(torch.ones(6))

    def forward(self, factors: torch.Tensor) -> torch.Tensor:
        return (self.w * factors).sum() + self.finite.sum()


def train(writer: tb_gradgraph.SummaryWriter | None) -> list[torch.Tensor]:
    """Train with one step a record; give each gradient as the optimizer used it, and the weights."""
    model = Weights()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    for step, factors in STEPS.items():
        optimizer.zero_grad()
        loss = model(torch.tensor(factors))
        if writer is not None:
            writer.add_grad_graph(loss, global_step=step)
            writer.add_grad_graph(model, torch.tensor(factors), step, tag="model")
        loss.backward()
        optimizer.step()
        seen += [parameter.grad.clone() for parameter in model.parameters()]
    return [*seen, *(parameter.detach() for parameter in model.parameters())]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A run whose training was the same as without the tool."""
    path = tmp_path_factory.mktemp("logs") / "run"
    with tb_gradgraph.SummaryWriter(str(path)) as writer:
        watched = train(writer)
    for ours, plain in zip(watched, train(None), strict=True):
        torch.testing.assert_close(ours, plain, rtol=0, atol=0, equal_nan=True)
    return path


@pytest.fixture(scope="module")
def run(logdir: pathlib.Path) -> Iterator[LoggedRun]:
    """What was logged."""
    return read_one_run(logdir)


def logged(run: LoggedRun, tag: str, step: int) -> LoggedTensor:
    name = "w" if tag == "model" else "model.w"
    return read_tensor(run, read_record(run, tag, step), name)


@pytest.mark.parametrize("tag", ["loss", "model"])
@pytest.mark.parametrize("step", STEPS)
def test_every_step_is_logged_with_its_counts(run: LoggedRun, tag: str, step: int) -> None:
    factors = STEPS[step]
    tensor = logged(run, tag, step)
    found = tensor.statistics
    assert found.numel == 6
    assert found.nan == sum(f != f for f in factors)
    assert (found.posinf, found.neginf) == (factors.count(INF), factors.count(-INF))
    torch.testing.assert_close(
        torch.from_numpy(tensor.gradient.copy()), torch.tensor(factors), equal_nan=True
    )


@pytest.mark.parametrize("tag", ["loss", "model"])
def test_statistics_are_of_the_finite_part(run: LoggedRun, tag: str) -> None:
    mixed = logged(run, tag, 1).statistics
    finite = torch.tensor([1.0, 3.0, 0.0])
    assert mixed.mean == pytest.approx(float(finite.mean()))
    assert mixed.std == pytest.approx(float(finite.std()))
    assert mixed.l2_norm == pytest.approx(float(finite.norm()))
    assert (mixed.min, mixed.max, mixed.abs_max) == (0.0, 3.0, 3.0)
    for step in (2, 3):
        none = logged(run, tag, step).statistics
        assert none.mean is none.std is none.min is none.max is none.l2_norm is none.abs_max is None
    assert logged(run, tag, 4).statistics.mean == 2.0


@pytest.mark.browser
def test_the_panel_has_a_color_for_them_that_nothing_else_has(
    logdir: pathlib.Path, tensorboard_server, page
) -> None:
    from tests.browser.panel import Panel

    panel = Panel.open(page, tensorboard_server(logdir.parent), tag="model", step="1")
    panel.wait_until(lambda: panel.items()["parameter:w"].state == "nonfinite")
    items = panel.items()
    color = items["parameter:w"].color
    assert items["parameter:finite"].state == "number"
    others = {item.color for item in items.values() if item.state != "nonfinite"}
    assert color not in others
    panel.move_slider(4)
    panel.wait_until(lambda: panel.items()["parameter:w"].state == "number")
    assert color not in set(panel.colors().values())
