"""Lines of nodes from the stacks of autograd's anomaly mode, for use when Python reports no events."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.torch_internals.faults import warn_quietly
from tb_gradgraph.autograd.torch_internals.walk import metadata_of
from tb_gradgraph.autograd.user_code.stack_frames import is_users_file, shown_path

_KEY = "traceback_"  # the key of a stack in a node's metadata
_ENTRY = re.compile(r'  File "(.*)", line (\d+), in (.*)')


class AnomalyLines:
    """Makes autograd keep the stack of each node from ``begin`` to ``end``, at 35 to 50 us per node.

    The rest of the mode is off, and it is never active within a backward. Settings that the user
    makes meanwhile are kept.
    """

    def __init__(self) -> None:
        self.is_used = False
        self.was_ours = False  # whether stacks are kept only for us
        self._before: bool | None = None  # the former check_nan; None if the mode is not ours
        self._is_owed = False  # whether a user's block that began in ours may restore ours

    def begin(self) -> None:
        """Turn the mode on, unless the user has."""
        tell_what_is_lost()
        self.is_used = True
        self.settle()
        if not torch.is_anomaly_enabled():
            self.was_ours = True
            self._before = torch.is_anomaly_check_nan_enabled()
            torch.autograd.set_detect_anomaly(True, check_nan=False)

    def end(self) -> None:
        """Turn it off again, unless the user has set it since."""
        before, self._before = self._before, None
        if before is None:
            return
        if _is_ours():
            torch.autograd.set_detect_anomaly(False, check_nan=before)
        else:
            self._is_owed = True

    def settle(self) -> None:
        """Turn it off if a block of the user that ended after ours has restored it."""
        if self._is_owed and _is_ours():
            torch.autograd.set_detect_anomaly(False)
        self._is_owed = False


@functools.cache
def tell_what_is_lost() -> None:
    """Warn, once per process, about what is lost with these lines."""
    warn_quietly(
        "tb_gradgraph: another tracer is active, such as a debugger or coverage. Until it ends, tensors "
        "made within modules are recorded without the names of their variables. Lines, modules and "
        "gradients are recorded as usual. From Python 3.12 on, both can be active at once."
    )


def _is_ours() -> bool:
    """Return whether the mode is set in the way that only we use."""
    return torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()


def line_of(node: AutogradNode) -> str:
    """Return the line of the user's innermost code that made ``node``; "" if there is no stack."""
    for entry in reversed(metadata_of(node).get(_KEY, ())):
        found = _ENTRY.match(entry)
        if found is not None and is_users_file(found[1]):
            return f"{shown_path(found[1])}:{found[2]} in {found[3]}"
    return ""


def forget_stacks(nodes: Iterable[AutogradNode]) -> None:
    """Remove the stacks that were kept for us."""
    for node in nodes:
        metadata_of(node).pop(_KEY, None)
