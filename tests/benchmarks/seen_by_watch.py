"""How much of a graph is known with and without a mode of torch: ``-m tests.benchmarks.seen_by_watch``.

``capture`` sees every operation of a forward of its own; ``watch`` sees a user's forward
from outside. For each kind of model: operations that have a line, operations that have a
name, operations with an input without gradient, parameters that say why they have none.
With ``--missing`` the operations whose inputs without gradient a watch does not know are named.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import tb_gradgraph
from tb_gradgraph.graph import Graph
from tests.autograd.expected import OTHERWISE, inputs_of, made, roots_of
from tests.autograd.models import CASES, Case
from tests.logged import read_one_run


@dataclasses.dataclass(frozen=True)
class Known:
    """Counts over operations with gradient, and over parameters without one."""

    operations: int = 0
    lines: int = 0
    names: int = 0
    inputs: int = 0  # operations with an input without gradient that is known
    reasons: int = 0  # parameters that say why they have no gradient

    def __add__(self, other: Known) -> Known:
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(other))
        return Known(*(one + another for one, another in pairs))


def count(graph: Graph) -> Known:
    """Count what is known in a graph."""
    operations = [i for i, n in enumerate(graph.nodes) if n.kind == "operation" and n.requires_grad]
    return Known(
        len(operations),
        sum(bool(graph.nodes[i].source) for i in operations),
        sum(any(slot.name for slot in graph.nodes[i].slots) for i in operations),
        len(inputs_of_operations(graph)),
        sum(bool(node.reason) and node.kind == "parameter" for node in graph.nodes),
    )


def inputs_of_operations(graph: Graph) -> dict[str, list[int]]:
    """Return the sources without gradient of each operation with gradient, by its key."""
    found: dict[str, list[int]] = {}
    for edge in graph.edges:
        target, source = graph.nodes[edge.target], graph.nodes[edge.source]
        fed = target.kind == "operation" and target.requires_grad
        if fed and not source.slots[edge.source_slot].requires_grad:
            found.setdefault(target.key, []).append(edge.source)
    return found


class WithLoss(nn.Module):
    """A model of a case with its loss: what is in no module is not looked at by a watch."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.model = made(case)
        self.loss_fn = case.loss_fn

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        output = self.model(*args, **kwargs)
        return output if self.loss_fn is None else self.loss_fn(output)


def by_capture(case: Case) -> Graph:
    """Capture a model."""
    return tb_gradgraph.capture(WithLoss(case), case.input).graph


def by_watch(case: Case) -> Graph:
    """Watch one step of a model."""
    model = WithLoss(case)
    with tempfile.TemporaryDirectory() as logdir:
        with tb_gradgraph.SummaryWriter(logdir) as writer:
            writer.watch(model, level="op", every_n_steps=1)
            args, kwargs = inputs_of(case)
            output = model(*args, **kwargs)
            roots = roots_of(output)
            torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
        return next(iter(read_one_run(logdir).graphs.values()))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.n, self.m = nn.BatchNorm2d(4), nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = functional.relu(self.n(self.a(x)))
        h = self.m(self.b(h))
        return functional.relu(x + h)


def _convolutional() -> nn.Module:
    blocks = [Residual() for _ in range(4)]
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
    return nn.Sequential(nn.Conv2d(3, 4, 3), *blocks, *head)


