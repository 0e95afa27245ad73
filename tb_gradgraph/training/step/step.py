"""Record one step of a training, from its first forward to its last optimizer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from tb_gradgraph.autograd import (
    BackwardCall,
    TrainingForward,
    gate,
    is_backward_compiled,
    listen_for_hooks,
    may_follow_forwards,
    name_roots,
    user_frame,
    variables_of,
)
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.training.own.own_reading import OwnGradients
from tb_gradgraph.training.quantities.late_number import LateNumber
from tb_gradgraph.training.quantities.loss_terms import LossTerms, TermNumbers
from tb_gradgraph.training.reading.backward_pass import PassReading
from tb_gradgraph.training.reading.forward_values import ForwardValues, PassValues
from tb_gradgraph.training.reading.pass_numbers import check_sharing
from tb_gradgraph.training.reading.structures import Met
from tb_gradgraph.training.step.applied import OptimizerReading
from tb_gradgraph.training.step.late_scale import LossScale
from tb_gradgraph.training.step.passes import Pass, StepPlace
from tb_gradgraph.training.step.records import MOST_PASSES, StepRecords
from tb_gradgraph.training.step.scalers import loss_scale, scaler_of
from tb_gradgraph.training.step.setting import Progress, Setting
from tb_gradgraph.training.step.unused import UnusedPasses
from tb_gradgraph.training.step.within import WithinBackward


class _Held(NamedTuple):
    """Records that wait for the end of their step."""

    of: Pass | None  # None: they belong to the whole step
    make: Callable[[], Sequence[Record]]
    size: int


class RecordedStep:
    """Collects what happens during a step. Hooks are active from ``__init__`` to ``finish``.

    Records are written when the step ends. Until then, an optimizer may show that there is a
    scaler, that a pass belongs to the next step, or that it belongs to another training.
    """

    def __init__(self, setting: Setting, progress: Progress, place: StepPlace) -> None:
        """Begin to follow the forward."""
        self._setting = setting
        self._progress = progress
        progress.hidden.begin_step()
        scale, told, latest = LossScale(), progress.told, progress.latest
        self._records = StepRecords(place, scale, progress.hidden, told=told, latest=latest)
        self._held: list[_Held] = []
        self._unused = UnusedPasses()
        self._reached: list[int] = []  # leaves of the running backward, by ``id``
        self._before: dict[int, OptimizerReading] = {}
        self._within: WithinBackward | None = None  # while a backward runs
        self._terms: LossTerms | None = None  # the same
        wants_notes = setting.structures.wants_notes
        may_follow = may_follow_forwards()  # otherwise our hooks would be compiled too
        self.forward = TrainingForward(
            setting.parameters.read_modules, notes=wants_notes and may_follow
        )
        follows = setting.follows_modules and not setting.structures.is_settled
        self._is_followed = may_follow and (wants_notes or follows)
        self._has_tensor_hooks = False
        self._stop_listening = listen_for_hooks(self._note_tensor_hook)
        last, own = setting.structures.last, (setting.own, progress.places)
        reads = setting.reads_values
        inputs = setting.structures.wanted_inputs
        self._values = ForwardValues(setting.level, last, wants_notes, reads, *own, inputs)
        self._of_pass: PassValues | None = None  # of the running backward
        if self._is_followed:
            self.forward.attach()
        if may_follow:
            self._values.attach()

    @property
    def graph(self) -> Graph | None:
        """The graph of the last pass."""
        last = self._records.last
        return None if last is None else last.numbers.structure.graph

    def begin_pass(self, call: BackwardCall) -> PassReading | None:
        """Put hooks on a backward that is about to run; None if it does not run over our model."""
        self._check()
        setting = self._setting
        if not self._records.count:
            setting.parameters.refresh()
        if not setting.parameters.may_be_among(call.inputs):
            return None
        self.forward.inside = self._values.inside
        met = setting.structures.meet(call.roots, self.forward)
        if met is None:
            return None
        frame = user_frame()
        progress = self._progress
        if progress.scaler is None and not progress.recorded:
            progress.scaler = scaler_of(call.roots, variables_of(frame))
        self._look_for_cleared()
        self._reached = [id(setting.parameters.own(leaf)) for leaf in met.leaves]
        if self._records.own_count >= MOST_PASSES:
            met = Met(met.structure)
        objective = ", ".join(root.name for root in name_roots(call.roots, frame))
        shares = not self._has_tensor_hooks
        own = OwnGradients(setting.own, met.structure.own_rows, loss_scale(progress.scaler))
        with gate:
            reading = PassReading(
                *(met, setting.parameters.tensors, call, objective, own, shares),
                late=self._late(),
                is_gathered=setting.parameters.is_gathered(met.leaves),
            )
        if met.order and not reading.is_shared and not is_backward_compiled():
            self._terms = LossTerms(met, call, variables_of(frame), progress.meetings)
        self._within = WithinBackward(met.structure)
        self._of_pass = self._values.of_pass(met, setting.parameters.tensors, call.roots)
        return reading

    def _late(self) -> frozenset[int]:
        """Return the gathered parameters, by ``id``, that an earlier pass's gradient has not reached yet."""
        last, ends = self._records.last, self._records.ends
        if last is None or (ends and ends[-1].last is last):
            return frozenset()
        return self._setting.parameters.late(last.numbers.state_of)

    def end_pass(self, reading: PassReading, well: bool) -> bool:
        """Remove the hooks; return whether a pass over our model was recorded."""
        within, self._within = self._within, None
        scale = loss_scale(self._progress.scaler)
        terms = self._take_terms(well)
        numbers = reading.finish(well, scale)
        values, self._of_pass = self._of_pass, None
        self._progress.shared += reading.is_shared
        if numbers is None:
            return False
        numbers = numbers.after(values)
        records = self._records
        keeps = records.own_count < MOST_PASSES
        found = records.add(numbers, scale, terms=terms)
        self._unused.add(self._reached, numbers)
        if not numbers.structure.replay.is_checked:
            numbers.structure.replay.place(numbers.placements)
        if not numbers.structure.replay.is_checked and not numbers.gradients.unread:
            check_sharing(numbers)
        self._setting.write_graph(self._setting.tag, numbers.structure.graph)
        if keeps:
            self._hold(found, partial(records.of_pass, found))
        if within is not None and (parts := within.finish()):
            self._unused.use()
            records.end().applied += parts
        return True

    def before_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Read the weights before an optimizer's step, and the gradients if they were changed."""
        within, last = self._within, self._records.last
        if within is None:
            self._look_for_cleared()
        before = None if within is not None or last is None else last.numbers
        reads, memory = self._progress.hidden.are_sought, self._setting.update_memory
        copies = self._progress.copies if self._records.place.every_n_steps == 1 else None
        prefix = self._setting.prefixes.get(id(optimizer), "")
        reading = OptimizerReading(optimizer, before, reads, memory, copies, prefix)
        if within is not None:
            within.read(reading.parameters)
        self._before[id(optimizer)] = reading

    def after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Read the weights after the step."""
        reading = self._before.pop(id(optimizer), None)
        self._unused.use()
        if reading is None:
            return
        if self._within is not None:
            self._within.add(reading)
        elif self._records.last is not None:
            part = reading.finish(self._records.last.numbers)
            self._records.end().applied.append(part)

    def other_stepped(self, optimizer: torch.optim.Optimizer) -> bool:
        """Note a step of an optimizer outside this watch; return whether it has parameters of ours."""
        own = self._setting.parameters.known
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        is_ours = any(id(parameter) in own for parameter in parameters)
        if not is_ours:
            self._unused.lend(parameters)
        return is_ours

    def take_unused(self) -> list[Pass]:
        """Remove and return the passes that no optimizer has used yet: they belong to the next step."""
        used = self._records.ends[-1].last.number if self._records.ends else -1
        unused = [of for of, *_ in self._held if of is not None and of.number > used]
        self._held = [entry for entry in self._held if entry.of not in unused]
        self._unused.use()
        if unused:
            self._records.forget_after(used)
        return unused

    def add_passes(self, passes: Sequence[Pass]) -> None:
        """Add passes that the step before has given up."""
        records = self._records
        for given in passes:
            found = records.add(given.numbers, None, given.scale, given.terms)
            self._unused.add((), given.numbers)
            self._hold(found, partial(records.of_pass, found))

    def follow_scaler(self, scaler: Any) -> None:
        """Note which scaler steps our optimizers. The numbers so far include its factor."""
        if self._progress.scaler is not scaler:
            self._progress.scaler = scaler
            self._records.scale.find_late(loss_scale(scaler))

    def skip_optimizer(self) -> None:
        """Note that a scaler skipped the optimizer's step."""
        self._unused.use()
        if self._records.last is not None:
            self._records.end().skipped = True

    def finish(self, waits: bool = False) -> bool:
        """End the step: write its records, unless it ``waits``; return whether there were any."""
        self.drop()
        self._check()
        records = self._records
        records.cleared += self._unused.take_lent()  # the passes left after this are ours
        self._look_for_cleared()
        if records.last is None or not (records.own_count or records.ends):
            return False
        if records.own_count > 1 and records.is_own(records.last):
            records.end()
        if records.ends:
            self._hold(None, records.of_step)
        self._progress.recorded += 1
        if not waits:
            self.hand_over()
        return True

    def hand_over(self) -> None:
        """Write the waiting records; also during a step, if the process is about to end."""
        self._records.cleared += self._unused.take_lent()
        while self._held:
            _, make, size = self._held.pop(0)
            self._setting.write_later(partial(self._records.made, make, not self._held), size)

    def note(self, notes: Mapping[str, Any]) -> None:
        """Add quantities to the step, by their whole names."""
        self._records.notes |= {name: LateNumber(value) for name, value in notes.items()}

    def move_to(self, step: int) -> None:
        """Change the number of this step."""
        self._records.place = dataclasses.replace(self._records.place, step=step)

    def _check(self) -> None:
        """Raise our own error, if one happened within the user's forward."""
        self.forward.check()
        self._values.check()

    def drop(self) -> None:
        """Stop following the forward."""
        self._values.remove()
        self._take_terms(False)
        self._stop_listening()
        self._stop_listening = _nothing  # the old value held this object in a cycle
        if self._is_followed:
            self._is_followed = False
            self.forward.remove()
        else:
            self.forward.release()

    def _take_terms(self, well: bool) -> TermNumbers | None:
        terms, self._terms = self._terms, None
        return None if terms is None else terms.finish(well)

    def _note_tensor_hook(self) -> None:
        self._has_tensor_hooks = True

    def _look_for_cleared(self) -> None:
        """Check whether the gradients of unused passes are gone. A closure's belong to the optimizer."""
        if self._before:
            return
        cleared = self._unused.take_cleared(self._setting.parameters.tensors)
        self._records.cleared += cleared
        lost = [some.passes for some in cleared if some.is_lent and some.is_so.is_sure]
        self._held = [h for h in self._held if not any(h.of and h.of.number in p for p in lost)]

    def _hold(self, of: Pass | None, make: Callable[[], Sequence[Record]]) -> None:
        size = 0 if of is None else of.numbers.structure.size
        self._held.append(_Held(of, make, size))


def _nothing() -> None:
    """Do nothing."""
