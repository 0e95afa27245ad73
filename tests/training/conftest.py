"""What holds for every test of a watch: nothing of ours is left in the process."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import torch
from torch.nn.modules import module as torch_module
from torch.optim.optimizer import _global_optimizer_post_hooks
from torch.utils._python_dispatch import (
    _get_current_dispatch_mode_stack,
    is_in_torch_dispatch_mode,
)

from tb_gradgraph.autograd.gradients import threads


@pytest.fixture(autouse=True)
def nothing_is_left_in_the_process() -> Iterator[None]:
    """Compare what a watch may replace or add to, before and after each test."""
    before = _process()
    yield
    assert _process() == before


def _process() -> object:
    tables = [
        len(table)
        for name, table in vars(torch_module).items()
        if name.startswith("_global_") and isinstance(table, dict)
    ]
    return (
        tables,
        len(_global_optimizer_post_hooks),
        _get_current_dispatch_mode_stack(),
        is_in_torch_dispatch_mode(),
        torch.autograd._engine_run_backward,
        torch.amp.GradScaler.step,
        torch.Tensor.register_hook,
        torch.compile,
        torch.export.export,
        _is_compiler_heard(),
        len(threads._read),  # passes that are looked after
    )


def _is_compiler_heard() -> bool:
    """Return whether a function of torch's compiler is replaced; it may be loaded in the test."""
    compiler = sys.modules.get("torch._dynamo.eval_frame")
    if compiler is None:
        return False
    replaced = (
        getattr(compiler, "set_eval_frame", None),  # from torch 2.7 on
        compiler._maybe_set_eval_frame,
        compiler.OptimizedModule.__call__,
    )
    return any(hasattr(function, "__wrapped__") for function in replaced)
