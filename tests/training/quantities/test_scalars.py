"""``watch(scalars=True)``: every quantity is a scalar that TensorBoard's own dashboard reads."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import tb_gradgraph
from tb_gradgraph import CaptureError
from tb_gradgraph.quantities import series_of
from tb_gradgraph.record import read_logdir
from tests.record.samples import make_graph, make_record
from tests.training.loops import small_net

Points = dict[str, list[tuple[int, float]]]


def scalars_in(logdir: pathlib.Path) -> Points:
    """Read scalars as TensorBoard does."""
    read = EventAccumulator(str(logdir), size_guidance={"scalars": 0})
    read.Reload()
    tags = read.Tags()["scalars"]
    return {tag: [(point.step, point.value) for point in read.Scalars(tag)] for tag in tags}


def train(writer: Any, steps: int = 4, passes: int = 1, **options: Any) -> None:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.125)
    watch = tb_gradgraph.watch(writer, net, optimizer=optimizer, every_n_steps=2, **options)
    for step in range(steps):
        optimizer.zero_grad()
        for _ in range(passes):
            net(torch.randn(4, 3)).square().mean().backward()
        watch.note(odd=[math.nan, 1e300, -math.inf, 0][step])
        optimizer.step()
    watch.close()


def test_each_recorded_step_has_a_point_of_each_quantity(tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        train(writer, scalars=True)
        writer.add_scalar("loss", 0.5, 0)
    found = scalars_in(tmp_path)
    (run,) = read_logdir(tmp_path)
    expected = {f"gradgraph/{name}": points for name, points in series_of(run.records).items()}
    assert found.keys() == {*expected, "loss"}
    assert found["gradgraph/lr/0"] == [(0, 0.125), (2, 0.125)]
    for tag, points in expected.items():
        assert [step for step, _ in found[tag]] == [point.step for point in points] == [0, 2]
        values = [value for _, value in found[tag]]
        assert values == pytest.approx([point.value for point in points], 1e-6, nan_ok=True)


def test_by_default_there_are_none(tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        train(writer)
    assert scalars_in(tmp_path) == {}


def test_of_several_passes_the_last_counts(tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        train(writer, passes=3, scalars=True)
    (run,) = read_logdir(tmp_path)
    losses = [p for p in series_of(run.records)["loss"] if p.backward_pass == 2]
    points = scalars_in(tmp_path)["gradgraph/loss"]
    assert points == [(point.step, pytest.approx(point.value)) for point in losses]


def test_the_tag_is_in_the_name_if_it_is_given_or_needed(tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        train(writer, scalars=True)
        train(writer, scalars=True)
        train(writer, scalars=True, tag="critic")
        train(writer, tag="silent")
    found = {tag.removesuffix("lr/0") for tag in scalars_in(tmp_path) if tag.endswith("lr/0")}
    assert found == {"gradgraph/", "gradgraph/Sequential_2/", "gradgraph/critic/"}


@pytest.mark.parametrize("is_first", [True, False])
def test_a_graph_called_loss_and_the_loss_do_not_meet(
    is_first: bool, tmp_path: pathlib.Path
) -> None:
    def add_graph() -> None:
        loss = torch.ones(2, requires_grad=True).sum()
        writer.add_grad_graph(loss)
        loss.backward()
        writer.flush()

    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        if is_first:
            add_graph()
        train(writer, scalars=True)
        writer.flush()
        if not is_first:
            add_graph()
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    expected = "gradgraph/Sequential/loss" if is_first else "gradgraph/loss"
    assert [tag for tag in read.Tags()["scalars"] if tag.endswith("/loss")] == [expected]
    dashboard = read.PluginTagToContent("graph_run_metadata_graph")
    assert ("gradgraph/loss" in dashboard) == is_first


def test_other_writers(tmp_path: pathlib.Path) -> None:
    tensorboardX = pytest.importorskip("tensorboardX")
    with tensorboardX.SummaryWriter(str(tmp_path)) as writer:
        train(writer, scalars=True)
    found = scalars_in(tmp_path)
    assert found["gradgraph/lr/0"] == [(0, 0.125), (2, 0.125)]


def test_another_value_is_an_error(tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(CaptureError, match="scalars to be True or False, got 'loss'"):
            writer.watch(small_net(), scalars="loss")


def test_points_that_wait_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    from tb_gradgraph.record.write import scalar_points

    monkeypatch.setattr(scalar_points, "MOST_WAITING", 3)
    points = scalar_points.ScalarPoints()
    points.prefixes["net"] = "p/"
    for step in range(5):
        points.add(make_record(make_graph(), step, quantities={"loss": step}), ())
    assert [(step, time) for _, step, time in points.take()] == [
        (step, 1.7e9 + step) for step in (2, 3, 4)
    ]
    assert list(points.take()) == []
