"""What capturing a graph costs, against torch's add_graph and a bare step."""

from __future__ import annotations

import statistics
import tempfile
import warnings
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import tb_gradgraph
from tests.benchmarks.measure import Figure, measure_in_turn, median_excess
from tests.benchmarks.models import make_chain, make_recurrent_loop, make_transformer


def make_step(model: nn.Module, x: torch.Tensor) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        model(x).backward()
        optimizer.step()

    return step


def make_contenders(model: nn.Module, x: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Make what both models are measured with.

    ``capture`` runs a forward and a backward of its own; without statistics
    what it costs beyond ``differentiate`` is the price of the structure.
    """
    parameters = list(model.parameters())
    return {
        "step": make_step(model, x),
        "differentiate": lambda: torch.autograd.grad(model(x), parameters),
        "structure": lambda: tb_gradgraph.capture(model, x, exclude="*"),
        "capture": lambda: tb_gradgraph.capture(model, x),
    }


def measure_transformer() -> list[Figure]:
    model, x = make_transformer()
    nodes = len(tb_gradgraph.capture(model, x).nodes)
    with tempfile.TemporaryDirectory() as logdir, SummaryWriter(logdir) as writer:

        def add_graph() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # torch's own call
                writer.add_graph(model, x)

        contenders = {**make_contenders(model, x), "add_graph": add_graph}
        times = measure_in_turn(contenders, repetitions=9)
    seconds = {name: statistics.median(values) for name, values in times.items()}
    step, add_graph_s = seconds["step"], seconds["add_graph"]
    structure = median_excess(times["structure"], over=times["differentiate"])
    return [
        _in_ms(f"transformer, {nodes} nodes: bare step", step, step),
        _in_ms("transformer: SummaryWriter.add_graph", add_graph_s, step),
        _in_ms(
            "transformer: structure, beyond its forward and backward; limit a tenth of add_graph",
            *(structure, step, add_graph_s / 10),
        ),
        _in_ms(
            "transformer: capture with forward, backward, statistics of every node",
            *(seconds["capture"], step),
        ),
        _a_node("transformer", seconds, nodes),
    ]


def measure_recurrent_loop() -> list[Figure]:
    return _measure_great("LSTMCell loop of 2,000 steps", make_recurrent_loop, limit_s=3.0)


def measure_chain() -> list[Figure]:
    return _measure_great("chain", make_chain)


def _measure_great(
    name: str, make: Callable[[], tuple[nn.Module, torch.Tensor]], limit_s: float | None = None
) -> list[Figure]:
    model, x = make()
    nodes = len(tb_gradgraph.capture(model, x).nodes)
    times = measure_in_turn(make_contenders(model, x), repetitions=3)
    seconds = {name: statistics.median(values) for name, values in times.items()}
    step = seconds["step"]
    return [
        _in_ms(f"{name}, {nodes:,} nodes: bare step", step, step),
        _in_ms(
            f"{name}: structure, with its forward and backward",
            *(seconds["structure"], step, limit_s),
        ),
        _in_ms(
            f"{name}: capture with forward, backward, statistics of every node",
            *(seconds["capture"], step),
        ),
        _a_node(name, seconds, nodes),
    ]


def _a_node(name: str, seconds: dict[str, float], nodes: int) -> Figure:
    beyond = seconds["capture"] - seconds["differentiate"]
    return Figure(
        f"{name}: capture beyond its forward and backward, a node", 1e6 * beyond / nodes, "us"
    )


def _in_ms(name: str, seconds: float, step: float, limit: float | None = None) -> Figure:
    limit_ms = None if limit is None else 1e3 * limit
    return Figure(name, 1e3 * seconds, "ms", limit_ms, seconds / step)
