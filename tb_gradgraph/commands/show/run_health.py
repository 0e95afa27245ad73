"""What ``tb-gradgraph summary`` says of each run's health, and of its layers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from tb_gradgraph.commands.show.finding_words import tell_headline, tell_training
from tb_gradgraph.commands.show.layers import HEADER, layers_of, row_of
from tb_gradgraph.commands.show.plain import format_table
from tb_gradgraph.health import Training, examine_run, worst_first
from tb_gradgraph.record import LoggedRun

_LONGEST = 200


def list_health(runs: Iterable[LoggedRun], logdir: str) -> Iterator[str]:
    """Yield a table of layers for each training, and a headline for each run."""
    trainings = [examine_run(run) for run in runs]
    for of_run in trainings:
        for training in of_run:
            yield from _list_layers(training)
    yield ""
    for of_run in trainings:
        if of_run:
            yield _headline(of_run)
    if any(not one.is_healthy for of_run in trainings for one in of_run):
        yield f"What to do about it: tb-gradgraph findings {logdir}"


def _headline(trainings: list[Training]) -> str:
    """Say the worst finding of a run, or that it is healthy."""
    worst = worst_first(trainings)[0]
    run = f"run {worst.run}"
    if not worst.found or worst.is_healthy:
        is_alone = len(trainings) == 1 or not worst.is_healthy
        return f"{run}: {tell_training(worst) if is_alone else 'healthy'}."
    further = sum(one.severity != "note" for each in trainings for one in each.found) - 1
    line = textwrap.shorten(tell_headline(worst.found[0]), _LONGEST, placeholder=" ..")
    return f"{run}: {line}" + (f" (and {further} more)" if further else "")


def _list_layers(training: Training) -> Iterator[str]:
    layers = layers_of(training)
    if not layers.shown:
        return
    yield ""
    yield (
        f"run {training.run}, tag {training.tag}: norms of the gradients ({layers.stage}) by module, "
        "updates, and zeros in what it puts out (medians)"
    )
    yield from format_table([HEADER, *map(row_of, layers.shown)]).split("\n")
    if layers.further:
        yield f"and {layers.further} more, with gradients between these"
