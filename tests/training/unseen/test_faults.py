"""A fault of ours, wherever it happens: the training is bit-equal, one warning, everything is removed."""

from __future__ import annotations

import gc
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.autograd.operands import called_functions
from tb_gradgraph.autograd.seen import outermost_spans
from tb_gradgraph.autograd.seen.forward_notes import ForwardNotes
from tb_gradgraph.autograd.user_code import user_events
from tb_gradgraph.record.read.read_logdir import read_logdir
from tb_gradgraph.record.write.chunk_writer import ChunkWriter
from tb_gradgraph.training import cadence, step_counter, training_events
from tb_gradgraph.training.reading import backward_pass as reading
from tb_gradgraph.training.reading import batches, parameter_rows, structures
from tb_gradgraph.training.step import applied, records, step
from tests.logged import read_one_run
from tests.training.loops import Log, assert_bit_equal, small_net, state_of
from tests.training.unseen.test_nothing_left_behind import state_of_process


class Fault(Exception):
    """What nobody expected."""


def _train(writer: tb_gradgraph.SummaryWriter | None, after: Callable[[int], None]) -> Any:
    torch.manual_seed(0)
    net = nn.Sequential(small_net(), nn.Dropout(0.1))
    optimizer = torch.optim.Adam(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    before = state_of_process(net, optimizer)
    found = None
    if writer is not None:
        found = writer.watch(net, optimizer=optimizer, every_n_steps=2, level="op")
    for number in range(6):
        after(number)
        for _ in range(2):
            scaler.scale(net(torch.randn(200, 3)).square().mean()).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    if found is not None and found.failure is not None:
        assert found.closed and state_of_process(net, optimizer) == before
    return state_of(net, optimizer), torch.get_rng_state(), found


#: Where a fault is put: the object and the name of the function that is to raise.
PLACES = {
    "a module call begins": (outermost_spans.OutermostSpans, "_begin_outermost"),
    "a module call ends": (outermost_spans.OutermostSpans, "_end_outermost"),
    "the output of a call is marked": (outermost_spans, "marks_of"),
    "a line is noted": (ForwardNotes, "_note"),
    "a call of torch is noted": (ForwardNotes, "_note_function"),
    "a call of torch has ended": (called_functions.CalledFunctions, "end"),
    "a function is entered": (user_events, "_find_how_heard"),
    "a module call is noted": (ForwardNotes, "note_call"),
    "the output of a call is noted": (ForwardNotes, "note_output"),
    "names of modules are read": (parameter_rows.Parameters, "read_modules"),
    "parameters are read": (parameter_rows.Parameters, "refresh"),
    "the backward is asked for": (training_events, "recorded"),
    "the structure is met": (structures.Structures, "meet"),
    "the structure is built": (structures.Structures, "_structure"),
    "hooks are attached": (structures.Replay, "attach"),
    "leaves are looked for": (reading.PassReading, "_leaves_to_hook"),
    "a gradient is read within the backward": (reading, "add_now"),
    "the backward has ended": (reading.PassReading, "finish"),
    "gradients are reduced": (reading.PassReading, "_reduce"),
    "the graph is written": (step.RecordedStep, "end_pass"),
    "a scaler is looked for": (step, "scaler_of"),
    "a scaler steps": (step.RecordedStep, "follow_scaler"),
    "before the optimizer": (step.OptimizerReading, "__init__"),
    "gradients before the optimizer": (applied, "read_grads"),
    "after the optimizer": (step.OptimizerReading, "finish"),
    "the step ends": (step.RecordedStep, "finish"),
    "the next step begins": (step_counter.StepCounter, "begin"),
    "the cadence is measured": (cadence.Cadence, "end_step"),
    "records are made": (records.StepRecords, "of_step"),
    "numbers are collected": (batches.Numbers, "collect"),
    "a chunk is written": (ChunkWriter, "write_record"),
}


@pytest.mark.parametrize("at", [0, 3], ids=["from the start", "in mid-run"])
@pytest.mark.parametrize("place", PLACES)
def test_a_fault(
    place: str, at: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, state, _ = _train(None, lambda _: None)
    holder, name = PLACES[place]
    called = []

    def fail(*_: Any, **__: Any) -> None:
        called.append(1)
        raise Fault("a fault")

    def after(number: int) -> None:
        if number == at:
            writer.flush()  # else the session's thread may meet the fault in what came before
            monkeypatch.setattr(holder, name, fail)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
            found, own_state, own = _train(writer, after)
    assert_bit_equal((found, own_state), (expected, state))
    ours = [str(each.message) for each in warned if "tb_gradgraph" in str(each.message)]
    assert len(ours) == bool(called), ours
    assert all("a fault" in text for text in ours)
    assert gc.isenabled()
    monkeypatch.undo()
    ended = [text for run in read_logdir(tmp_path) for text in run.ended]
    if own.failure is None:
        assert ended == []
    else:  # the log says so
        (text,) = ended
        assert text.startswith("recording of 'Sequential' ended at step ")
        assert text.endswith(" by a fault: Fault: a fault")
    if called and at == 3:  # what came before is kept
        assert Log(tmp_path).places[:3] == [
            (0, "backward", 0),
            (0, "backward", 1),
            (0, "unscaled", 1),
        ]


def test_every_place_is_reached(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = set()
    for place, (holder, name) in PLACES.items():
        monkeypatch.setattr(holder, name, _noting(getattr(holder, name), called, place))
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        _train(writer, lambda _: None)
    assert called == set(PLACES)


def _noting(function: Callable[..., Any], called: set[str], place: str) -> Callable[..., Any]:
    def noting(*args: Any, **kwargs: Any) -> Any:
        called.add(place)
        return function(*args, **kwargs)

    return noting


def test_a_fault_is_raised_where_that_was_asked_for(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = small_net()
    writer = tb_gradgraph.SummaryWriter(str(tmp_path))
    found = writer.watch(net, every_n_steps=1, strict=True)

    def fail(*_: Any) -> None:
        raise Fault("a fault")

    monkeypatch.setattr(structures.Structures, "meet", fail)
    with pytest.warns(RuntimeWarning, match="a fault"):
        net(torch.ones(1, 3)).sum().backward()
    with pytest.raises(Fault):
        _ = found.step
    with pytest.raises(Fault):
        writer.close()


def test_a_strict_watch_that_failed_does_not_keep_the_log_open(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, other = small_net(), small_net()
    writer = tb_gradgraph.SummaryWriter(str(tmp_path))
    failed = writer.watch(net, every_n_steps=1, strict=True)
    with monkeypatch.context() as patch:
        patch.setattr(step.RecordedStep, "begin_pass", lambda *_: 1 / 0)
        with pytest.warns(RuntimeWarning, match="stopped recording this training"):
            net(torch.randn(2, 3)).sum().backward()
    writer.watch(other, every_n_steps=1, tag="other")
    other(torch.randn(2, 3)).sum().backward()
    with pytest.raises(ZeroDivisionError):
        writer.close()
    writer.close()
    assert failed.closed
    assert [record.tag for record in read_one_run(tmp_path).records] == ["other"]
