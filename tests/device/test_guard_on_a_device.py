"""On a CUDA device a watch waits for nothing between recorded steps, and changes no number.

Left out without such a device (conftest.py). Where there is one: ``python -m pytest tests/device``.
"""

from __future__ import annotations

import contextlib
import math
import pathlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

import tb_gradgraph
from tests.training.loops import assert_bit_equal, state_of

needs_device = pytest.mark.cuda
#: The tests of the loop itself run on the CPU too, so that they are known to be right.
DEVICES = ["cpu", pytest.param("cuda", marks=needs_device)]


def new_net(device: str) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 64), nn.Dropout(0.5), nn.Linear(64, 1)).to(device)


def train(
    net: nn.Module,
    device: str,
    steps: range,
    optimizer: torch.optim.Optimizer,
    broken: int = -1,
) -> None:
    for step in steps:
        optimizer.zero_grad()
        loss = net(torch.randn(8, 16, device=device)).square().mean()
        (loss * math.nan if step == broken else loss).backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()


@contextlib.contextmanager
def no_waiting() -> Iterator[None]:
    """Let torch raise an error in the block where the host waits for the device."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("options", [{}, {"on_finding": "raise"}, {"keep_batch": True}])
def test_the_training_is_what_it_was_without(
    options: dict[str, Any], device: str, tmp_path: pathlib.Path
):
    def run(writer: Any) -> Any:
        net = new_net(device)
        optimizer = torch.optim.Adam(net.parameters(), 0.01)
        if writer is not None:
            writer.watch(net, optimizer=optimizer, every_n_steps=5, **options)
        train(net, device, range(12), optimizer)
        return state_of(net, optimizer), torch.get_rng_state(), torch.rand(3, device=device)

    expected = run(None)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        found = run(writer)
    assert_bit_equal(found, expected)


@pytest.mark.parametrize("device", DEVICES)
def test_a_loss_is_told_of_at_most_a_few_steps_late(device: str, tmp_path: pathlib.Path):
    net = new_net(device)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
            writer.watch(net, optimizer=optimizer, every_n_steps=10**6)
            train(net, device, range(10), optimizer, broken=5)
            if device == "cuda":
                torch.cuda.synchronize()
            train(net, device, range(10, 12), optimizer)
    told = [str(one.message) for one in seen if "tb_gradgraph, " in str(one.message)]
    assert told and "is nan" in told[0]
    assert any(f"step {step}: The loss of step {step} is nan" in told[0] for step in (5, 6, 7))


@needs_device
@pytest.mark.parametrize("options", [{}, {"keep_batch": True}, {"on_finding": None}])
def test_nobody_waits_between_recorded_steps(options: dict[str, Any], tmp_path: pathlib.Path):
    net = new_net("cuda")
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=10**6, **options)
        train(net, "cuda", range(4), optimizer)
        writer.flush()
        with no_waiting():
            train(net, "cuda", range(4, 30), optimizer)
        assert watch.failure is None and watch.step == 30


@needs_device
def test_a_loss_of_another_stream_is_read_right(tmp_path: pathlib.Path):
    """Its memory is not given to others before it was copied."""
    net, side = new_net("cuda"), torch.cuda.Stream()
    optimizer = torch.optim.SGD(net.parameters(), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
            writer.watch(net, optimizer=optimizer, every_n_steps=10**6)
            for _ in range(200):
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    loss = net(torch.randn(8, 16, device="cuda")).square().mean()
                torch.cuda.current_stream().wait_stream(side)
                loss.backward()
                optimizer.step()
                del loss
                with torch.cuda.stream(side):
                    torch.full((1,), math.nan, device="cuda")  # takes memory that is free


@needs_device
def test_a_step_is_captured_into_a_graph(tmp_path: pathlib.Path):
    net = new_net("cuda")
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x, graph = torch.randn(8, 16, device="cuda"), torch.cuda.CUDAGraph()

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        net(x).square().mean().backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, keep_batch=True, every_n_steps=10**6)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            step()
        before = net[0].weight.detach().clone()
        graph.replay()
        torch.cuda.synchronize()
        assert watch.failure is None
    assert not torch.equal(before, net[0].weight)


@needs_device
def test_a_kept_batch_gives_the_same_again(tmp_path: pathlib.Path):
    net = new_net("cuda")
    optimizer = torch.optim.SGD(net.parameters(), 0.0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, keep_batch=True, on_finding=lambda _found: None)
        outputs = []
        for step in range(4):
            outputs.append(net(torch.randn(8, 16, device="cuda")))
            (outputs[-1].sum() * (math.nan if step == 2 else 1)).backward()
            torch.cuda.synchronize()
    (path,) = tmp_path.glob("gradgraph_batch_*_2.pt")
    kept = torch.load(path, weights_only=True)
    torch.cuda.set_rng_state(kept["device_random_states"]["cuda:0"], 0)
    assert torch.equal(net(kept["args"][0].cuda()), outputs[2])
