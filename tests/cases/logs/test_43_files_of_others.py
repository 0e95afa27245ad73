"""Case 43: what another tool wrote, or cannot be opened, costs itself alone, and is named."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import pytest
import torch
from tensorboard.compat.proto.event_pb2 import Event
from torch.utils.tensorboard import SummaryWriter as TorchWriter

from tb_gradgraph import SummaryWriter
from tb_gradgraph.commands import main as cli
from tb_gradgraph.record.read import event_file
from tb_gradgraph.record.read.event_file_provider import EventFiles

ODD = "events.out.tfevents.9.odd"


def _loop(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.symlink_to(path)


def _dangle(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.symlink_to("nothing")


def _garble(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(bytes(range(100)))


def _deny(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"")

    def refuse(name: pathlib.Path, mode: str):  # root may read everything
        if name.name == ODD:
            raise PermissionError(13, "Permission denied", str(name))
        return open(name, mode)

    monkeypatch.setattr(event_file, "open", refuse, raising=False)


def _vanish(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = event_file.list_event_files
    gone = {path.parent: [path]}
    monkeypatch.setattr(
        event_file, "list_event_files", lambda run: [*gone.get(run, ()), *listed(run)]
    )


@pytest.fixture
def logdir(tmp_path: pathlib.Path) -> pathlib.Path:
    with SummaryWriter(str(tmp_path / "good")) as writer:
        writer.add_grad_graph(torch.nn.Linear(2, 1), torch.ones(1, 2), 3)
        writer.add_scalar("loss", 0.5, 3)
    return tmp_path


@pytest.mark.parametrize("make", [_loop, _dangle, _garble, _deny, _vanish])
@pytest.mark.parametrize("run", ["good", "bad"])
def test_a_file_that_cannot_be_read_is_named_and_hides_nothing(
    run: str,
    make: Callable[[pathlib.Path, pytest.MonkeyPatch], None],
    logdir: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (logdir / run).mkdir(exist_ok=True)
    (logdir / run / "events.out.tfevents.1.empty").touch()
    make(logdir / run / ODD, monkeypatch)
    assert cli.main(["summary", str(logdir)]) == 0
    summary = capfd.readouterr()
    assert "good  Linear" in summary.out and summary.err.count(ODD) == 1
    assert cli.main(["export", str(logdir), "--format", "csv"]) == 0
    export = capfd.readouterr()
    assert "parameter:weight" in export.out and export.err.count(ODD) == 1
    assert cli.main(["doctor", str(logdir)]) == 1
    doctor = capfd.readouterr()
    assert f"run {run}: " in doctor.out and ODD in doctor.out


@pytest.mark.parametrize("why", ["loop", "denied", "gone"])
def test_a_directory_that_cannot_be_read_hides_no_other(
    why: str, logdir: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd
) -> None:
    odd = logdir / "odd"
    if why == "loop":
        odd.symlink_to(logdir)
    else:
        odd.mkdir()
        (odd / "events.out.tfevents.1.x").touch()
        error = PermissionError(13, "Permission denied", str(odd))
        error = error if why == "denied" else FileNotFoundError(2, "No such file", str(odd))
        scan = os.scandir

        def refuse(path: os.PathLike[str] | str):
            if str(path) == str(odd):
                raise error
            return scan(path)

        monkeypatch.setattr(os, "scandir", refuse)
    assert cli.main(["summary", str(logdir)]) == 0
    summary = capfd.readouterr()
    assert summary.out.count("  Linear  ") == 1
    assert str(odd) in summary.err or why == "loop"


MALFORMED = {
    "type": lambda tensor: setattr(tensor, "dtype", 99),
    "shape": lambda tensor: tensor.tensor_shape.dim.add(size=2**40),
    "negative shape": lambda tensor: tensor.tensor_shape.dim.add(size=-1),
    "no number": lambda tensor: tensor.ClearField("float_val"),
    "text": lambda tensor: (setattr(tensor, "dtype", 7), tensor.string_val.append(b"x")),
    "content": lambda tensor: setattr(tensor, "tensor_content", b"abc"),
    "complex": lambda tensor: (setattr(tensor, "dtype", 8), tensor.scomplex_val.extend([1, 2])),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_scalar_is_named_and_costs_itself_alone(
    kind: str, logdir: pathlib.Path, capfd
) -> None:
    event = Event(step=1)
    value = event.summary.value.add(tag="other/loss")
    value.metadata.plugin_data.plugin_name = "scalars"
    value.tensor.dtype = 1
    value.tensor.float_val.append(1.0)
    MALFORMED[kind](value.tensor)
    with TorchWriter(str(logdir / "good")) as writer:
        writer.file_writer.add_event(event)
        writer.add_scalar("after", 2.0, 1)
        writer.add_text("text", "= = =")
        writer.add_histogram("histogram", torch.ones(3))
        writer.add_hparams({"lr": 0.1}, {"accuracy": 1.0}, run_name=".")
    source = EventFiles(logdir)
    (problem,) = source.problems
    assert "scalar 'other/loss': " in problem
    assert {"loss", "after"} <= set(source.list_scalars()["good"])
    page = logdir / "page.html"
    assert cli.main(["export", str(logdir), "--format", "csv"]) == 0
    assert "parameter:weight" in (printed := capfd.readouterr()).out
    assert printed.err.count("other/loss") == 1
    assert cli.main(["export", "--html", str(logdir), str(page)]) == 0 and page.exists()
    assert cli.main(["summary", str(logdir)]) == 0
