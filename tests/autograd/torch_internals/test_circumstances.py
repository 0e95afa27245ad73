"""Where nothing of ours can run: a sentence says so. Devices that are not here are stood in for, as said."""

from __future__ import annotations

import pathlib
import runpy
import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

import pytest
import setuptools
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.autograd.model_run.preserve import device_random_state
from tb_gradgraph.autograd.torch_internals import circumstances
from tb_gradgraph.summarize.arithmetic import elements
from tests.training.loops import small_net
from tests.training.unseen.test_nothing_left_behind import state_of_process

X = torch.ones(2, 3)


def _within_jit_trace(call: Callable[[], Any]) -> None:
    torch.jit.trace(lambda x: (call(), x)[1], X, check_trace=False)


def _within_vmap(call: Callable[[], Any]) -> None:
    torch.vmap(lambda x: (call(), x)[1])(X)


def _within_grad(call: Callable[[], Any]) -> None:
    torch.func.grad(lambda x: (call(), x.sum())[1])(X)


@pytest.mark.parametrize(
    ("within", "message"),
    [
        (_within_jit_trace, "torch.jit.trace traces"),
        (_within_vmap, "a transform of torch.func"),
        (_within_grad, "a transform of torch.func"),
    ],
)
def test_a_capture_is_refused_with_a_sentence(within: Callable[..., None], message: str) -> None:
    net = small_net()
    with pytest.raises(tb_gradgraph.CaptureError, match=f"capture.*{message}.*before or after"):
        within(lambda: tb_gradgraph.capture(net, X))
    assert len(tb_gradgraph.capture(net, X)) > 0


class _Device(types.ModuleType):
    """Stands for ``torch.cuda`` of a machine that has one: what is asked of it, and its answers."""

    def __init__(self, captures: bool, fails: bool = False) -> None:
        super().__init__("torch.xpu")
        self.captures, self.fails, self.state = captures, fails, torch.zeros(1)

    def is_initialized(self) -> bool:
        return True

    def is_current_stream_capturing(self) -> bool:
        if self.fails:
            raise RuntimeError("no such device")
        return self.captures

    def get_rng_state(self, device: int = 0) -> torch.Tensor:
        return self.state.clone()

    def set_rng_state(self, state: torch.Tensor, device: int = 0) -> None:
        self.state = state


def test_while_a_graph_of_the_device_is_captured_nothing_is_read(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = _Device(captures=True)
    monkeypatch.setitem(sys.modules, "torch.xpu", device)
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    before = state_of_process(net, optimizer)
    with pytest.raises(tb_gradgraph.CaptureError, match="a device graph .torch.cuda.gra"):
        tb_gradgraph.capture(net, X)
    writer = tb_gradgraph.SummaryWriter(str(tmp_path))
    watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
    net(X).sum().backward()
    optimizer.step()
    assert watch.step == 0 and watch.failure is None
    with pytest.warns(UserWarning, match="was captured into a device graph"):
        writer.close()
    assert state_of_process(net, optimizer) == before
    device.captures = False
    assert len(tb_gradgraph.capture(net, X)) > 0


def test_a_device_that_is_not_in_use_or_not_there_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch.xpu", _Device(captures=True, fails=True))
    assert not circumstances.is_capturing()
    unused = _Device(captures=True)
    monkeypatch.setattr(unused, "is_initialized", lambda: False)
    monkeypatch.setitem(sys.modules, "torch.xpu", unused)
    assert not circumstances.is_capturing()


def test_float64_is_tried_where_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """With stand-ins for the devices: only whether an operation in float64 raises is asked."""
    elements._computes_wide.cache_clear()
    tried = []

    def ones(*_: Any, dtype: torch.dtype, device: str) -> torch.Tensor:
        tried.append((device, dtype))
        if device == "mps":
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        return torch.zeros(1)

    monkeypatch.setattr(elements.torch, "ones", ones)
    kinds = {kind: elements.wide_dtype(torch.device(kind)) for kind in ("cpu", "mps", "hpu", "mps")}
    assert kinds == {"cpu": torch.float64, "mps": torch.float32, "hpu": torch.float64}
    assert tried == [("mps", torch.float64), ("hpu", torch.float64)]
    elements._computes_wide.cache_clear()


def test_the_random_state_of_every_device_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins: one whose state is by index, as CUDA's; one that has a single state, as Apple's."""
    by_index, single = _Device(False), _Device(False)
    monkeypatch.setattr(single, "get_rng_state", lambda: single.state.clone())
    monkeypatch.setattr(single, "set_rng_state", lambda state: setattr(single, "state", state))
    monkeypatch.setattr(torch, "xpu", by_index)
    monkeypatch.setattr(torch, "mps", single)
    devices = [torch.device("cpu"), torch.device("xpu", 0), torch.device("mps", 0)]
    with device_random_state([*devices, torch.device("meta")]):
        by_index.state, single.state = torch.ones(1), torch.ones(1)
    assert by_index.state.item() == single.state.item() == 0


def test_without_the_global_lock_the_compiled_code_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stand-in for a Python without it: what it says of itself is all that is asked."""
    import importlib

    from tb_gradgraph.summarize import native

    was = native._native
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    source = pathlib.Path(native.__file__).read_text(encoding="utf-8")
    copy = types.ModuleType("tb_gradgraph.summarize.native_without_lock")
    monkeypatch.setitem(sys.modules, copy.__name__, copy)
    exec(compile(source, native.__file__, "exec"), vars(copy))  # noqa: S102  our own, once more
    assert vars(copy)["_native"] is None and not copy.is_available()
    assert native._native is was and importlib.util.find_spec("tb_gradgraph.summarize.native")


@pytest.mark.parametrize("has_lock", [True, False])
def test_without_the_global_lock_nothing_is_compiled(
    has_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What setup.py asks for, where its Python says that it was built with the lock or without."""
    asked: dict[str, Any] = {}
    own = sysconfig.get_config_var
    monkeypatch.setattr(setuptools, "setup", lambda **arguments: asked.update(arguments))
    monkeypatch.setattr(
        sysconfig, "get_config_var",
        lambda name: int(not has_lock) if name == "Py_GIL_DISABLED" else own(name),
    )  # fmt: skip
    runpy.run_path(str(pathlib.Path(__file__).parents[3] / "setup.py"))
    assert len(asked["ext_modules"]) == has_lock and bool(asked["options"]) == has_lock


def test_tensors_without_values_are_refused() -> None:
    with pytest.raises(tb_gradgraph.CaptureError, match="meta device"):
        tb_gradgraph.capture(nn.Linear(2, 1, device="meta"), torch.ones(1, 2, device="meta"))
