"""Where a torch has taken private parts away: the same graph, scopes and gradients without them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import warm
from tests.autograd.described import describe, numbers_of
from tests.autograd.expected import OTHERWISE, expected_slots
from tests.autograd.models import CASES

TAKE_AWAY = {
    "_get_sequence_nr": "del torch.autograd._get_sequence_nr",
    "_current_graph_task_id": "del torch._C._current_graph_task_id",
    "_sequence_nr": (
        "import ctypes, gc; base = torch._C._FunctionBase; "
        "gc.get_referents(base.__dict__)[0].pop('_sequence_nr'); "
        "ctypes.pythonapi.PyType_Modified(ctypes.py_object(base))"
    ),
}

#: Torch's own checkpoint, and its hook on several tensors, ask for what was taken away.
TORCH_NEEDS_IT = {name for name in CASES if "checkpoint" in name and "reentrant" not in name}
TORCH_NEEDS_IT |= {"hooks in the forward"}
#: Tensors in a torch.func transform, and tangents of forward mode, tell no node: they count as
#: the caller's.
IN_TRANSFORM = {"vmap", "torch.func.grad", "vmap of grad", "jacrev", "forward mode"}
#: Autograd does not tell which leaves a reentrant checkpoint uses inside.
HIDDEN_LEAVES = {"reentrant checkpoint", "reentrant checkpoint with dropout"}


def run_without(parts: list[str], program: str) -> str:
    """Run a program in a process whose torch lacks ``parts``; give what it printed."""
    lines = ["import torch", *(TAKE_AWAY[part] for part in parts), program]
    finished = warm.run("-W", "ignore", "-c", "\n".join(lines), limit_s=240)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    return finished.stdout


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Every case as captured without numbers of nodes and of backward passes."""
    program = f"""
import json
from tb_gradgraph.autograd.torch_internals import engine
from tests.autograd.described import describe
from tests.autograd.models import CASES
assert not engine.HAS_NUMBERS
print(json.dumps({{name: describe(name) for name in {sorted(CASES.keys() - TORCH_NEEDS_IT)}}}))
"""
    return json.loads(run_without(["_get_sequence_nr", "_current_graph_task_id"], program))


@pytest.mark.parametrize("name", sorted(CASES.keys() - TORCH_NEEDS_IT - OTHERWISE))
def test_every_slot_has_the_gradient_that_autograd_gives(name: str, found: dict[str, Any]) -> None:
    expected = [[numbers_of(slot) for slot in slots] for slots in expected_slots(CASES[name])]
    operations = [slots for _, word, slots in found[name]["nodes"] if ":" not in word]
    assert sorted(map(str, operations)) == sorted(map(str, expected))


@pytest.mark.parametrize("name", sorted(CASES.keys() - TORCH_NEEDS_IT))
def test_graph_and_scopes_are_those_found_with_numbers(name: str, found: dict[str, Any]) -> None:
    expected, got = describe(name), found[name]
    if name in IN_TRANSFORM:
        expected, got = _without_places(expected), _without_places(got)
    assert got["nodes"] == expected["nodes"]
    if name not in HIDDEN_LEAVES:
        assert got["edges"] == expected["edges"]


@pytest.mark.parametrize("part", TAKE_AWAY)
def test_without_one_part_alone(part: str) -> None:
    program = """
import torch, tb_gradgraph
from tb_gradgraph.autograd.torch_internals import engine
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
graph = tb_gradgraph.capture(model, torch.ones(1, 2))
model(torch.ones(1, 2)).backward()
for name, parameter in model.named_parameters():
    assert graph[name].gradient.tolist() == parameter.grad.tolist()
    assert graph[name].scope.path == name.partition(".")[0]
print(engine.HAS_NUMBERS)
"""
    assert run_without([part], program).split() == [str(part == "_current_graph_task_id")]


@pytest.mark.parametrize(
    ("parts", "tests", "but"),
    [
        (["_current_graph_task_id"], ["test_passes.py", "test_tensors.py"], ""),
        # Orders are told by numbers.
        (["_get_sequence_nr"], ["test_passes.py"], "not double_backward"),
        pytest.param(
            *(["_get_sequence_nr"], ["test_nothing_left_behind.py"], ""), marks=pytest.mark.slow
        ),
    ],
)
def test_passes_and_traces_are_as_elsewhere(parts: list[str], tests: list[str], but: str) -> None:
    files = [f"tests/autograd/gradients/{name}" for name in tests]
    program = f"""
import pytest, sys
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-k", {but!r}, *{files}]))
"""
    assert " passed" in run_without(parts, program)


def _without_places(described: dict[str, Any]) -> dict[str, Any]:
    return {
        "nodes": sorted(([word, numbers] for _, word, numbers in described["nodes"]), key=str),
        "edges": sorted(([b, c, e, f] for _, b, c, _, e, f in described["edges"]), key=str),
    }
