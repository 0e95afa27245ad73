"""Take one private part of torch away after the other, each in a fork, and use the package without.

Prints, as JSON by the name of the part, what was said and what was recorded.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import tempfile
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.tensorboard

from tb_gradgraph.commands import doctor_torch

RENAMED = "renamed_in_a_later_torch"
Function = types.FunctionType


def main() -> None:
    """Fork for each part; this process has imported torch once for all."""
    import torch._dynamo  # an optimizer would load it in every fork  # noqa: F401

    answers = {}
    for name, take_away in TAKE_AWAY.items():
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            with os.fdopen(writer, "w") as pipe:
                pipe.write(json.dumps(_use(take_away)))
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        answers[name] = json.loads(text or "null")
    print(json.dumps(answers))


def _use(take_away: Callable[[], Any]) -> dict[str, Any]:
    put_back = take_away() or (lambda: None)
    said: dict[str, Any] = {"import": _attempt(_import)}
    put_back()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said |= {name: _attempt(use) for name, use in USES.items()}
    said["warnings"] = [str(w.message) for w in caught if "lacks" in str(w.message)]
    said["doctor"] = [(found.state, found.text) for found in doctor_torch.examine_torch()]
    return said


def _import() -> str:
    import tb_gradgraph.api.writer  # noqa: F401

    return "right"


def _attempt(use: Callable[[], Any]) -> Any:
    try:
        return use()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _make() -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)), torch.ones(4, 2)


def _expected() -> list[float]:
    net, x = _make()
    net(x).square().mean().backward()
    return [float(parameter.grad.norm()) for parameter in net.parameters()]


def _compare(norms: list[float | None]) -> str:
    pairs = zip(norms, _expected())
    if len(norms) == 4 and all(a is not None and abs(a - b) <= 1e-6 * b for a, b in pairs):
        return "right"
    return f"{norms}"


def _capture_model() -> str:
    import tb_gradgraph

    net, x = _make()
    graph = tb_gradgraph.capture(net, x, loss_fn=lambda y: y.square().mean())
    found = [graph[name].statistics for name, _ in net.named_parameters()]
    return _compare([None if one is None else one.l2_norm for one in found])


def _capture_tensors() -> str:
    import tb_gradgraph

    net, x = _make()
    loss = net(x).square().mean()
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    leaves = {view.shape: view.statistics for view in graph if view.is_leaf}
    found = [leaves.get(tuple(parameter.shape)) for parameter in net.parameters()]
    return _compare([None if one is None else one.l2_norm for one in found])


def _watch() -> str:
    import tb_gradgraph
    from tb_gradgraph.record.read.read_logdir import read_logdir

    net, x = _make()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    folder = tempfile.mkdtemp()
    with tb_gradgraph.SummaryWriter(folder) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        net(x).square().mean().backward()
        assert [float(p.grad.norm()) for p in net.parameters()] == _expected()
        optimizer.step()
    (run,) = read_logdir(folder)
    first = next(record for record in run.records if record.stage == "backward")
    graph = run.graphs[first.graph_hash]
    rows = {}
    row = 0
    for node in graph.nodes:
        if node.kind == "parameter":
            rows[node.name] = row
        row += len(node.slots)
    norms = [rows.get(name) for name, _ in net.named_parameters()]
    column = first.table.values[:, 0]
    return _compare([None if place is None else float(column[place]) for place in norms])


USES = {"model": _capture_model, "tensors": _capture_tensors, "watch": _watch}


def _delete(owner: Any, name: str) -> Callable[[], None]:
    return lambda: delattr(owner, name)


def _delete_of_type(kind: type, name: str) -> None:
    if not hasattr(kind, name):  # of an older torch
        return
    gc.get_referents(kind.__dict__)[0].pop(name)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _delete_of_nodes(name: str) -> Callable[[], None]:
    def take_away() -> None:
        kinds = [kind for kind in vars(torch._C._functions).values() if isinstance(kind, type)]
        for kind in (torch._C._FunctionBase, *kinds):
            if name in kind.__dict__:
                _delete_of_type(kind, name)

    return take_away


def _hide_module(name: str) -> Callable[[], Callable[[], None]]:
    """Have a module of torch lack everything while the package is imported."""

    def take_away() -> Callable[[], None]:
        owner, _, attribute = name.rpartition(".")
        there, empty = sys.modules[name], types.ModuleType(name)
        sys.modules[name] = empty
        setattr(sys.modules[owner], attribute, empty)

        def put_back() -> None:
            sys.modules[name] = there
            setattr(sys.modules[owner], attribute, there)

        return put_back

    return take_away


def _rename_call_impl() -> None:
    torch.nn.Module.__call__ = torch.nn.Module._call_impl
    del torch.nn.Module._call_impl


def _rename_global(owner: types.ModuleType, name: str) -> Callable[[], None]:
    """Have torch itself know one of its globals by another name."""

    def take_away() -> None:
        setattr(owner, RENAMED, vars(owner).pop(name))
        values = [value for value in vars(owner).values() if isinstance(value, (type, Function))]
        methods = [
            part for value in values if isinstance(value, type) for part in vars(value).values()
        ]
        for function in (*values, *methods):
            if isinstance(function, Function) and function.__globals__ is vars(owner):
                function.__code__ = _renaming(function.__code__, name)

    return take_away


def _renaming(code: types.CodeType, name: str) -> types.CodeType:
    return code.replace(
        co_names=tuple(RENAMED if known == name else known for known in code.co_names),
        co_consts=tuple(
            _renaming(part, name) if isinstance(part, types.CodeType) else part
            for part in code.co_consts
        ),
    )


def _without_queue() -> None:
    engine = torch.autograd.Variable._execution_engine
    names = [name for name in dir(engine) if name[0] != "_" and name != "queue_callback"]
    parts = {name: getattr(engine, name) for name in names}
    torch.autograd.Variable._execution_engine = types.SimpleNamespace(**parts)


TAKE_AWAY: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "a file of ours": lambda: sys.modules.update(
        {"tb_gradgraph.autograd.torch_internals.walk": None}
    ),
    "_get_sequence_nr": _delete(torch.autograd, "_get_sequence_nr"),
    "_sequence_nr": _delete_of_nodes("_sequence_nr"),
    "_current_graph_task_id": _delete(torch._C, "_current_graph_task_id"),
    "queue_callback": _without_queue,
    "_input_metadata": _delete_of_nodes("_input_metadata"),
    "_raw_saved_other": _delete_of_nodes("_raw_saved_other"),
    "unpack_hook": lambda: _delete_of_type(torch._C._autograd.SavedTensor, "unpack_hook"),
    "TorchDispatchMode": lambda: delattr(torch.utils._python_dispatch, "TorchDispatchMode"),
    "DisableTorchFunction": _delete(torch._C, "DisableTorchFunction"),
    "_DisableAutocast": _delete(torch._C, "_DisableAutocast"),
    "_DisableTorchDispatch": _delete(torch._C, "_DisableTorchDispatch"),
    "_get_current_function_mode_stack": _delete(
        torch.overrides, "_get_current_function_mode_stack"
    ),
    "_pytree": _hide_module("torch.utils._pytree"),
    "_engine_run_backward": _rename_global(torch.autograd, "_engine_run_backward"),
    "_call_impl": _rename_call_impl,
    "is_batchedtensor": lambda: delattr(torch._C._functorch, "is_batchedtensor"),
    "_saved_alpha": _delete_of_nodes("_saved_alpha"),
    "_global_forward_hooks_with_kwargs": _rename_global(
        torch.nn.modules.module, "_global_forward_hooks_with_kwargs"
    ),
    "_get_total_norm": _rename_global(torch.nn.utils.clip_grad, "_get_total_norm"),
    "__dlpack_c_exchange_api__": lambda: _delete_of_type(torch.Tensor, "__dlpack_c_exchange_api__"),
}

if __name__ == "__main__":
    main()
