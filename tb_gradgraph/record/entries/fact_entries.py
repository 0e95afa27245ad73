"""The facts of trainings in one chunk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tb_gradgraph.errors import FormatError
from tb_gradgraph.training_facts import GroupFacts, Names, OptimizerFacts, TrainingFacts

_NUMBERS = ("step", "parameters", "elements", "frozen", "is_training", "has_scaler", "is_opaque")
_LISTS = (
    *("unoptimized", "held_twice", "evaluating", "outer_evaluating", "unregistered"),
    "early_clips",
)
#: What an entry takes in memory besides its letters, roughly in letters.
_ENTRY = 64

Cut = Callable[[str], str]


def write_facts(chunk: Any, given: Iterable[TrainingFacts], cut: Cut) -> None:
    """Add facts to a chunk; ``cut`` shortens a text to what readers accept."""
    for facts in given:
        message = chunk.facts.add(
            tag=cut(facts.tag),
            dtype=map(cut, facts.dtypes),
            dtype_count=facts.dtypes.values(),
            why_nothing=cut(facts.why_nothing),
            **{name: getattr(facts, name) for name in _NUMBERS},
        )
        for optimizer in facts.optimizers:
            _write_optimizer(message.optimizers.add(), optimizer, cut)
        for names in facts.equal:
            _write_names(message.equal.add(), names, cut)
        for name in _LISTS:
            if names := getattr(facts, name):
                _write_names(getattr(message, name), names, cut)


def _write_optimizer(message: Any, optimizer: OptimizerFacts, cut: Cut) -> None:
    message.name = cut(optimizer.name)
    message.strangers = optimizer.strangers
    for group in optimizer.groups:
        added = message.groups.add(
            setting=map(cut, group.settings),
            value=group.settings.values(),
            parameters=group.parameters,
        )
        _write_names(added.names, group.names, cut)


def _write_names(message: Any, names: Names, cut: Cut) -> None:
    message.first.extend(map(cut, names.first))
    message.count = names.count


def count_entries(chunk: Any) -> int:
    """Count the entries of a chunk's facts: what they list, and the lists."""
    return sum(1 + sum(1 for _ in _texts(facts)) for facts in chunk.facts)


def letters_of_facts(chunk: Any) -> int:
    """Count the letters of a chunk's facts, and for each entry what else it takes in memory."""
    return sum(_ENTRY + sum(_ENTRY + len(text) for text in _texts(facts)) for facts in chunk.facts)


def _texts(facts: Any) -> Iterator[str]:
    """Yield the texts of the facts of one training; an empty one for each list and optimizer."""
    yield from (facts.tag, facts.why_nothing, *facts.dtype)
    for names in (*(getattr(facts, name) for name in _LISTS), *facts.equal):
        yield ""
        yield from names.first
    for optimizer in facts.optimizers:
        yield optimizer.name
        for group in optimizer.groups:
            yield from ("", *group.setting, *group.names.first)


def check_facts(chunk: Any, most_bytes: int) -> None:
    """Check the texts and columns of a chunk's facts.

    Raises:
        FormatError: A text is longer than ``most_bytes``, or columns differ in length.
    """
    for facts in chunk.facts:
        groups = [group for optimizer in facts.optimizers for group in optimizer.groups]
        columns = [(facts.dtype, facts.dtype_count), *((one.setting, one.value) for one in groups)]
        if any(len(names) != len(numbers) for names, numbers in columns):
            raise FormatError("facts: expected columns of one length, got others.")
        if any(len(text.encode()) > most_bytes for text in _texts(facts)):
            raise FormatError(f"facts: expected texts of at most {most_bytes} bytes.")


def read_facts(chunk: Any) -> tuple[TrainingFacts, ...]:
    """Return the facts of a chunk that was checked."""
    return tuple(map(_read, chunk.facts))


def _read(message: Any) -> TrainingFacts:
    return TrainingFacts(
        tag=sys.intern(message.tag),
        dtypes=dict(zip(message.dtype, message.dtype_count)),
        optimizers=tuple(map(_read_optimizer, message.optimizers)),
        equal=_read_each(message.equal),
        why_nothing=message.why_nothing,
        **{name: getattr(message, name) for name in _NUMBERS},
        **_lists_of(message),
    )


def _lists_of(message: Any) -> dict[str, Any]:
    return {name: _read_names(getattr(message, name)) for name in _LISTS}


def _read_optimizer(message: Any) -> OptimizerFacts:
    groups = (
        GroupFacts(
            dict(zip(group.setting, group.value)), group.parameters, _read_names(group.names)
        )
        for group in message.groups
    )
    return OptimizerFacts(message.name, tuple(groups), message.strangers)


def _read_each(messages: Sequence[Any]) -> tuple[Names, ...]:
    return tuple(map(_read_names, messages))


def _read_names(message: Any) -> Names:
    return Names(tuple(message.first), max(message.count, len(message.first)))
