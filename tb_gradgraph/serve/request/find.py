"""Find what the parameters of a request name: a run, the records of a tag, one record, or a graph."""

from __future__ import annotations

from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.request.parameters import Parameters, not_found
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import FORWARD, STATISTICS

#: How many numbers of the user's own statistics one answer has at most, besides those of ours.
OWN_NUMBERS = 2**22


def find_run(reader: Reader, parameters: Parameters) -> RunView:
    """Find the run named by the parameter ``run``; 404 if it has no records of ours."""
    name = parameters.text("run")
    run = reader.runs(all_sessions=True).get(name)
    if run is None:
        raise not_found(f"Expected a run with recorded graphs, got {name[:200]!r}.")
    return run


def find_statistic(run: RunView, parameters: Parameters) -> str:
    """Find the parameter ``statistic``: built in, or of the user's own for the tag; 400 if it is neither."""
    find_records(run, parameters)
    own = run.own.get(parameters.text("tag"), {})
    name = parameters.text("statistic")
    return name if name in own else parameters.choice("statistic", (*STATISTICS, *list(own)[:40]))


def own_names(run: RunView, tag: str, size: int) -> tuple[str, ...]:
    """Return the names of a tag's own statistics, as many as fit into one answer.

    Each of them has ``size`` numbers there.
    """
    return tuple(run.own.get(tag, ()))[: OWN_NUMBERS // max(1, size)]


def find_records(run: RunView, parameters: Parameters) -> tuple[Entry, ...]:
    """Find the records of gradients of the parameter ``tag``; 404 if there are none."""
    tag = parameters.text("tag")
    if tag not in run.records:
        raise not_found(f"Expected a tag of run {run.name[:200]!r}, got {tag[:200]!r}.")
    return run.records[tag]


def with_stage(run: RunView, parameters: Parameters) -> tuple[Entry, ...]:
    """Find the records of ``tag`` and ``stage``; without a stage all those of gradients."""
    records, stage = find_records(run, parameters), parameters.optional_text("stage")
    if stage == FORWARD:
        return run.forwards.get(parameters.text("tag"), ())
    return tuple(entry for entry in records if stage in (None, entry.stage))


def find_entry(
    reader: Reader, parameters: Parameters, of_gradients: bool = False
) -> tuple[RunView, Entry]:
    """Find the record at ``step``, ``backward_pass`` and ``stage``; the first one if several match.

    With ``of_gradients``, the record of the backward is found instead of that of its forward.
    """
    run = find_run(reader, parameters)
    stage = parameters.optional_text("stage")
    of_values = stage == FORWARD and not of_gradients
    wanted = {
        "step": parameters.integer("step"),
        "backward_pass": _wanted_pass(parameters),
        "stage": "backward" if stage == FORWARD and of_gradients else stage,
    }
    given = {name: value for name, value in wanted.items() if value is not None}
    for entry in with_stage(run, parameters) if of_values else find_records(run, parameters):
        if all(getattr(entry, name) == value for name, value in given.items()):
            return run, entry
    got = ", ".join(f"{name.replace('_', ' ')} {str(value)[:40]}" for name, value in given.items())
    raise not_found(f"Expected a recorded step of the tag, got {got}.")


def _wanted_pass(parameters: Parameters) -> int | None:
    """Return the requested pass, else 0; at stages after ``backward`` None, which means any pass."""
    backward_pass = parameters.natural("backward_pass")
    later = parameters.optional_text("stage") not in (None, FORWARD, "backward")
    return backward_pass if backward_pass is not None or later else 0


def find_graph(reader: Reader, run: RunView, graph_hash: str) -> Graph:
    """Find a graph by its hash; 404 if the run has no such graph."""
    if graph_hash not in run.graphs:
        raise not_found(f"Expected the hash of a graph of the run, got {graph_hash[:40]!r}.")
    return reader.graph(run, graph_hash)
