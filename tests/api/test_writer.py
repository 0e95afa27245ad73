"""The user's calls on writers of every kind: tags, steps, errors, and training left alone."""

from __future__ import annotations

import copy
import pathlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import tensorboardX
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter as TorchSummaryWriter

import tb_gradgraph
from tb_gradgraph import CaptureError, SummaryWriter, WriterError, add_grad_graph
from tb_gradgraph.record.read.read_logdir import LoggedRun, read_logdir

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lin(x)


def _read(logdir: pathlib.Path) -> LoggedRun:
    (run,) = read_logdir(logdir)
    assert not run.warnings
    return run


def _records(logdir: pathlib.Path) -> list[tuple[str, int, int]]:
    return [(r.tag, r.step, r.backward_pass) for r in _read(logdir).records]


WRITERS: dict[str, Callable[[str], Any]] = {
    "ours": SummaryWriter,
    "torch's": TorchSummaryWriter,
    "tensorboardX": tensorboardX.SummaryWriter,
    "a logger": lambda logdir: SimpleNamespace(experiment=TorchSummaryWriter(logdir)),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_of_writer(kind: str, tmp_path: pathlib.Path) -> None:
    writer = WRITERS[kind](str(tmp_path))
    for step in range(3):
        add_grad_graph(writer, Net(), X, step, tag="net")
    target = getattr(writer, "experiment", writer)
    target.add_scalar("loss", 1.0, 0)
    target.close()
    assert _records(tmp_path) == [("net", 0, 0), ("net", 1, 0), ("net", 2, 0)]
    assert len(list(tmp_path.iterdir())) == 1, "never a second event file in one directory"


@pytest.mark.parametrize("kind", ["ours", "torch's"])  # tensorboardX does not wait for its queue
def test_flush_of_the_writer_makes_records_readable(kind: str, tmp_path: pathlib.Path) -> None:
    writer = WRITERS[kind](str(tmp_path))
    add_grad_graph(writer, Net(), X)
    writer.flush()
    assert _records(tmp_path) == [("Net", 0, 0)]
    writer.close()


def test_steps_without_a_number_count_up(tmp_path: pathlib.Path) -> None:
    net = Net()
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_grad_graph(net, X)
        writer.add_grad_graph(net, X)
        writer.add_grad_graph(net, X, 10)
        writer.add_grad_graph(net, X)
        writer.add_grad_graph(net, X, torch.tensor(20))
    assert [step for _, step, _ in _records(tmp_path)] == [0, 1, 10, 11, 20]


def test_the_same_step_again_is_another_pass(tmp_path: pathlib.Path) -> None:
    net = Net()
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_grad_graph(net, X, 5)
        writer.add_grad_graph(net, X, 5)
    assert _records(tmp_path) == [("Net", 5, 0), ("Net", 5, 1)]


def test_two_models_of_one_class_stay_apart(tmp_path: pathlib.Path) -> None:
    first, second = Net(), Net()
    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(2):
            writer.add_grad_graph(first, X, step)
            writer.add_grad_graph(second, X, step)
    run = _read(tmp_path)
    assert {record.tag for record in run.records} == {"Net", "Net_2"}
    assert len(run.records) == 4 and len(run.graphs) == 1


def test_a_given_tag_is_kept_as_it_is(tmp_path: pathlib.Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_grad_graph(Net(), X, tag="a/b <i>é")
        writer.add_grad_graph(Net(), X, tag="a/b <i>é")
    assert _records(tmp_path) == [("a/b <i>é", 0, 0), ("a/b <i>é", 1, 0)]


def test_objective_is_recorded(tmp_path: pathlib.Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_grad_graph(Net(), X, 0, loss_fn=torch.sum)
        writer.add_grad_graph(Net(), X, 1, tag="Net", grad_outputs=torch.ones(2, 1))
        writer.add_grad_graph(Net(), X, 2, tag="Net")
    found = [record.objective for record in _read(tmp_path).records]
    assert found == ["loss_fn(output)", "grad_outputs", "sum of the output"]


def test_the_graph_returned_is_the_one_written(tmp_path: pathlib.Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        graph = writer.add_grad_graph(Net(), X, loss_fn=torch.sum)
    run = _read(tmp_path)
    (record,) = run.records
    assert run.graphs[record.graph_hash] == graph.graph
    assert record.graph_hash == graph.hash
    (found,) = graph.backward_passes
    assert record.gradients.keys() == found.gradients.keys()
    row = graph.graph.row_keys.index("parameter:lin.weight:0")
    assert record.gradients[row].tolist() == [[4.0, 6.0]] == graph["lin.weight"].gradient.tolist()
    assert record.values[row].tolist() == graph["lin.weight"].value.tolist()


def test_a_closed_writer_is_an_error_at_the_call(tmp_path: pathlib.Path) -> None:
    for make in (SummaryWriter, TorchSummaryWriter, tensorboardX.SummaryWriter):
        used, unused = make(str(tmp_path / "a")), make(str(tmp_path / "b"))
        add_grad_graph(used, Net(), X)
        for writer in (used, unused):
            writer.close()
            with pytest.raises(WriterError, match="closed"):
                add_grad_graph(writer, Net(), X)


def test_close_twice_is_harmless(tmp_path: pathlib.Path) -> None:
    writer = SummaryWriter(str(tmp_path))
    writer.add_grad_graph(Net(), X)
    writer.close()
    writer.close()
    assert len(_records(tmp_path)) == 1


def test_something_that_is_no_writer() -> None:
    with pytest.raises(WriterError, match="expected a SummaryWriter"):
        add_grad_graph(object(), Net(), X)


class Raises(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        (x * self.w).sum()
        raise KeyError("the user's own")


def test_graphs_are_asked_by_name() -> None:
    graph = tb_gradgraph.capture(Net(), X)
    with pytest.raises(TypeError, match="expected the name"):
        graph[0]
    with pytest.raises(KeyError, match="Close names: lin.weight"):
        graph["lin.wieght"]
    assert repr(graph["lin.bias"]) == "<TensorView 'lin.bias': [1] float32, gradient's l2_norm 2>"


def test_a_forward_that_raises_writes_nothing(tmp_path: pathlib.Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(KeyError, match="the user's own"):
            writer.add_grad_graph(Raises(), X)
    assert read_logdir(tmp_path) == ()


def _frozen() -> nn.Module:
    return Net().requires_grad_(False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tb_gradgraph.capture(nn.Flatten(), X.long()), "Pass loss_fn="),
        (lambda: tb_gradgraph.capture(_frozen(), X), "unfreeze a parameter"),
        (lambda: tb_gradgraph.capture(Net(), X, loss_fn=lambda out: out), "pass grad_outputs"),
        (lambda: tb_gradgraph.capture(Net(), X, loss_fn=lambda out: 3.0), "not .item()"),
        (lambda: tb_gradgraph.capture(Net(), X, grad_outputs=X), "grad_outputs of shapes"),
        (lambda: tb_gradgraph.capture(Net(), X, loss_fn=nn.MSELoss()), "lambda output: criterion"),
        (lambda: tb_gradgraph.capture(Net(), X, loss_fn=X), "expected loss_fn to be a function"),
        (lambda: tb_gradgraph.capture(X), "without a graph behind it"),
        (lambda: tb_gradgraph.capture([]), "expected a torch.nn.Module"),
        (lambda: tb_gradgraph.capture(Net().forward, X), "not its forward method"),
        (
            lambda: tb_gradgraph.capture(Net()(X).sum(), X),
            "no input_to_model or kwargs beside tensors",
        ),
        (lambda: tb_gradgraph.capture(Net(), X, level="all"), "expected level"),
        (lambda: tb_gradgraph.capture(Net(), X, select=[3]), "expected a selector"),
    ],
)
def test_errors_say_what_to_pass(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(CaptureError, match=message) as caught:
        call()
    assert str(caught.value).startswith("capture(): ")


@pytest.mark.parametrize("step", ["five", "3", 3.5, torch.tensor(3.5)])
def test_a_wrong_step_is_an_error(step: object, tmp_path: pathlib.Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer, pytest.raises(CaptureError, match="global_step"):
        writer.add_grad_graph(Net(), X, step)


@pytest.mark.parametrize("tag", [3, "", "x" * 2000, b"net"])
def test_a_wrong_tag_is_an_error_and_costs_no_other_record(
    tag: object, tmp_path: pathlib.Path
) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_grad_graph(Net(), X, tag="before")
        with pytest.raises(CaptureError, match="tag"):
            writer.add_grad_graph(Net(), X, tag=tag)
    assert _records(tmp_path) == [("before", 0, 0)]


@pytest.mark.parametrize("kind", ["ours", "torch's"])
def test_a_warning_that_is_an_error_still_closes_the_writer(
    kind: str, tmp_path: pathlib.Path
) -> None:
    writer = WRITERS[kind](str(tmp_path))
    loss = Net()(X).sum()
    add_grad_graph(writer, loss)
    with pytest.raises(UserWarning, match="no backward ran"):
        writer.close()
    assert writer.file_writer is None
    assert _records(tmp_path) == [("loss", 0, 0)]


def test_a_pattern_that_matches_nothing_warns_with_close_names() -> None:
    with pytest.warns(UserWarning, match=r"'lin.wieght' matches no .* Close names: lin.weight"):
        tb_gradgraph.capture(Net(), X, select=["lin.wieght", "lin.bias"])


def test_select_takes_a_module_or_a_tensor_alone() -> None:
    net = Net()
    for select in (net.lin, net.lin.weight):
        graph = tb_gradgraph.capture(net, X, select=select)
        assert graph["lin.weight"].statistics is not None
        assert graph["output"].statistics is None


def _train(logdir: pathlib.Path | None, steps: int = 30) -> dict[str, torch.Tensor]:
    """Train with dropout and batch norm; with a logdir, logging a graph at every step."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Dropout(0.3),
        nn.Linear(16, 4),
    )  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    writer = None if logdir is None else SummaryWriter(str(logdir))
    for _ in range(steps):
        x, y = torch.randn(12, 8), torch.randint(4, (12,))
        if writer is not None:
            writer.add_grad_graph(net, x, loss_fn=torch.sum)
        loss = nn.functional.cross_entropy(net(x), y)
        if writer is not None:
            writer.add_grad_graph(loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if writer is not None:
        writer.close()
    state = copy.deepcopy(net.state_dict())
    return state | {"random": torch.get_rng_state(), "next": torch.randn(3)}


def test_training_is_bit_equal_with_and_without(tmp_path: pathlib.Path) -> None:
    bare, logged = _train(None), _train(tmp_path)
    assert bare.keys() == logged.keys()
    for name in bare:
        assert torch.equal(bare[name], logged[name]), name
    assert len(_records(tmp_path)) == 60


def test_public_names_and_doc_example() -> None:
    import doctest

    import tb_gradgraph.api.writer

    assert doctest.testmod(tb_gradgraph.api.writer).failed == 0
    for name in tb_gradgraph.__all__:
        assert getattr(tb_gradgraph, name) is not None
    with pytest.raises(AttributeError):
        _ = tb_gradgraph.nothing
