"""Every private part of torch that the room stands on is there and does what is taken for granted.

A torch that changes one of them fails here first, by name.
"""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
import pathlib
from typing import Any

import pytest
import torch
from packaging.version import parse
from torch import nn
from torch.nn.modules import module as torch_module

from tb_gradgraph.autograd.torch_internals import engine
from tb_gradgraph.autograd.user_code.anomaly_lines import AnomalyLines, forget_stacks, line_of
from tests.autograd.models import Doubled


def _node() -> torch.autograd.graph.Node:
    return (torch.ones(2, requires_grad=True) * torch.ones(2)).grad_fn


def _hardtanh() -> Any:
    return torch.nn.functional.hardtanh(torch.ones(1, requires_grad=True)).grad_fn


def _softmax() -> Any:
    return torch.softmax(torch.ones(1, requires_grad=True), 0).grad_fn


#: Every private name that engine.py asks torch for, where it is, and what stands on it.
PRIVATE = {
    "_is_view": (lambda: torch.ones(1), "what a tensor is a view of"),
    "_base": (lambda: torch.ones(1), "what a tensor is a view of"),
    "_get_sequence_nr": (lambda: torch.autograd, "scopes, lines, names, orders"),
    "_sequence_nr": (_node, "scopes, lines, names, orders"),
    "_current_graph_task_id": (lambda: torch._C, "keeping backward passes apart"),
    "_execution_engine": (lambda: torch.autograd.Variable, "the end of a backward pass"),
    "_input_metadata": (_node, "shapes and types of slots"),
    "_forward_cls": (lambda: Doubled.apply(torch.ones(1, requires_grad=True)).grad_fn,
                     "names of custom Functions"),
    "_raw_saved_other": (_node, "inputs without gradient of a loss"),
    "_saved_other": (_node, "inputs without gradient of a loss"),
    "_saved_min_val": (_hardtanh, "values: how much of a hardtanh is saturated"),
    "_saved_max_val": (_hardtanh, "values: how much of a hardtanh is saturated"),
    "_saved_dim": (_softmax, "values: the entropy of a softmax"),
    "_functorch": (lambda: torch._C, "watch: passes within vmap, which are left out"),
    "_global_forward_hooks_with_kwargs": (lambda: torch_module, "scopes without numbers"),
    "_get_current_function_mode_stack": (lambda: torch.overrides, "watch: values of operations"),
    "_pop_mode": (lambda: torch.overrides, "watch: values of operations"),
    "_push_mode": (lambda: torch.overrides, "watch: values of operations"),
    "_DisableTorchDispatch": (lambda: torch._C, "watch: values, unseen by dispatch modes"),
    "_DisableAutocast": (lambda: torch._C, "watch: values, whatever autocast is on"),
}  # fmt: skip
#: And those that other files ask for, each once.
ELSEWHERE = {
    "_engine_run_backward": (lambda: torch.autograd, "watch: where a backward begins"),
    "_saved_alpha": (lambda: (torch.ones(2, requires_grad=True) + torch.ones(2)).grad_fn,
                     "watch: additions that pass a gradient on as it is"),
    "_register_hook_dict": (_node, "watch: hooks that are put on slots fast"),
    "_top_saved_tensors_default_hooks": (lambda: torch._C._autograd, "watch: what hooks packed"),
    "_schema": (lambda: torch.ops.aten.sort.default, "inputs without gradient: results are none"),
    "_call_impl": (lambda: nn.Module, "watch: gradients that a forward asks for"),
    "_get_total_norm": (lambda: torch.nn.utils.clip_grad, "watch: norms of gradients"),
    "_get_fsdp_state": (lambda: importlib.import_module("torch.distributed.fsdp").FSDPModule,
                        "watch: parameters of fully_shard"),
    "_is_functional_tensor": (lambda: torch, "tensors without memory are not read"),
    "_is_zerotensor": (lambda: torch.ones(1), "tensors without memory are not read"),
}  # fmt: skip


