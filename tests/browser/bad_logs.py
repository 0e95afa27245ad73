"""Logs at the edges of what a person writes: almost nothing, far too much, and names that bite."""

from __future__ import annotations

import contextlib
import math
import pathlib
import warnings
from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter as PlainWriter

import tb_gradgraph
from tb_gradgraph.graph import NO_SCOPE, Graph, Node
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.session import Session
from tests.record.samples import make_graph, make_record, make_slots

TAGS = 10_000
#: Steps of the session that came first, and of the one that began before it had ended.
FIRST, SECOND = range(8), range(4, 12)
LAYERS = 6

HOSTILE_TAG = '<b class="hostile">tag</b> "a"/\'b\'/c & \N{FIRE}'
HOSTILE_NAMES = (
    '<img class="hostile" src=x onerror="window[`hostile`]=1">',
    "</script><script class=hostile>window[`hostile`]=1</script>",
    "a/b\\c//#0~repeat:'\"`${x}",
    "\N{FIRE}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}\N{RIGHT-TO-LEFT OVERRIDE}\n{{7*7}} &lt;",
    "n" * 500,
)
HOSTILE_RUN = '<b class=hostile>run\N{FIRE}"'
HOSTILE_OPERATION = "<i class='hostile'>Operation</i>"


def write_one_node(directory: pathlib.Path) -> None:
    """One step of a graph that is one node, as no model makes."""
    node = Node("leaf:x", "x", "leaf", "", NO_SCOPE, make_slots(), True)
    graph = Graph((node,), (), ())
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        session = Session(WriterSink(writer).add_summary)
        session.write_graph("net", graph)
        session.write_record(make_record(graph))
        session.close()


def write_no_gradients(directory: pathlib.Path) -> None:
    """A graph whose backward never ran."""
    with warnings.catch_warnings(), tb_gradgraph.SummaryWriter(str(directory)) as writer:
        warnings.simplefilter("ignore")  # that there was none
        writer.add_grad_graph(nn.Linear(2, 1)(torch.ones(1, 2)).sum())


def write_only_nan(directory: pathlib.Path) -> None:
    """Three steps without one finite number, loss included."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    with tb_gradgraph.SummaryWriter(str(directory)) as writer, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is not finite, which is the point here
        writer.watch(net, every_n_steps=1, level="param", tag="net", on_finding=None)
        for step in range(3):
            net.zero_grad()
            (net(torch.ones(1, 2)) * math.nan).sum().backward()
            writer.add_scalar("loss", math.nan, step)


def write_many_tags(directory: pathlib.Path) -> None:
    """Ten thousand graphs by name in one run, and as many scalars."""
    graph = make_graph()
    with PlainWriter(str(directory)) as writer:
        session = Session(WriterSink(writer).add_summary)
        for index in range(TAGS):
            session.write_graph(f"net {index}", graph)
            session.write_record(make_record(graph, tag=f"net {index}"))
            writer.add_scalar(f"scalar/{index:05}", index, 0)
        session.close()


def write_overlapping(directory: pathlib.Path) -> None:
    """Two writers in one directory: the second begins before the first has ended.

    Gradients of the first are 1, of the second 2, so each step tells whose it is.
    """
    nets: dict[int, nn.Module] = {}
    with contextlib.ExitStack() as stack:
        for step in range(SECOND.stop):
            for scale, steps in ((1, FIRST), (2, SECOND)):
                if step == steps.start:
                    nets[scale] = stack.enter_context(_watched(directory, scale, step))
                if step in steps:
                    nets[scale](torch.full((1, 1), float(scale))).sum().backward()


@contextlib.contextmanager
def _watched(directory: pathlib.Path, scale: int, step: int) -> Iterator[nn.Module]:
    net = nn.Linear(1, 1, bias=False)
    with tb_gradgraph.SummaryWriter(str(directory), filename_suffix=f".{scale}") as writer:
        writer.watch(net, every_n_steps=1, level="op", tag="net").step = step
        yield net


def write_changing(directory: pathlib.Path) -> None:
    """A graph that has one layer more at every step."""
    net = nn.Sequential(*(nn.Linear(2, 2) for _ in range(LAYERS)))
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        for step in range(LAYERS):
            writer.add_grad_graph(net[: step + 1], torch.ones(1, 2), step, tag="net")


class _Module(nn.Module):
    """Applies a Function with a hostile name between modules with hostile names."""

    def __init__(self) -> None:
        super().__init__()
        for name in HOSTILE_NAMES:
            self.add_module(name, nn.Linear(2, 2))
        self.register_parameter(HOSTILE_NAMES[0] + "p", nn.Parameter(torch.ones(2)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.children():
            x = part(x)
        for parameter in self.parameters(recurse=False):
            x = x * parameter
        return _hostile_function().apply(x).sum()


def _hostile_function() -> type[torch.autograd.Function]:
    def forward(context: object, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def backward(context: object, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(HOSTILE_OPERATION, (torch.autograd.Function,), methods)


def write_hostile(directory: pathlib.Path) -> None:
    """Names with slashes, quotes, angle brackets, emoji and 500 characters, wherever one can be."""
    net = type(HOSTILE_NAMES[0], (_Module,), {})()
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        for step in range(2):
            writer.add_grad_graph(net, torch.ones(1, 2), step, tag=HOSTILE_TAG)
            writer.add_scalar(HOSTILE_NAMES[0], step, step)


LOGS: dict[str, Callable[[pathlib.Path], None]] = {
    "one": write_one_node,
    "none": write_no_gradients,
    "nan": write_only_nan,
    "tags": write_many_tags,
    "overlapping": write_overlapping,
    "changing": write_changing,
    HOSTILE_RUN: write_hostile,
}
