"""The private parts of torch that the package uses, and what is lost without each.

The package can be imported without them. A warning at the first use says what is missing, and so
does ``tb-gradgraph doctor``. docs/how-it-works.md has the same table.
"""

from __future__ import annotations

import functools
from typing import Any, Literal, NamedTuple

import torch

from tb_gradgraph.autograd.torch_internals.compiled_regions import are_regions_heard
from tb_gradgraph.autograd.torch_internals.faults import warn_quietly
from tb_gradgraph.errors import CaptureError

#: "model": add_grad_graph or capture of a model; "tensors": the same of tensors; "watch": a training.
Use = Literal["model", "tensors", "watch"]


class Part(NamedTuple):
    """One private part of torch, or several that are useful only together."""

    names: tuple[str, ...]  # dotted, beginning with "torch"
    lost: str  # what is lost without it
    uses: tuple[Use, ...] = ("model", "tensors", "watch")  # which calls lose something
    stops: bool = False  # whether those calls cannot be made at all


_NODE = "torch._C._functions.MulBackward0"
PARTS = (
    Part(
        ("torch.autograd._get_sequence_nr", "torch.autograd.Function._sequence_nr"),
        "source lines, names of variables, orders, cuts and reasons for a missing gradient; "
        "modules under watch()",
    ),
    Part(
        ("torch._C._current_graph_task_id",),
        "a backward within another on the same thread counts as part of it",
    ),
    Part(
        ("torch.autograd.Variable._execution_engine.queue_callback",),
        "gradients of add_grad_graph(loss) and capture(loss)",
        ("tensors",),
    ),
    Part(
        ("torch.autograd.Function._input_metadata",),
        "shapes and types of gradients, without which nothing is recorded",
        stops=True,
    ),
    Part(
        (f"{_NODE}._raw_saved_other", f"{_NODE}._saved_other"),
        "inputs without gradient of add_grad_graph(loss) and watch()",
        ("tensors", "watch"),
    ),
    Part(
        ("torch._C._autograd.SavedTensor.unpack_hook",),
        "inputs without gradient of add_grad_graph(loss) and watch()",
        ("tensors", "watch"),
    ),
    Part(
        ("torch.utils._python_dispatch.TorchDispatchMode",),
        "what numbers of nodes are for: source lines, names of variables, orders, cuts and reasons "
        "for a missing gradient; modules under watch()",
    ),
    Part(
        ("torch.autograd._engine_run_backward",),
        "where a backward begins, without which watch() records nothing",
        ("watch",),
        stops=True,
    ),
    Part(
        ("torch.nn.Module._call_impl",),
        "gradients that a forward asks for to compute with them count as passes of their own",
        ("watch",),
    ),
    Part(
        ("torch._C._functorch.is_batchedtensor", "torch._C._functorch.is_legacy_batchedtensor"),
        "backwards within vmap are not left out, and end the recording",
        ("watch",),
    ),
    Part(
        ("torch._C.DisableTorchFunction",),
        "your function modes and tensor subclasses notice that we look at a tensor",
        ("watch",),
    ),
    Part(
        (
            "torch.overrides._get_current_function_mode_stack",
            "torch.overrides._pop_mode",
            "torch.overrides._push_mode",
        ),
        "values of operations inside modules",
        ("watch",),
    ),
    Part(
        ("torch._C._DisableTorchDispatch", "torch._C._DisableAutocast"),
        "your dispatch modes and autocast notice that values are read where there is no compiled code",
        ("watch",),
    ),
    Part(
        ("torch.nn.modules.module._global_forward_hooks_with_kwargs",),
        "an entry of a removed hook stays in torch's table",
    ),
    Part(
        ("torch.nn.utils.clip_grad._get_total_norm",),
        "norms that are not finite where clip_grad_norm_ computes them, between recorded steps",
        ("watch",),
    ),
)
_COMPILER = Part(
    ("torch._dynamo.eval_frame._maybe_set_eval_frame",),
    "modules, source lines and names of variables under watch(), once the compiler is loaded",
    ("watch",),
)
_ABSENT = object()
_told: set[Part] = set()


def missing_parts() -> list[Part]:
    """Return the parts that this torch lacks. Parts of the compiler are checked only if it is loaded."""
    return [*_missing(), *([] if are_regions_heard() else [_COMPILER])]


def names_of(part: Part) -> str:
    """Return a part's missing names, or all its names if the part counts as a whole."""
    absent = [name for name in part.names if not has(name)]
    return " and ".join(absent or part.names)


def check_parts(use: Use, where: str) -> None:
    """Raise if nothing can be recorded with this torch; warn of other losses, once per process.

    Raises:
        CaptureError: A part is missing without which nothing can be recorded.
    """
    for part in missing_parts():
        if part.stops and use in part.uses:
            raise CaptureError(
                f"{where}: expected a torch with {names_of(part)}, got torch {torch.__version__} "
                f"without it. This loses {part.lost}. Use a torch that docs/compatibility.md lists."
            )
    tell_missing(use, where)


def tell_missing(use: Use, where: str) -> None:
    """Warn of what is lost, unless that was done before. Never raises."""
    new = [part for part in missing_parts() if part not in _told and use in part.uses]
    _told.update(new)
    if new:
        losses = "; ".join(f"{names_of(part)} (lost: {part.lost})" for part in new)
        warn_quietly(f"{where}: torch {torch.__version__} lacks {losses}.", RuntimeWarning)


def may_follow_forwards() -> bool:
    """Return whether we can notice compiled code, and so may follow forwards; warn if not."""
    if not (heard := are_regions_heard()):
        tell_missing("watch", "watch()")
    return heard


@functools.cache
def _missing() -> tuple[Part, ...]:
    return tuple(part for part in PARTS if not all(map(has, part.names)))


def has(name: str) -> bool:
    """Return whether torch has something with a dotted name."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, _ABSENT)
    return found is not _ABSENT
