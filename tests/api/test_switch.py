"""TB_GRADGRAPH=0: every call does nothing, and what it gives has the same interface."""

from __future__ import annotations

import inspect
import pathlib
from typing import Any

import pytest
import torch

import tb_gradgraph
from tb_gradgraph.training.watch import Watch
from tests.training.loops import assert_bit_equal, small_net, state_of
from tests.training.unseen.test_nothing_left_behind import state_of_process


@pytest.fixture(autouse=True)
def switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the switch."""
    monkeypatch.setenv("TB_GRADGRAPH", "0")


def _train(writer: Any) -> Any:
    torch.manual_seed(0)
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    before = state_of_process(net, optimizer)
    if writer is not None:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        assert state_of_process(net, optimizer) == before
        watch.step, kept = 7, watch
        watch.count_from(1)
        assert kept.closed and kept.failure is None and kept.cost == 0 and watch.step == 7
        assert "TB_GRADGRAPH=0" in repr(watch) and watch.tag == "Sequential"
    for _ in range(2):
        net(torch.ones(2, 3)).sum().backward()
        optimizer.step()
    if writer is not None:
        with watch:
            watch.hand_over()
        watch.close()
    return state_of(net, optimizer)


def test_a_watch_attaches_and_writes_nothing(tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        assert_bit_equal(_train(writer), _train(None))
        assert not hasattr(writer, "_tb_gradgraph")
    assert isinstance(tb_gradgraph.watch(object(), small_net()), Watch)


def test_an_idle_watch_has_all_that_a_watch_has() -> None:
    """Whatever is public is its own, since of a watch's insides it has none."""
    public = [name for name, _ in inspect.getmembers(Watch) if not name.startswith("_")]
    watch = tb_gradgraph.watch(None, small_net())
    events = {"on_backward", "before_step", "after_step", "other_stepped", "scaled_step"}
    for name in set(public) - events - {"skipped_step"}:
        assert name in vars(type(watch)), name


def test_nothing_runs_and_a_graph_is_empty_and_says_so() -> None:
    def never(_: Any) -> None:
        raise AssertionError("a model ran")

    net = small_net()
    net.register_forward_hook(lambda *_: never(None))
    x = torch.ones(1, 3)
    loss = torch.ones(1, requires_grad=True).sum()
    for graph in (
        tb_gradgraph.capture(net, x, loss_fn=never),
        tb_gradgraph.add_grad_graph(object(), net, x),
        tb_gradgraph.capture("nothing that could be captured", level="neither"),
        tb_gradgraph.capture(loss, tag="loss"),
    ):
        assert len(graph) == 0 and not graph.nodes and not graph.findings()
        assert not graph.backward_passes and list(graph) == [] and "weight" not in graph
        for text in (str(graph), repr(graph), graph._repr_html_()):
            assert "TB_GRADGRAPH=0" in text
        with pytest.raises(KeyError, match="TB_GRADGRAPH=0"):
            graph["weight"]
        assert graph.to_dot() and graph.hash


def test_it_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_GRADGRAPH", "1")
    assert len(tb_gradgraph.capture(small_net(), torch.ones(1, 3))) > 0
    monkeypatch.delenv("TB_GRADGRAPH")
    assert len(tb_gradgraph.capture(small_net(), torch.ones(1, 3))) > 0


def test_callbacks_do_nothing(tmp_path: pathlib.Path) -> None:
    from lightning.pytorch import Trainer
    from lightning.pytorch.demos.boring_classes import BoringModel
    from transformers import TrainingArguments

    from tb_gradgraph.integrations import lightning, transformers

    callback = lightning.GradGraphCallback(every_n_steps=1)
    options = {"logger": False, "enable_progress_bar": False, "enable_checkpointing": False}
    trainer = Trainer(
        max_steps=1, callbacks=[callback], default_root_dir=tmp_path, accelerator="cpu",
        enable_model_summary=False, **options,
    )  # fmt: skip
    callback.setup(trainer, BoringModel(), "fit")  # would refuse a Trainer without a logger
    callback.on_train_start(trainer, BoringModel())
    assert callback.watch is None
    other = transformers.GradGraphCallback()
    state = type("State", (), {"is_world_process_zero": True, "global_step": 0})
    arguments = TrainingArguments(str(tmp_path / "hf"), report_to=[], use_cpu=True)
    other.on_step_begin(arguments, state, None, small_net(), None)
    assert other.watch is None and not list(tmp_path.rglob("*tfevents*"))