#: What an older torch lacks, and why nothing is lost by it there.
LATER = {
    "_top_saved_tensors_default_hooks": ((2, 9), "inputs without gradient are not drawn anyway"),
}


@pytest.mark.parametrize("name", {**PRIVATE, **ELSEWHERE})
def test_torch_has(name: str) -> None:
    owner, used_for = {**PRIVATE, **ELSEWHERE}[name]
    if name in LATER and parse(torch.__version__).release < LATER[name][0]:
        pytest.skip(LATER[name][1])
    assert hasattr(owner(), name), f"torch {torch.__version__} took {name} away: {used_for}"


def test_every_private_name_in_engine_is_listed() -> None:
    source = ast.parse(pathlib.Path(engine.__file__).read_text(encoding="utf-8"))
    called = {node.attr for node in ast.walk(source) if isinstance(node, ast.Attribute)}
    texts = {node.value for node in ast.walk(source) if isinstance(node, ast.Constant)}
    names = {text for text in called | texts if isinstance(text, str) and text.startswith("_")}
    prefixes = {"_raw_saved_", "_saved_"}
    plain = {name for name in names if not name.startswith(("__", *prefixes))}
    assert plain - {
        "_C",
        "_autograd",
    } == {name for name in PRIVATE if not name.startswith(tuple(prefixes))}
    assert prefixes <= names


def test_every_way_into_a_backward_goes_through_one_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[object] = []
    run = torch.autograd._engine_run_backward

    def counted(*args: object, **kwargs: object) -> object:
        calls.append(args)
        return run(*args, **kwargs)

    monkeypatch.setattr(torch.autograd, "_engine_run_backward", counted)
    w = torch.ones(1, requires_grad=True)
    (w * 2).backward()
    torch.autograd.backward([w * 2])
    torch.autograd.grad(w * 2, w)
    assert len(calls) == 3


def test_additions_say_what_they_multiply_by() -> None:
    w = torch.ones(1, requires_grad=True)
    assert (w + w).grad_fn._saved_alpha == 1
    assert torch.add(w, w, alpha=3).grad_fn._saved_alpha == 3


def test_a_global_hook_with_keywords_goes_without_a_trace() -> None:
    def hook(*_given: object) -> None:
        pass

    before = dict(torch_module._global_forward_hooks_with_kwargs)
    handle = torch_module.register_module_forward_hook(hook, with_kwargs=True)
    assert torch_module._global_forward_hooks_with_kwargs.keys() - before.keys() == {handle.id}
    engine.remove_keyword_hook(handle)
    assert torch_module._global_forward_hooks_with_kwargs == before


def test_sequence_numbers_count_nodes_of_this_thread() -> None:
    w = torch.ones(2, requires_grad=True)
    number = engine.next_sequence_nr()
    y = w * 2
    assert engine.sequence_nr(y.grad_fn) == number
    assert engine.next_sequence_nr() == number + 1
    leaf = torch.autograd.graph.get_gradient_edge(w).node
    assert engine.sequence_nr(leaf) > 2**63, "a leaf comes after everything"


def test_graph_tasks_and_their_end() -> None:
    w = torch.ones(1, requires_grad=True)
    seen: list[object] = []
    assert engine.current_graph_task() == -1

    def hook(_gradient: torch.Tensor) -> None:
        seen.append(engine.current_graph_task())
        engine.call_after_backward(lambda: seen.append("end"))

    y = w * 2
    y.register_hook(hook)
    y.backward()
    assert seen[1:] == ["end"] and isinstance(seen[0], int) and seen[0] >= 0
    assert engine.current_graph_task() == -1


def test_a_backward_that_raises_lets_go_of_its_callbacks() -> None:
    class Callback:
        def __call__(self) -> None:
            raise AssertionError("not to be called")

        def __del__(self) -> None:
            gone.append(True)

    gone: list[bool] = []

    def hook(_gradient: torch.Tensor) -> None:
        engine.call_after_backward(Callback())
        raise ZeroDivisionError

    y = torch.ones(1, requires_grad=True) * 2
    y.register_hook(hook)
    gc.disable()
    try:
        with pytest.raises(ZeroDivisionError):
            y.backward()
        assert gone == [True]
    finally:
        gc.enable()