class Transformer(nn.Module):
    """Padding masks, positions in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(11, 16)
        self.register_buffer("positions", torch.randn(1, 6, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.out = nn.Linear(16, 11)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        padding = tokens == 0
        h = self.tokens(tokens) + self.positions
        h = self.layers(h, src_key_padding_mask=padding)
        return self.out(h)


class Unrolled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.LSTMCell(3, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = cell = torch.zeros(x.shape[0], 8)
        for step in range(x.shape[1]):
            hidden, cell = self.cell(x[:, step], (hidden, cell))
        return self.out(hidden)


class Causal(nn.Module):
    """A block of a small GPT, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.qkv, self.proj = nn.Linear(16, 48), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16), nn.Dropout(0.1))
        self.register_buffer("mask", torch.ones(6, 6).tril()[None, None])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        q, k, v = self.qkv(self.norm(x)).split(width, dim=2)
        q, k, v = (t.view(batch, time, 2, width // 2).transpose(1, 2) for t in (q, k, v))
        att = q @ k.transpose(-2, -1) / (width // 2) ** 0.5
        att = att.masked_fill(self.mask[:, :, :time, :time] == 0, float("-inf"))
        y = (att.softmax(-1) @ v).transpose(1, 2).reshape(batch, time, width)
        x = x + self.proj(y)
        return x + self.mlp(self.norm2(x))


class Checkpointed(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.blocks = nn.ModuleList(Causal() for _ in range(2))
        self.reentrant = reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return x


class Adapted(nn.Module):
    """A frozen layer with low-rank factors beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(16, 16).requires_grad_(False)
        self.down, self.up = nn.Linear(16, 2, bias=False), nn.Linear(2, 16, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.up(self.down(x)) * 0.5


class Teacher(nn.Module):
    """A student beside a teacher without gradient, a detached branch and an unused layer."""

    def __init__(self) -> None:
        super().__init__()
        self.student, self.teacher = nn.Linear(16, 16), nn.Linear(16, 16)
        self.branch, self.unused = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            target = self.teacher(x)
        h = self.student(x)
        h = h + self.branch(h).detach()
        return functional.mse_loss(h, target)


def _square(output: torch.Tensor) -> torch.Tensor:
    return output.square().mean()


def _adapted() -> nn.Module:
    return nn.Sequential(*(nn.Sequential(Adapted(), nn.Tanh()) for _ in range(3)))


KINDS: Mapping[str, Iterable[Callable[[], Case] | Case]] = {
    "convolutional, residual": [Case(_convolutional, torch.randn(2, 3, 8, 8), _square)],
    "`nn.TransformerEncoder`": [Case(Transformer, torch.randint(0, 11, (2, 6)), _square)],
    "LSTM cell in a loop": [Case(Unrolled, torch.randn(2, 5, 3), _square)],
    "GPT, written out": [
        Case(lambda: nn.Sequential(*(Causal() for _ in range(3))), torch.randn(2, 6, 16), _square)
    ],
    "checkpointed": [Case(lambda: Checkpointed(False), torch.randn(2, 6, 16), _square)],
    "checkpointed, reentrant": [Case(lambda: Checkpointed(True), torch.randn(2, 6, 16), _square)],
    "frozen with adapters": [Case(_adapted, torch.randn(2, 16), _square)],
    "teacher, detached, unused": [Case(Teacher, torch.randn(2, 16))],
    "odd models": [case for name, case in CASES.items() if name not in OTHERWISE],
}


def measure(cases: Iterable[Case]) -> tuple[Known, Known, int]:
    """Return what is known by capture and by watch, and how many models could not be compared."""
    before, after, left = Known(), Known(), 0
    for case in cases:
        with contextlib.redirect_stdout(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                pair: tuple[Any, Any] = (count(by_capture(case)), count(by_watch(case)))
            except Exception:
                left += 1
                continue
        before, after = before + pair[0], after + pair[1]
    return before, after, left


def missing(case: Case) -> list[str]:
    """Name the operations whose inputs without gradient a watch does not know, and the inputs."""
    with contextlib.redirect_stdout(None), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        captured, watched = by_capture(case), by_watch(case)
    known = inputs_of_operations(watched)
    return [
        f"{key}: {', '.join(captured.nodes[index].key for index in sources)}"
        for key, sources in inputs_of_operations(captured).items()
        if key not in known
    ]


def print_missing() -> None:
    """Print what is missing of each kind, and of each odd model."""
    for name, cases in KINDS.items():
        for case in cases:
            title = next((each for each, odd in CASES.items() if odd is case), name)
            with contextlib.suppress(Exception):  # the table counts those that are left out
                for line in missing(case):
                    print(f"{title}: {line}", flush=True)


def main() -> None:
    """Print the table."""
    if "--missing" in sys.argv:
        print_missing()
        return
    print("| kind of model | operations | lines | names | inputs without gradient | reasons |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, cases in KINDS.items():
        before, after, left = measure(cases)
        cells = [f"{name}" + (f" ({left} left out)" if left else "")]
        cells.append(f"{before.operations} / {after.operations}")
        for field in ("lines", "names", "inputs", "reasons"):
            cells.append(f"{getattr(before, field)} / {getattr(after, field)}")
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
