"""What watch() is given by mistake: a clear error; a warning where it may be meant."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.logged import read_one_run
from tests.training.loops import small_net


@pytest.fixture
def writer(tmp_path: pathlib.Path) -> Iterator[Any]:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        yield writer


def _scheduler(net: nn.Module) -> Any:
    return torch.optim.lr_scheduler.StepLR(torch.optim.SGD(net.parameters(), 0.1), 10)


@pytest.mark.parametrize(
    ("watch", "message"),
    [
        (lambda w, n: w.watch(n.forward), "got method. Pass the module, not its forward method."),
        (lambda w, n: w.watch(nn.Linear), "got the class Linear."),
        (lambda w, n: w.watch(n.state_dict()), "got OrderedDict."),
        (lambda w, n: w.watch(n, optimizer="adam"), "expected optimizer to be a torch.optim"),
        (lambda w, n: w.watch(n, optimizer=_scheduler(n)), "got StepLR (a scheduler)."),
        (lambda w, n: w.watch(n, optimizer=[]), "got an empty list."),
        (lambda w, n: w.watch(n, every_n_steps=0), "at least 1, got 0."),
        (lambda w, n: w.watch(n, every_n_steps=True), "at least 1, got True."),
        (lambda w, n: w.watch(n, level="all"), "expected level to be one of"),
        (lambda w, n: w.watch(n, budget=2), "between 0 and 1, such as 0.02, got 2."),
        (lambda w, n: w.watch(nn.ReLU()), "expected a model with parameters"),
        (lambda w, n: setattr(w.watch(n), "step", -1), "from 0 to 2**63-1, got -1."),
    ],
)
def test_a_mistake_is_named(
    watch: Callable[[Any, nn.Module], Any], message: str, writer: Any
) -> None:
    with pytest.raises(tb_gradgraph.CaptureError, match=re.escape(message)):
        watch(writer, small_net())


@pytest.mark.parametrize(
    ("watch", "message"),
    [
        (lambda w, n, o: w.watch(n, o), "watch(): expected at most 1 argument without a name after "
         "the writer, got SGD as one more. Write optimizer=.., and pass all further"),
        (lambda w, n, o: tb_gradgraph.watch(w, n, o, 10), "got SGD as one more. Write optimizer=..,"),
        (lambda w, n, o: tb_gradgraph.watch(n), "watch(): expected a summary writer as the first "
         "argument, got Sequential. Write tb_gradgraph.watch(writer, ...), or writer.watch(...)"),
        (lambda w, n, o: tb_gradgraph.watch(n, optimizer=o), "got Sequential. Write tb_gradgraph"),
        (lambda w, n, o: tb_gradgraph.watch(n, o), "got Sequential. Write tb_gradgraph.watch(w"),
        (lambda w, n, o: tb_gradgraph.add_grad_graph(n, torch.ones(1, 3)), "add_grad_graph(): "
         "expected a summary writer as the first argument, got Sequential."),
        (lambda w, n, o: tb_gradgraph.add_grad_graph(n(torch.ones(1, 3)).sum()), "got Tensor."),
        (lambda w, n, o: w.add_grad_graph(n, torch.ones(1, 3), 0, torch.sum), "expected at most 3 "
         "arguments without a name after the writer, got builtin_function_or_method as one more."),
    ],
)  # fmt: skip
def test_what_python_would_refuse_is_named_with_its_cure(
    watch: Callable[..., Any], message: str, writer: Any
) -> None:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with pytest.raises(tb_gradgraph.GradGraphError, match=re.escape(message)):
        watch(writer, net, optimizer)


def test_an_optimizer_of_another_model_is_warned_of(writer: Any) -> None:
    stale = torch.optim.SGD(small_net().parameters(), 0.1)
    with pytest.warns(
        UserWarning,
        match="holds none of them. Its steps are counted, but its changes to the model are not recorded",
    ):
        writer.watch(small_net(), optimizer=stale)


def _fails_at_sqrt(writer: Any, level: str) -> str:
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    writer.watch(net, every_n_steps=1, level=level)
    z = (net(torch.randn(8, 4)).abs() * -1).sqrt()
    z.sum().backward()
    writer.flush()
    from tb_gradgraph.diagnose import findings

    run = read_one_run(pathlib.Path(writer.log_dir))
    (record,) = run.records
    found = findings(run.graphs[record.graph_hash], record.table)
    return next(finding.text for finding in found if finding.kind == "nonfinite_origin")


def test_every_node_read_the_origin_of_nan_is_named(writer: Any) -> None:
    text = _fails_at_sqrt(writer, "op")
    assert "sqrt" in text and "came in finite, and 8 NaN of 8 elements left it" in text


@pytest.mark.parametrize("level", ["param", "module"])
def test_nodes_that_were_not_read_are_not_blamed(level: str, writer: Any) -> None:
    text = _fails_at_sqrt(writer, level)
    assert text.startswith("Somewhere between the loss and ")
    assert "were not recorded" in text and "left it" not in text
