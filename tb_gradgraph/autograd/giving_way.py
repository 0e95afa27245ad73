"""Remove hooks from a graph before a compiled backward, which would compile them too."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable

from tb_gradgraph.autograd.backward_calls import BackwardCall, listen
from tb_gradgraph.autograd.gradients.observe import BackwardObserver
from tb_gradgraph.autograd.torch_internals.compiled_regions import is_backward_compiled
from tb_gradgraph.autograd.torch_internals.faults import warn_quietly
from tb_gradgraph.autograd.torch_internals.private import has


def make_way_for_compiled(observer: BackwardObserver, where: str) -> None:
    """Remove ``observer``, with a warning, when a compiled backward begins.

    There is no listener if the compiler is not loaded, because then nothing is compiled. There is
    none either if torch lacks the function by which backwards are noticed (private.py). Listening
    ends with the first backward over the graph, because a graph may live long: the gradient of its
    own leaf may hold it.
    """
    if "torch._dynamo" in sys.modules and has("torch.autograd._engine_run_backward"):
        way = _Way(weakref.ref(observer), where)
        way.stop = listen(way)
        weakref.finalize(observer, way.end).atexit = False


class _Way:
    """Listens to backwards for an observer, which it does not keep alive."""

    is_awake = True
    lookout = None

    def __init__(self, observer: weakref.ref[BackwardObserver], where: str) -> None:
        self._observer = observer
        self._where = where
        self.stop: Callable[[], None] | None = None

    def on_backward(self, call: BackwardCall) -> Callable[[bool], None]:
        """Remove the observer if this backward is compiled; return what ends listening after it."""
        observer = self._observer()
        if observer is not None and observer.is_armed and is_backward_compiled():
            observer.remove()
            warn_quietly(
                f"{self._where}: no gradient is recorded, because the backward is compiled "
                "(torch._dynamo.compiled_autograd): hooks would become a part of it. Run it uncompiled "
                "once, or use watch(), which reads the parameters' .grad."
            )
        self._end_if_over()
        return lambda _well: self._end_if_over()

    def _end_if_over(self) -> None:
        observer = self._observer()
        if observer is None or not observer.is_armed or observer.has_run:
            self.end()

    def end(self) -> None:
        """Stop listening. A second call does nothing. The old callback holds this object in a cycle."""
        stop, self.stop = self.stop, None
        if stop is not None:
            stop()
