"""Tensors of classes that run operations themselves; several threads that compute one forward."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import distributed, nn
from torch.utils._pytree import tree_map

import tb_gradgraph


class Holder(torch.Tensor):
    """Holds a tensor, and gives its elements to nobody."""

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> Holder:
        return torch.Tensor._make_wrapper_subclass(
            cls, held.shape, dtype=held.dtype, requires_grad=held.requires_grad
        )

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def open_(value: Any) -> Any:
            return value.held if isinstance(value, Holder) else value

        result = func(*tree_map(open_, args), **tree_map(open_, kwargs or {}))
        return tree_map(lambda v: Holder(v) if isinstance(v, torch.Tensor) else v, result)


class Held(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plain = nn.Parameter(torch.ones(3))
        self.held = nn.Parameter(Holder(torch.ones(3)))

    def forward(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.plain * 3, self.held * 2


def test_a_wrapper_without_elements_costs_no_other_tensor_its_gradient() -> None:
    graph = tb_gradgraph.capture(Held(), loss_fn=lambda output: output[0].sum())
    assert graph["plain"].gradient.tolist() == [3.0, 3.0, 3.0]
    graph = tb_gradgraph.capture(Held())
    assert graph["plain"].gradient.tolist() == [3.0, 3.0, 3.0]
    assert graph["held"].statistics is None
    assert graph["held"].node.note == "Holder does not give its elements to be read."


@pytest.fixture
def mesh(tmp_path: pathlib.Path) -> Iterator[Any]:
    """A process group of this process alone."""
    distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1
    )
    try:
        yield distributed.init_device_mesh("cpu", (1,))
    finally:
        distributed.destroy_process_group()


def test_distributed_tensors_are_read_where_they_are(mesh: Any) -> None:
    from torch.distributed.tensor import Replicate, distribute_module, distribute_tensor

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    plain = nn.Linear(2, 2)
    plain(x).square().sum().backward()
    expected = {name: parameter.grad for name, parameter in plain.named_parameters()}
    model = distribute_module(plain, mesh)
    given = distribute_tensor(x, mesh, [Replicate()])
    graph = tb_gradgraph.capture(model, given, loss_fn=lambda output: output.square().sum())
    for name, gradient in expected.items():
        assert graph[name].gradient.tolist() == gradient.tolist()


class OnThread(nn.Module):
    """One layer runs on a thread of its own, whose count of nodes begins at 0, as that of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(3, 3) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x)
        found: list[torch.Tensor] = []
        thread = threading.Thread(target=lambda: found.append(self.b(y).exp()))
        thread.start()
        thread.join()
        return (self.c(found[0]) * y).sum()


def test_a_node_of_another_thread_is_given_no_scope_and_line_of_this_one() -> None:
    model, x = OnThread(), torch.ones(2, 3)
    found: list[tb_gradgraph.GradGraph] = []

    def capture() -> None:
        found.extend(tb_gradgraph.capture(model, x) for _ in range(2))

    thread = threading.Thread(target=capture)  # a new one, that has made no node yet
    thread.start()
    thread.join()
    first, second = found
    (exponential,) = [node for node in first.nodes if node.operation == "ExpBackward0"]
    assert exponential.scope == -1 and exponential.source == ""
    model(x).backward()
    for name, parameter in model.named_parameters():
        for graph in (first, second):
            torch.testing.assert_close(torch.from_numpy(graph[name].gradient), parameter.grad)
