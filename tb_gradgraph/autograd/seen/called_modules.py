"""Note, for each parameter, where its module was called, and whether with gradient."""

from __future__ import annotations

import torch

from tb_gradgraph.autograd.torch_internals.engine import next_sequence_nr
from tb_gradgraph.autograd.user_code.functions import running_function


class CalledModules:
    """Notes calls of modules. Under a custom Function, such as a checkpoint, its node uses the leaves."""

    def __init__(self) -> None:
        self.called: dict[int, tuple[str, bool]] = {}  # line and whether with gradient, by ``id``
        self.hidden_leaves: dict[int, dict[int, torch.Tensor]] = {}  # by sequence number, by id

    def note(self, module: torch.nn.Module, line: str, has_gradient: bool) -> None:
        """Note that a module is called at ``line``."""
        parameters = [p for p in module._parameters.values() if p is not None and p.requires_grad]
        if not parameters:
            return
        function = None if has_gradient else running_function(next_sequence_nr() - 1)
        if function is not None:
            hidden = self.hidden_leaves.setdefault(function.number, {})
            hidden.update((id(parameter), parameter) for parameter in parameters)
            return
        for parameter in parameters:
            if has_gradient or id(parameter) not in self.called:
                self.called[id(parameter)] = (line, has_gradient)

    def forget(self, number: int) -> None:
        """Forget what a node used."""
        self.hidden_leaves.pop(number, None)
