"""Keep the inputs of a step in which a training broke."""

from __future__ import annotations

import collections
import os
import re
from typing import Any, NamedTuple

import torch

from tb_gradgraph.autograd import is_capturing, left_out_of_compiled
from tb_gradgraph.training.guard.random_states import random_states

#: A file has no more bytes of tensors.
LIMIT = 64 * 2**20
_MOST_DEPTH = 8
_PLAIN = (bool, int, float, str, bytes, type(None))


class _Held(NamedTuple):
    """What the model was given, and the random states as its forward began."""

    args: Any
    kwargs: Any
    states: dict[str, Any]


class BatchKeeper:
    """Holds what the model was last given, and writes it to a file when asked to.

    A hook on the model notes its arguments, which stay alive until the second forward after theirs.
    Compiled code and graphs of a device leave it out. The file has what
    ``torch.load(path, weights_only=True)`` loads: a dict with ``tag``, ``step``, ``args``,
    ``kwargs``, the random states as the forward began (see ``random_states``), ``weights_finite``
    and ``left_out``, a sentence for each argument that is not in it.
    """

    def __init__(self, model: torch.nn.Module, directory: str) -> None:
        self._directory = directory
        self._held: collections.deque[_Held] = collections.deque(maxlen=2)
        note = left_out_of_compiled(lambda _module, args, kwargs: self._note(args, kwargs))
        self._hook = model.register_forward_pre_hook(note, with_kwargs=True)

    def _note(self, args: Any, kwargs: Any) -> None:
        if not is_capturing():
            self._held.append(_Held(args, kwargs, random_states()))

    def save(self, tag: str, step: int, is_late: bool, weights_finite: bool) -> str:
        """Write the last batch, or the one before it if the finding is a step late; return the path.

        Return "" if there is none. The file of an earlier finding at that step is replaced.
        """
        if len(self._held) <= is_late:
            return ""
        args, kwargs, states = self._held[-2 if is_late else -1]
        copied = _Copied()
        content = {
            "tag": tag,
            "step": step,
            "args": copied.of(args, "args"),
            "kwargs": copied.of(kwargs, "kwargs"),
            **states,
            "weights_finite": weights_finite,
            "left_out": copied.left_out,
        }
        name = re.sub(r"[^\w.-]", "_", tag)[:80]
        path = os.path.join(self._directory, f"gradgraph_batch_{name}_{step}.pt")
        torch.save(content, path)
        return path

    def remove(self) -> None:
        """Remove the hook, and let go of what it noted. A second call does nothing."""
        self._hook.remove()
        self._held.clear()


class _Copied:
    """Copies of arguments on the CPU, as long as there is room."""

    def __init__(self) -> None:
        self.left_out: list[str] = []
        self._room = LIMIT

    def of(self, given: Any, name: str, depth: int = 0) -> Any:
        if isinstance(given, torch.Tensor):
            return self._tensor(given, name)
        if isinstance(given, _PLAIN):
            return given
        if isinstance(given, dict) and depth < _MOST_DEPTH:
            items = given.items()
            return {str(key): self.of(one, f"{name}[{key!r}]", depth + 1) for key, one in items}
        if isinstance(given, (list, tuple)) and depth < _MOST_DEPTH:
            entries = [self.of(one, f"{name}[{at}]", depth + 1) for at, one in enumerate(given)]
            return tuple(entries) if isinstance(given, tuple) else entries
        self.left_out.append(f"{name}: a {type(given).__name__} is not kept.")
        return None

    def _tensor(self, given: torch.Tensor, name: str) -> torch.Tensor | None:
        size = given.numel() * given.element_size()
        if type(given) is not torch.Tensor:
            self.left_out.append(f"{name}: a {type(given).__name__} is not kept.")
        elif size > self._room:
            self.left_out.append(f"{name}: its {size:,} bytes are more than there is room for.")
        else:
            self._room -= size
            return given.detach().clone().cpu()
        return None
