"""One recorded step of a training, from its first forward to its last optimizer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tb_gradgraph.autograd.backward_calls import BackwardCall
from tb_gradgraph.autograd.frames import user_frame, variables_of
from tb_gradgraph.autograd.training_forward import TrainingForward
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.training.batches import read_grads
from tb_gradgraph.training.numbers import Numbers, differing
from tb_gradgraph.training.parameters import Parameters, grad_states
from tb_gradgraph.training.reading import PassNumbers, PassReading
from tb_gradgraph.training.records import AppliedPart, Flag, LossScale, StepPlace, StepRecords
from tb_gradgraph.training.scalers import loss_scale, scaler_of
from tb_gradgraph.training.structures import Met, Structures
from tb_gradgraph.training.weights import WeightReading

#: Backward passes of one step that get a record each; of further ones (a great many
#: micro-batches) only what they accumulated to is kept.
MOST_PASSES = 8


@dataclasses.dataclass(slots=True)
class Setting:
    """What the steps of one watch have in common."""

    tag: str
    parameters: Parameters
    structures: Structures
    follows_modules: bool  # whether module calls are followed at every recorded step
    is_compiled: bool
    scaler: Any  # torch.amp.GradScaler or None
    has_optimizers: bool
    write_graph: Callable[[str, Graph], None]
    write_later: Callable[[Callable[[], Sequence[Record]], int], None]
    has_recorded: bool = False  # a whole step, so that a scaler, if there is one, is known

    @property
    def awaits_scaler(self) -> bool:
        """Whether an optimizer's first step may yet show that there is a scaler."""
        return self.scaler is None and self.has_optimizers and not self.has_recorded


class RecordedStep:
    """Takes in what happens during the step; hooks are on from ``__init__`` to ``finish``."""

    def __init__(self, setting: Setting, place: StepPlace) -> None:
        """Begin to follow the forward."""
        self._setting = setting
        self._records = StepRecords(place, LossScale())
        self._held: list[Callable[[], Sequence[Record]]] = []
        self._before: dict[int, _BeforeOptimizer] = {}
        wants_trace = setting.structures.wants_trace
        traces = wants_trace and not setting.is_compiled
        self.forward = TrainingForward(setting.parameters.modules, traces)
        self._is_followed = not setting.is_compiled and (wants_trace or setting.follows_modules)
        if self._is_followed:
            self.forward.attach()

    @property
    def graph(self) -> Graph | None:
        """The graph of the last pass."""
        last = self._records.last
        return None if last is None else last.numbers.structure.graph

    def begin_pass(self, call: BackwardCall) -> PassReading | None:
        """Put hooks on a backward that is about to run; None if it is not over our model."""
        setting = self._setting
        met = setting.structures.meet(call.roots, self.forward)
        if met is None:
            return None
        if setting.scaler is None and not setting.has_recorded:
            setting.scaler = scaler_of(call.roots, variables_of(user_frame()).values())
        if self._records.count >= MOST_PASSES:
            met = Met(met.structure)
        return PassReading(met, setting.parameters.tensors, call)

    def end_pass(self, reading: PassReading, well: bool) -> bool:
        """Take the hooks away; whether a pass over our model was recorded."""
        scale = loss_scale(self._setting.scaler)
        numbers = reading.finish(well, scale)
        if numbers is None:
            return False
        records = self._records
        found = records.add(numbers, scale)
        if reading.is_first_of_structure:
            _check_sharing(numbers)
            self._setting.write_graph(self._setting.tag, numbers.structure.graph)
        if found.number < MOST_PASSES:
            self._write(lambda: records.of_pass(found), numbers)
        return True

    def before_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Read gradients as the optimizer sees them, if they were changed, and weights."""
        self._before[id(optimizer)] = _BeforeOptimizer(optimizer, self._records)

    def after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Read what it did to the weights."""
        before = self._before.pop(id(optimizer), None)
        if before is not None and self._records.last is not None:
            part = before.finish(self._records)
            self._records.end().applied.append(part)

    def follow_scaler(self, scaler: Any) -> None:
        """Note which scaler has our optimizers step: the numbers so far are of losses times its factor."""
        if self._setting.scaler is not scaler:
            if not self._setting.awaits_scaler:  # what is written already stays as it is
                self._records.scale = LossScale()
            self._setting.scaler = scaler
            self._records.scale.find_late(loss_scale(scaler))

    def skip_optimizer(self) -> None:
        """Note that a scaler left the optimizer's step out."""
        if self._records.last is not None:
            self._records.end().skipped = True

    def finish(self) -> bool:
        """End the step: hand over its records; whether there were any."""
        self.drop()
        records = self._records
        if records.last is None:
            return False
        if records.count > 1:
            records.end()
        if records.ends:
            self._write(records.of_step, records.last.numbers)
        self._setting.has_recorded = True
        for make in self._held:
            self._setting.write_later(make, 0)
        return True

    def drop(self) -> None:
        """Stop following the forward."""
        if self._is_followed:
            self._is_followed = False
            self.forward.remove()

    def _write(self, make: Callable[[], Sequence[Record]], numbers: PassNumbers) -> None:
        if self._setting.awaits_scaler:
            self._held.append(make)  # a scaler that is found later divides these too
        else:
            self._setting.write_later(make, numbers.structure.size)


class _BeforeOptimizer:
    """What an optimizer is about to see and to change."""

    def __init__(self, optimizer: torch.optim.Optimizer, records: StepRecords) -> None:
        self._parameters = [
            parameter
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.requires_grad or parameter.grad is not None
        ]
        self._passes = records.count
        self._weights = WeightReading(self._parameters)
        self._gradients: Numbers | None = None
        self._was_changed = False
        self._found_inf = Flag(getattr(optimizer, "found_inf", None))
        if records.last is not None:  # else a closure will run them
            # Fused optimizers unscale themselves.
            self._read(records.last.numbers, getattr(optimizer, "grad_scale", None))

    def _read(self, last: PassNumbers, scale: torch.Tensor | None) -> None:
        now = zip(self._parameters, grad_states(self._parameters))
        self._was_changed = scale is not None or any(
            last.state_of.get(id(parameter)) != state for parameter, state in now
        )
        self._gradients = last.accumulated
        if self._was_changed:
            self._gradients = read_grads(last.structure, self._parameters, scale)

    def finish(self, records: StepRecords) -> AppliedPart:
        if records.last is None:
            raise AssertionError("finish() needs a pass")
        last = records.last.numbers
        if records.count != self._passes:  # run by a closure, which may have clipped them too
            self._read(last, None)
        row_of = last.structure.parameter_rows
        rows = [row_of.get(id(parameter)) for parameter in self._parameters]
        self._weights.finish(rows)
        known = tuple(row for row in rows if row is not None)
        return AppliedPart(
            known, self._gradients, self._was_changed, self._weights, self._found_inf
        )


def _check_sharing(numbers: PassNumbers) -> None:
    """Compare the rows that are to share statistics from now on, the first time all are read.

    A user's hook on a tensor may change a gradient between two operations that do not.
    """
    replay = numbers.structure.replay
    table, _ = numbers.gradients.collect()
    for row in differing(table, replay.same):
        replay.forget_sharing(row)
