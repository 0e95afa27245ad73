"""Values that ``capture`` reads, against those of a dispatch mode that copies every result."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import tb_gradgraph
from tb_gradgraph import capture
from tb_gradgraph.statistics import Statistics
from tests.autograd.models import CASES, Case
from tests.logged import read_one_run
from tests.oracle import operations_behind, statistics_of


def assert_same(found: Statistics | None, tensor: torch.Tensor) -> None:
    assert found is not None
    for name, number in statistics_of(tensor).items():
        own = getattr(found, name)
        assert own is number is None or own == pytest.approx(number, rel=1e-5, abs=1e-7), name


class Copying(TorchDispatchMode):
    """Copies what each operation makes, by the number of its node and its output.

    Torch copies a conjugate before an operation reads it; then this notes the copy.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[tuple[int, int], torch.Tensor] = {}
        self._next = self.first = torch.autograd._get_sequence_nr()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        number, first = torch.autograd._get_sequence_nr() - 1, self._next
        self._next = number + 1
        if number >= first and torch.is_grad_enabled():
            several = result if isinstance(result, (tuple, list)) else (result,)
            for nr, tensor in enumerate(several):
                if isinstance(tensor, torch.Tensor):
                    self.made[number - self.first, nr] = tensor.clone()
        return result


def _copied(case: Case) -> list[dict[int, torch.Tensor]]:
    """Return what each operation behind the outputs made, by output, in the order of the forward."""
    torch.manual_seed(0)
    model, copying = case.make(), Copying()
    given = copy.deepcopy(case.input)
    with copying:
        output = model(**given) if isinstance(given, dict) else model(given)
        output = output if case.loss_fn is None else case.loss_fn(output)
    roots = [each for each in torch.utils._pytree.tree_leaves(output) if _is_root(each)]
    numbers = [node._sequence_nr() - copying.first for node in operations_behind(roots)]
    return [{nr: made for (of, nr), made in copying.made.items() if of == at} for at in numbers]


def _is_root(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad and value.is_floating_point()


#: Here capture differentiates other outputs than the copy does, so that operations do not match.
OTHER_OUTPUTS = {
    "backward inside the forward",
    "dataclass with a loss",
    "Function differentiated twice",
    "gradient penalty",
    "jacrev",
    "mixed types",
    "second derivative",
    "torch.func.grad",
    "update differentiated through",
    "vmap of grad",
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [name for name in CASES if name not in OTHER_OUTPUTS])
def test_what_each_operation_makes(name: str) -> None:
    expected = _copied(CASES[name])
    torch.manual_seed(0)
    case = CASES[name]
    graph = capture(case.make(), copy.deepcopy(case.input), loss_fn=case.loss_fn, values=True)
    rows = [
        (int(row), len(node.slots))
        for node, row in zip(graph.nodes, graph.graph.slot_offsets)
        if node.kind == "operation" and node.requires_grad and node.order == 1
    ]
    assert len(rows) == len(expected)
    for (row, slots), of_node in zip(rows, expected):
        for nr, made in of_node.items():
            if nr < slots and made.layout == torch.strided and not made.is_meta:
                assert_same(graph.view(row + nr).value_statistics, made)


def test_leaves_inputs_and_constants() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 40)
            self.frozen = nn.Parameter(torch.randn(40), requires_grad=False)
            self.register_buffer("shift", torch.arange(40.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                scale = torch.tanh(self.shift) * 3
            return (self.lin(x) * scale + self.frozen).square().mean()

    net, x = Net(), torch.randn(20, 3)
    graph = capture(net, x, values=True)
    for name, tensor in (
        *(("lin.weight", net.lin.weight), ("lin.bias", net.lin.bias), ("frozen", net.frozen)),
        *(("shift", net.shift), ("x", x), ("scale", torch.tanh(net.shift) * 3)),
        ("output", net(x)),
    ):
        assert_same(graph[name].value_statistics, tensor)


def test_tensors_of_the_users_own_forward() -> None:
    x = torch.randn(5, 5, requires_grad=True)
    y = (x * 2).sum()
    graph = capture(y, values=True)
    assert_same(graph["x"].value_statistics, x)
    assert_same(graph["y"].value_statistics, y)
    assert capture(y)["x"].value_statistics is None


def test_they_are_written_beside_the_gradients(tmp_path: Any) -> None:
    net = nn.Linear(3, 2)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        graph = writer.add_grad_graph(net, torch.ones(4, 3), 7, values=True)
    run = read_one_run(tmp_path)
    (record,) = run.forwards
    assert (record.step, record.stage, len(run.records)) == (7, "forward", 1)
    row = int(graph.graph.slot_offsets[[node.name for node in graph.nodes].index("weight")])
    assert_same(record.table.row(row), net.weight)


@pytest.mark.parametrize("level", ["module", "param"])
def test_levels_read_what_they_name(level: str) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
    graph = capture(net, torch.randn(5, 3), level=level, values=True)
    has = {view.name for view in graph if view.value_statistics is not None}
    weights = {name for name, _ in net.named_parameters()} | {"output", "input"}
    outputs = {"0/addmm", "1/gelu", "2/addmm"} if level == "module" else set()
    assert has - weights == outputs and weights - {"input"} <= has


@pytest.mark.parametrize(("level", "reads"), [("param", True), ("module", False), ("op", False)])
def test_values_are_read_by_default_where_they_cost_little(level: str, reads: bool) -> None:
    graph = capture(nn.Linear(3, 4), torch.randn(5, 3), level=level)
    assert (graph["weight"].value_statistics is not None) == reads


def test_a_product_with_a_conjugate_is_not_the_copy_of_the_conjugate() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c = nn.Parameter(torch.tensor([1 + 2j, 3 - 1j]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (self.c * self.c.conj()).real.sum() + (self.c.conj().clone() * x).abs().sum()

    graph = capture(Net(), torch.tensor([2.0, 3.0]), values=True)
    values = {node.operation: view.value for node, view in zip(graph.nodes, graph) if node.slots}
    assert graph["mul"].value is not None and values["CloneBackward0"] is not None
    assert graph["mul"].value.tolist() == [5, 10]
    assert values["CloneBackward0"].tolist() == [1 - 2j, 3 + 1j]
