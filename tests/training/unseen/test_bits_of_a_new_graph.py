"""What torch runs in the first step, in which the forward is looked at, is what it runs without us."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.overrides
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from tests.training.loops import Bare, run_both, state_of

LEVELS = ("param", "module", "op")


class Projected(nn.Module):
    """A fixed projection (1, m, p) for a whole batch: matmul folds it, or not under a mode."""

    def __init__(self, m: int, p: int) -> None:
        super().__init__()
        self.lin = nn.Linear(m, m)
        self.register_buffer("proj", torch.randn(1, m, p))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.lin(x) @ self.proj).relu()


class Normed(nn.Module):
    """A weight over its spectral norm, which is not differentiated."""

    def __init__(self, norm: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(24, 24))
        self.norm = norm

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x @ (self.w / self.norm(self.w.detach()))).relu()


def _encoder(_: Any = None) -> nn.Module:
    """Frozen at its beginning: a layer that may take its fast path."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    frozen = (
        nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval().requires_grad_(False)
    )
    return nn.Sequential(frozen, nn.Linear(16, 2))


MODELS = {
    **{
        f"matmul {rows, m, p}": (lambda m=m, p=p: Projected(m, p), (8, rows, m))
        for rows, m, p in ((1, 8, 16), (1, 13, 6), (1, 64, 33), (5, 13, 3), (20, 64, 32))
    },
    **{
        f"{norm.__name__} of a detached weight": (lambda norm=norm: Normed(norm), (8, 24))
        for norm in (
            *(torch.linalg.cond, torch.linalg.eigvalsh, torch.linalg.svdvals),
            *(torch.linalg.matrix_norm, torch.linalg.vector_norm),
        )
    },
    "frozen encoder": (_encoder, (2, 5, 16)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_three_steps(name: str, tmp_path: pathlib.Path) -> None:
    make, shape = MODELS[name]

    def loop(run: Bare) -> Any:
        net = make()
        optimizer = torch.optim.SGD(net.parameters(), 0.01)
        run.watch(net, optimizer=optimizer, level="op")
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = net(torch.randn(*shape)).square().mean()
            losses.append(loss.detach())
            loss.backward()
            optimizer.step()
        return state_of(net, optimizer), losses

    assert run_both(loop, tmp_path).records


class Looking(nn.Module):
    """Looks at what is on while it runs."""

    def __init__(self, look: Callable[[nn.Module], None]) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 2)
        self.look = look

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.look(self.lin)
        return self.lin(x)


@pytest.mark.parametrize("level", LEVELS)
def test_no_mode_and_no_hook_on_a_module_is_on(level: str, tmp_path: pathlib.Path) -> None:
    def look(lin: nn.Module) -> None:
        found.append((
            _get_current_dispatch_mode_stack(), torch.overrides._len_torch_function_stack(),
            torch.is_anomaly_enabled(), torch._C._autograd._saved_tensors_hooks_is_enabled(),
            [list(value) for name, value in vars(lin).items() if name.endswith("_hooks")],
            lin.weight._backward_hooks,
        ))  # fmt: skip

    def loop(run: Bare) -> Any:
        net = Looking(look)
        run.watch(net, level=level)
        for _ in range(2):
            net(torch.randn(4, 3)).sum().backward()
        return state_of(net)

    found: list[Any] = []
    run_both(loop, tmp_path)
    bare, watched = found[:2], found[2:]
    assert bare == watched


class Counting(TorchDispatchMode):
    """The user's own mode: notes each operation."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class Calls(torch.overrides.TorchFunctionMode):
    """The user's own mode: notes each call, and each look at a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(getattr(func, "__name__", "") or str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [Counting, Calls])
@pytest.mark.parametrize("where", ["around", "within", "left late"])
def test_the_users_modes_see_what_they_see_without(
    mode: type[Any], where: str, tmp_path: pathlib.Path
) -> None:
    """Also one that begins within the forward and is left when that has ended."""

    def loop(run: Bare) -> Any:
        own = mode()
        net = Looking(lambda _: own.__enter__() if where != "around" else None)
        net.register_forward_hook(
            lambda *_: own.__exit__(None, None, None) if where == "within" else None
        )
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer, level="op")
        for _ in range(2):
            if where == "around":
                own.__enter__()
            loss = net(torch.randn(4, 3)).square().sum()
            if where != "within":
                own.__exit__(None, None, None)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return own.seen, state_of(net)

    assert run_both(loop, tmp_path).records


def test_saved_tensors_are_not_unpacked(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        unpacked: list[int] = []

        def unpack(tensor: torch.Tensor) -> torch.Tensor:
            unpacked.append(tensor.numel())
            return tensor

        net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2).requires_grad_(False))
        run.watch(net, level="op")
        for _ in range(2):
            with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
                loss = net(torch.randn(4, 3)).square().sum()
            before = len(unpacked)
            loss.backward()
            assert before in (0, len(unpacked) // 2)
        return unpacked, state_of(net)

    assert run_both(loop, tmp_path).records


def test_views_that_were_written_to_keep_their_numbers(tmp_path: pathlib.Path) -> None:
    """To ask such a view for its node makes one: the next would have another number."""

    class Written(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.lin(x)
            left, right = y[:, :2], y[:, 2:]
            y.mul_(2)
            number = torch.autograd._get_sequence_nr()
            middle = y.sin()
            numbers.append(torch.autograd._get_sequence_nr() - number)
            return (left + middle[:, :2] + right).sum()

    def loop(run: Bare) -> Any:
        numbers.clear()
        net = Written()
        run.watch(net, level="op")
        for _ in range(2):
            net(torch.randn(4, 4)).backward()
        return list(numbers), state_of(net)

    numbers: list[int] = []
    assert run_both(loop, tmp_path).records
    assert numbers == [1, 1]
