"""Read what the objects of a program say of a training, when its recording begins."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from tb_gradgraph.autograd import user_frame, warn_of_fault
from tb_gradgraph.quantities import EVALUATING
from tb_gradgraph.training.facts.early_clip import early_clip
from tb_gradgraph.training.facts.equal_parameters import EqualParameters
from tb_gradgraph.training.facts.module_facts import (
    Modes,
    batch_dependent_in_evaluation,
    outer_in_evaluation,
)
from tb_gradgraph.training.facts.optimizer_facts import OptimizersReading
from tb_gradgraph.training.facts.unregistered import UnregisteredAttributes
from tb_gradgraph.training.reading.followed import reference_to
from tb_gradgraph.training.reading.parameter_rows import Parameters
from tb_gradgraph.training.step.setting import Setting
from tb_gradgraph.training_facts import MOST_DTYPES, Names, TrainingFacts


class FactsToTell:
    """Tells the facts of a training once, at its first recorded backward. Keeps nothing of it alive.

    Attributes:
        is_told: Whether that is done.
    """

    def __init__(self, model: torch.nn.Module, optimizers: Sequence[Any], setting: Setting) -> None:
        self.is_told = False
        self._modes = Modes(model)
        self._unregistered = UnregisteredAttributes(model)
        self._model = reference_to(model)
        self._optimizers = [reference_to(optimizer) for optimizer in optimizers]
        self._setting = setting

    def now(self) -> Mapping[str, float]:
        """Return what may change from step to step, as quantities: nothing, if all is as usual."""
        count = self._modes.evaluating()
        return {EVALUATING: count} if count else {}

    def tell(self, step: int, scaler: Any, why_nothing: str = "") -> None:
        """Read the facts as they are now. If that fails, warn and record everything else.

        Args:
            step: The running step.
            scaler: The GradScaler, or None.
            why_nothing: Why no step was recorded, if the watch ends without one.
        """
        self.is_told = True
        model, optimizers = self._model(), [of() for of in self._optimizers]
        if model is None or None in optimizers:
            return
        try:
            setting = self._setting
            reading = FactsReading(model, optimizers, setting.parameters, setting.is_opaque)
            unregistered = Names.of(self._unregistered.names(model, reading.held))
        except Exception as error:
            warn_of_fault("did not record the facts of a training", error, "All else is recorded.")
            return
        has_scaler = scaler is not None and bool(scaler.is_enabled())
        facts = dataclasses.replace(
            reading.facts,
            unregistered=unregistered,
            tag=setting.tag,
            step=step,
            has_scaler=has_scaler,
            why_nothing=why_nothing,
        )
        setting.write_facts(partial(reading.finish, facts))


class FactsReading:
    """The facts of a training as they are now. Numbers on devices arrive later.

    Attributes:
        facts: What is known at once.
        held: The tensors that the optimizers have, by ``id``, whether or not the model has them.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizers: Sequence[Any],
        parameters: Parameters,
        is_opaque: bool,
    ) -> None:
        names = {of: one.names[0] for of, one in parameters.known.items() if one.is_owned}
        own = [tensor for tensor in parameters.tensors if id(tensor) in names]
        self._optimizers = OptimizersReading(optimizers, {} if is_opaque else names)
        self.held = self._optimizers.every
        held = self._optimizers.held
        knows = bool(optimizers) and not is_opaque
        trained = [p for p in own if p.requires_grad and (not knows or id(p) in held)]
        self._equal = EqualParameters(trained, [names[id(p)] for p in trained])
        missing = [p for p in own if knows and p.requires_grad and id(p) not in held]
        self.facts = TrainingFacts(
            tag="",
            parameters=len(own),
            elements=sum(map(_elements, own)),
            frozen=sum(not parameter.requires_grad for parameter in own),
            dtypes=_dtypes(own),
            is_training=model.training,
            is_opaque=is_opaque,
            unoptimized=Names.of(names[id(p)] for p in missing),
            held_twice=Names.of(names[of] for of, times in held.items() if times > 1),
            evaluating=Names.of(batch_dependent_in_evaluation(model)),
            outer_evaluating=Names.of(outer_in_evaluation(model)),
            early_clips=Names.of(early_clip(user_frame())),
        )

    def finish(self, facts: TrainingFacts) -> TrainingFacts:
        """Add what had to be awaited."""
        optimizers, equal = self._optimizers.finish(), self._equal.finish()
        return dataclasses.replace(facts, optimizers=optimizers, equal=equal)


def _elements(parameter: torch.Tensor) -> int:
    return parameter.numel()


def _dtypes(parameters: Sequence[torch.Tensor]) -> Mapping[str, int]:
    found = collections.Counter(str(p.dtype).removeprefix("torch.") for p in parameters)
    return dict(found.most_common(MOST_DTYPES))
