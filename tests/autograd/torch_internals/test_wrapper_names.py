"""Who stands before a model is not in its names: keys join with those of the run without."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Callable

import pytest
import torch
from lightning.fabric.wrappers import _FabricModule
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    checkpoint_wrapper,
    offload_wrapper,
)
from torch.optim.swa_utils import AveragedModel

import tb_gradgraph
from tb_gradgraph.autograd.torch_internals.tensor_classes import unwrapped
from tests.logged import read_one_run


class Owner(nn.Module):
    """Has a submodule of its own that is called as wrappers call theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.module = nn.Linear(4, 4)
        self.block = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.block(self.module(x))


class GradSampleModule(nn.Module):
    """As opacus' is."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._module(x)


def _with_wrapped_block(wrap: Callable[[nn.Module], nn.Module]) -> Callable[[nn.Module], nn.Module]:
    def wrapped(net: nn.Module) -> nn.Module:
        net.block = wrap(net.block)
        return net

    return wrapped


class Strategy:
    """As much of Lightning's as a _FabricModule needs."""

    class precision:  # noqa: N801
        convert_input = convert_output = staticmethod(lambda value: value)

        @staticmethod
        def forward_context():
            return torch.enable_grad()


WRAPPERS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "DataParallel": nn.DataParallel,
    "twice": lambda net: nn.DataParallel(GradSampleModule(net)),
    "opacus": GradSampleModule,
    "Fabric": lambda net: _FabricModule(nn.DataParallel(net), Strategy(), original_module=net),
    "a checkpoint": _with_wrapped_block(checkpoint_wrapper),
    "offloading": _with_wrapped_block(offload_wrapper),
    "a part": _with_wrapped_block(nn.DataParallel),
}


def _names(net: nn.Module, logdir: pathlib.Path) -> tuple[object, ...]:
    """Watch one step; give tag, parameters and calls of modules."""
    with tb_gradgraph.SummaryWriter(str(logdir)) as writer:
        writer.watch(net, every_n_steps=1, level="op")
        net(torch.ones(3, 4)).square().sum().backward()
    run = read_one_run(logdir)
    (graph,), (record,) = run.graphs.values(), run.records
    parameters = [node.key for node in graph.nodes if node.kind == "parameter"]
    return record.tag, parameters, [(scope.path, scope.module) for scope in graph.scopes]


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=list(WRAPPERS))
def test_names_are_those_without(wrap: Callable[[nn.Module], nn.Module], tmp_path: pathlib.Path):
    torch.manual_seed(0)
    expected = _names(Owner(), tmp_path / "plain")
    assert ("module", "Linear") in expected[2] and "parameter:module.weight" in expected[1]
    assert _names(wrap(Owner()), tmp_path / "wrapped") == expected


def _loss(output: torch.Tensor) -> torch.Tensor:
    return output.square().sum() + output.exp().sum()


def test_a_capture_names_inputs_and_selects_modules_through_wrappers():
    net = Owner()
    wrapped = nn.DataParallel(net)
    for part in (net.block, net):
        graph = tb_gradgraph.capture(wrapped, torch.ones(3, 4), loss_fn=_loss, select=[part])
        assert graph["block.0.weight"].statistics is not None
    assert graph["x"].node.kind == "input" and graph.tag == "Owner"
    loss = wrapped(torch.ones(3, 4)).sum()
    assert "wrapped.module.weight" in tb_gradgraph.capture(loss)


def test_what_is_a_model_of_its_own_keeps_its_names():
    averaged = AveragedModel(Owner())
    graph = tb_gradgraph.capture(averaged, torch.ones(3, 4), loss_fn=_loss)
    assert graph.tag == "AveragedModel" and "module.module.weight" in graph
    assert unwrapped(averaged) is averaged


#: How the code would tell a wrapper from others, and reach what is within.
OF_WRAPPERS = {
    *("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule"),
    *("DeepSpeedEngine", "PipelineEngine", "DTensor", "AcceleratedOptimizer"),
    *("_orig_mod", "_fsdp_wrapped_module", "_local_tensor", "to_local", "original_optimizer"),
}


def test_wrappers_are_known_to_one_file() -> None:
    package = pathlib.Path(tb_gradgraph.__file__).parent
    named: dict[str, set[str]] = {}
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = {getattr(node, field, None) for field in ("attr", "id", "value")}
            if found := {name for name in names if isinstance(name, str)} & OF_WRAPPERS:
                named.setdefault(path.name, set()).update(found)
    assert named.keys() == {"tensor_classes.py"}, named
    assert {"DistributedDataParallel", "to_local", "_orig_mod"} <= named["tensor_classes.py"]
