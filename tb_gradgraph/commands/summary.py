"""The command ``tb-gradgraph summary``: recorded graphs and steps, and what no gradient can reach."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tb_gradgraph.commands.show.plain import format_table, printable
from tb_gradgraph.commands.show.run_health import list_health
from tb_gradgraph.diagnose import fold_by_module, tell_many
from tb_gradgraph.graph import Graph
from tb_gradgraph.quantities import MAIN, Point, series_of
from tb_gradgraph.ranks import join_ranks
from tb_gradgraph.record import CURE, LoggedRun, read_logdir, tell_part
from tb_gradgraph.statistics import STAGES

#: How many quantities of a tag are listed.
MOST_SHOWN = 12


def summarize(logdir: str, all_sessions: bool = False) -> int:
    """Print the summary, with ``all_sessions`` also of hidden sessions; return the exit status."""
    runs = join_ranks(read_logdir(logdir))
    hidden = [(run.name, some) for run in runs for some in run.hidden]
    if all_sessions:
        runs = tuple(one for run in runs for one in (run, *run.earlier))
    rows = [row for run in runs for row in _summarize_run(run)]
    if rows:
        header = (
            *("run", "tag", "graph", "nodes", "records", "with gradients", "steps"),
            *("stages", "skipped steps"),
        )
        print(format_table([header, *rows]))
    else:
        print(f"No graph was recorded below {logdir}.")
    for line in (*_list_quantities(runs), *_list_parts(runs), *_list_unreached(runs)):
        print(printable(line))
    for line in list_health(runs, logdir):
        print(printable(line))
    for name, some in hidden:
        print(printable(f"run {name}: {some.text}"))
    if hidden and not all_sessions:
        print(f"--all-sessions lists them too. If they should not be hidden: {CURE}.")
    for run in runs:
        for text in (*(gap.text for gap in run.gaps), *run.ended):
            print(printable(f"run {run.name}: {text}"))
        for warning in run.warnings:
            warn(f"run {run.name}: {warning}")
    return 0 if rows else 1


def _summarize_run(run: LoggedRun) -> Iterable[tuple[str, ...]]:
    """Make one row for each tag and graph."""
    for tag, graph_hash in sorted({(record.tag, record.graph_hash) for record in run.records}):
        records = [
            record for record in run.records if (record.tag, record.graph_hash) == (tag, graph_hash)
        ]
        graph = run.graphs.get(graph_hash)
        steps = [record.step for record in records]
        yield (
            run.name,
            tag,
            graph_hash,
            str(len(graph.nodes)) if graph else "missing",
            str(len(records)),
            str(sum(bool(record.table.present.any()) for record in records)),
            f"{min(steps)}..{max(steps)}" if min(steps) < max(steps) else str(min(steps)),
            ",".join(stage for stage in STAGES if stage in {record.stage for record in records}),
            str(len({record.step for record in records if record.skipped})),
        )


def _list_quantities(runs: Iterable[LoggedRun]) -> Iterable[str]:
    """List the last values of the main quantities of each tag."""
    for run in runs:
        for tag in sorted({record.tag for record in run.records}):
            found = series_of(record for record in run.records if record.tag == tag)
            main = [name for name in sorted(found) if name.partition("/")[0] in MAIN]
            if main:
                last = max(found[name][-1].step for name in main)
                shown = [_tell_last(name, found[name][-1], last) for name in main[:MOST_SHOWN]]
                more = f", and {len(main) - MOST_SHOWN} more" if len(main) > MOST_SHOWN else ""
                yield f"run {run.name}, tag {tag}, last values (step {last}): {', '.join(shown)}{more}"


def _tell_last(name: str, point: Point, last: int) -> str:
    """Say the last value of a quantity, and its step if that is not ``last``."""
    step = "" if point.step == last else f" (step {point.step})"
    return f"{name} {point.value:.4g}{step}"


def _list_parts(runs: Iterable[LoggedRun]) -> Iterable[str]:
    """Report graphs with parameters of which only the part of one process was recorded."""
    for run in runs:
        process = run.sessions[-1].process if run.sessions else None
        used = {record.graph_hash for record in run.records}
        for graph_hash, graph in run.graphs.items():
            owned = [node for node in graph.nodes if node.kind == "parameter"]
            parts = [node.slots[0].placement for node in owned if node.slots[0].is_part]
            if parts and graph_hash in used:
                which = ", ".join(sorted({tell_part(placement, process) for placement in parts}))
                yield (
                    f"run {run.name}, graph {graph_hash}: {len(parts)} of {len(owned)} parameters are "
                    f"recorded only in this process's part ({which}), which is not included in totals."
                )


def _list_unreached(runs: Iterable[LoggedRun]) -> Iterable[str]:
    """List, by module, the parameters that require a gradient but that no gradient can reach."""
    for run in runs:
        used = {record.graph_hash for record in run.records}
        for graph_hash, graph in run.graphs.items():
            told = list(_tell_unreached(graph)) if graph_hash in used else []
            if told:
                yield f"run {run.name}, graph {graph_hash}: no gradient can reach"
                yield from told


def _tell_unreached(graph: Graph) -> Iterable[str]:
    nodes = enumerate(graph.nodes)
    some = [(at, n) for at, n in nodes if n.kind == "parameter" and n.requires_grad and n.reason]
    for module, alike in fold_by_module(some, {at: node.note for at, node in some}):
        what = alike[0][1].name if len(alike) == 1 else tell_many(module, alike)
        yield f"  {what}: {alike[0][1].note}"


def warn(text: str) -> None:
    """Print a warning to standard error."""
    print(f"warning: {printable(text)}", file=sys.stderr)
