"""What capturing a graph costs, against torch's add_graph and a bare step."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import tb_gradgraph
from tests.benchmarks.measure import Figure, measure_in_turn
from tests.benchmarks.models import make_recurrent_loop, make_transformer


def make_step(model: nn.Module, x: torch.Tensor) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        model(x).backward()
        optimizer.step()

    return step


def measure_transformer() -> list[Figure]:
    model, x = make_transformer()
    nodes = len(tb_gradgraph.capture(model, x).nodes)
    with tempfile.TemporaryDirectory() as logdir, SummaryWriter(logdir) as writer:

        def add_graph() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # torch's own call
                writer.add_graph(model, x)

        seconds = measure_in_turn(
            {
                "step": make_step(model, x),
                "capture": lambda: tb_gradgraph.capture(model, x),
                "add_graph": add_graph,
            },
            repetitions=5,
        )
    step, capture, add_graph_s = (seconds[name] for name in ("step", "capture", "add_graph"))
    return [
        Figure(f"transformer, {nodes} nodes: bare step", 1e3 * step, "ms", ratio=1),
        Figure(
            "transformer: SummaryWriter.add_graph",
            1e3 * add_graph_s,
            "ms",
            None,
            add_graph_s / step,
        ),
        Figure(
            "transformer: capture, with its forward, backward and statistics",
            *(1e3 * capture, "ms", 1e3 * add_graph_s / 10, capture / step),
        ),
    ]


def measure_recurrent_loop() -> list[Figure]:
    model, x = make_recurrent_loop()
    nodes = len(tb_gradgraph.capture(model, x).nodes)
    seconds = measure_in_turn(
        {"step": make_step(model, x), "capture": lambda: tb_gradgraph.capture(model, x)},
        repetitions=3,
    )
    return [
        Figure(
            f"LSTMCell loop, {nodes} nodes: capture",
            *(seconds["capture"], "s", 3.0, seconds["capture"] / seconds["step"]),
        )
    ]
