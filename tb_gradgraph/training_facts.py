"""What the objects of a program say of a training: its optimizers, modes and parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

#: How many names one list gives.
MOST_NAMES = 256
#: How many optimizers are told of, how many of their groups together, and how many names in these.
MOST_OPTIMIZERS = 64
MOST_GROUPS = 1024
MOST_NAMES_IN_GROUPS = 4096
#: How many settings of a group, sets of equal parameters, and types of parameters are told of.
MOST_SETTINGS = 32
MOST_SETS = 64
MOST_DTYPES = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """Some names, and how many there are altogether."""

    first: tuple[str, ...] = ()
    count: int = 0

    @classmethod
    def of(cls, names: Iterable[str], most: int = MOST_NAMES) -> Names:
        """Return all names in their order, of which at most ``most`` are kept."""
        every = tuple(names)
        return cls(every[:most], len(every))

    def __bool__(self) -> bool:
        return self.count > 0


@dataclasses.dataclass(frozen=True, slots=True)
class GroupFacts:
    """One group of an optimizer.

    Attributes:
        settings: Its numbers, as ``lr``, ``weight_decay``, ``betas/0``; true is 1.
        parameters: How many parameters it has.
        names: Those of the model among them.
    """

    settings: Mapping[str, float] = dataclasses.field(default_factory=dict)
    parameters: int = 0
    names: Names = Names()


@dataclasses.dataclass(frozen=True, slots=True)
class OptimizerFacts:
    """One optimizer.

    Attributes:
        name: Its class.
        groups: Its groups in their order.
        strangers: How many of its parameters the model does not have.
    """

    name: str
    groups: tuple[GroupFacts, ...] = ()
    strangers: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFacts:
    """What was true of a training when the first of its backwards was recorded, or at its end if none was.

    Attributes:
        tag: The training.
        step: The step of that backward.
        parameters: How many parameters the model has.
        elements: How many elements these have together.
        frozen: How many of the parameters require no gradient.
        dtypes: How many parameters there are of each type, by torch's name without ``torch.``.
        is_training: Whether the model was in training mode.
        has_scaler: Whether a GradScaler was named or found.
        is_opaque: Whether optimizers hold parts of parameters, so that nothing is known of whose
            they are.
        optimizers: The optimizers, in the order in which they were given.
        unoptimized: Parameters that require a gradient and are in no optimizer; none if no
            optimizer is known.
        held_twice: Parameters that are in two optimizers, in two groups, or twice in one.
        equal: Sets of different parameters of one shape that began equal, although they are trained
            and not constant.
        evaluating: Batch normalizations and dropouts that were in evaluation mode.
        outer_evaluating: Modules that were in evaluation mode within modules that were not.
        unregistered: Attributes that are tensors that require a gradient, or lists, tuples or dicts
            of modules or parameters, which neither the model nor an optimizer has.
        early_clips: The line of the loop that clips gradients, if it comes before the backward and
            no other line clips after it.
        why_nothing: Why no step was recorded, in a sentence; "" if one was.
    """

    tag: str
    step: int = 0
    parameters: int = 0
    elements: int = 0
    frozen: int = 0
    dtypes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    is_training: bool = True
    has_scaler: bool = False
    is_opaque: bool = False
    optimizers: tuple[OptimizerFacts, ...] = ()
    unoptimized: Names = Names()
    held_twice: Names = Names()
    equal: tuple[Names, ...] = ()
    evaluating: Names = Names()
    outer_evaluating: Names = Names()
    unregistered: Names = Names()
    early_clips: Names = Names()
    why_nothing: str = ""