def test_names_leaves_metadata_and_classes_of_nodes() -> None:
    w = torch.ones(2, 3, requires_grad=True)
    parts = w.unbind(1)
    node = parts[0].grad_fn
    assert engine.node_name(node) == "UnbindBackward0"
    assert engine.input_metadata(node) == (((2,), "float32"),) * 3
    assert engine.accumulated_leaf(node) is None
    assert engine.accumulated_leaf(node.next_functions[0][0]) is w
    assert engine.custom_function(node) is None
    assert engine.custom_function(Doubled.apply(w).grad_fn) is Doubled


def test_saved_tensors_are_read_unless_packed_or_freed() -> None:
    w, x = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    y = w * x
    names = ("self", "other")
    expected = [("other", [3.0, 3.0])] if engine.TELLS_PACKED else []  # before torch 2.9 none
    found = [(name, t.tolist()) for name, t in engine.saved_tensors(y.grad_fn, names)]
    assert found == expected
    assert list(engine.saved_tensors(y.grad_fn, ("self",))) == []
    y.sum().backward()
    assert list(engine.saved_tensors(y.grad_fn, names)) == []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        packed = w * x
    assert list(engine.saved_tensors(packed.grad_fn, names)) == []


def test_saved_lists_of_tensors_are_read() -> None:
    w, places = torch.ones(3, requires_grad=True), torch.tensor([2, 0])
    found = list(engine.saved_tensors(w[places].grad_fn, ("indices",)))
    assert len(found) == engine.TELLS_PACKED  # from torch 2.9 on
    assert all(name == "indices" and tensor is places for name, tensor in found)


def test_what_a_view_is_of() -> None:
    base = torch.ones(4)
    assert engine.viewed(base[1:]) is base and engine.viewed(base) is base


def test_nobody_hears_that_a_tensor_is_looked_at() -> None:
    class Heard(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            heard.append(func)
            return func(*args, **(kwargs or {}))

    heard: list[Any] = []
    with Heard():
        with engine.functions_not_overridden():
            assert torch.ones(1).grad_fn is None
        assert not heard
        torch.ones(1)
    assert heard


def test_anomaly_mode_keeps_the_stack_of_a_node() -> None:
    w = torch.ones(1, requires_grad=True)
    notes = AnomalyLines()
    notes.begin()
    made = w * 2
    notes.end()
    line = inspect.currentframe().f_lineno - 2
    assert line_of(made.grad_fn).endswith(
        f"test_engine.py:{line} in {inspect.currentframe().f_code.co_name}"
    )
    forget_stacks([made.grad_fn])
    assert line_of(made.grad_fn) == line_of((w * 2).grad_fn) == ""


def test_memory_is_known_by_views_and_not_given_away() -> None:
    x = torch.ones(4)
    reference = engine.storage_ref(x)
    assert reference is not None
    assert engine.storage_ref(x[1:]).cdata == reference.cdata
    assert engine.storage_ref(torch.ones(4)).cdata != reference.cdata
    del x
    taken = {engine.storage_ref(torch.ones(4)).cdata for _ in range(100)}
    assert reference.cdata not in taken, "as long as the reference is held"
    assert engine.storage_ref(torch.eye(2).to_sparse()) is None


def test_post_accumulate_hooks_are_in_a_table_that_can_be_emptied() -> None:
    w = torch.ones(1, requires_grad=True)
    fired: list[torch.Tensor] = []
    w.register_post_accumulate_grad_hook(fired.append)
    kept = dict(w._post_accumulate_grad_hooks)
    w._post_accumulate_grad_hooks.clear()
    (w * 2).backward()
    assert not fired
    w._post_accumulate_grad_hooks.update(kept)
    (w * 2).backward()
    assert len(fired) == 1
