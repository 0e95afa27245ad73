"""Find modules that are in evaluation mode."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

from torch import nn

from tb_gradgraph.autograd import walk_modules

_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
_DROPOUTS = (
    *(nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d),
    *(nn.AlphaDropout, nn.FeatureAlphaDropout),
)


class Modes:
    """Counts batch normalizations and dropouts in evaluation mode, again and again."""

    def __init__(self, model: nn.Module) -> None:
        """Find the modules once. They are not kept alive."""
        modules = (module for _, module in each_once(model))
        self._modules = [
            weakref.ref(module)
            for module in modules
            if _is_fixed_norm(module) or _is_idle_dropout(module)
        ]

    def evaluating(self) -> int:
        """Return how many are in evaluation mode now."""
        modules = (of() for of in self._modules)
        return sum(1 for module in modules if module is not None and not module.training)


def batch_dependent_in_evaluation(model: nn.Module) -> Iterator[str]:
    """Yield the batch normalizations and dropouts that evaluation mode has changed."""
    for name, module in each_once(model):
        if not module.training and (_is_fixed_norm(module) or _is_idle_dropout(module)):
            yield name


def _is_fixed_norm(module: nn.Module) -> bool:
    return isinstance(module, _NORMS) and module.running_mean is not None


def _is_idle_dropout(module: nn.Module) -> bool:
    return isinstance(module, _DROPOUTS) and getattr(module, "p", 0) > 0


def outer_in_evaluation(model: nn.Module) -> Iterator[str]:
    """Yield the modules in evaluation mode that a module in training mode holds."""
    modes = {name: module.training for name, module in walk_modules(model)}
    for name, module in each_once(model):
        if name and not module.training and modes.get(name.rpartition(".")[0], False):
            yield name


def each_once(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield each module with its first name, without repeats."""
    seen: set[int] = set()
    for name, module in walk_modules(model):
        if id(module) not in seen:
            seen.add(id(module))
            yield name, module
