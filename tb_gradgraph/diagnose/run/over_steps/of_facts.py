"""What was wrong with a training before it began, from what the watch was given."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from tb_gradgraph.diagnose.kinds import KINDS
from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.told import tell_names, tell_of_run
from tb_gradgraph.graph import Graph, Node
from tb_gradgraph.quantities import EVALUATING
from tb_gradgraph.training_facts import Names, TrainingFacts

#: So many steps, and such a share of them, are no validation that was recorded by chance.
LEAST_STEPS, HABIT = 3, 0.2
#: Types whose weights an optimizer may step in copies of float32.
_SHORT = frozenset(("float16", "bfloat16"))


def find_in_facts(course: Course) -> Iterator[RunFinding]:
    """Yield optimizers that hold the wrong parameters, copies, lists of layers, and wrong modes."""
    facts = course.facts
    yield from _find_switch(course)
    if facts is not None:
        yield from _find_strangers(course, facts)
        yield from _find_twice(course, facts)
        yield from _find_equal(course, facts)
        yield from _find_unregistered(course, facts)
        yield from _find_modes(course, facts)
        yield from _find_early_clip(course, facts)


def find_without_steps(course: Course) -> Iterator[RunFinding]:
    """Yield why no step of a training was recorded, if that is known."""
    facts = course.facts
    if facts is not None and facts.why_nothing:
        of_kind = KINDS["no_backward"]
        what, _, advice = facts.why_nothing.rpartition(". ")
        what = what and f"{what[0].upper()}{what[1:]}."
        yield RunFinding(
            run=course.run,
            tag=course.tag,
            kind=of_kind.name,
            severity="warning",
            text=what or facts.why_nothing,
            advice=advice if what else of_kind.advice,
            first_step=facts.step,
            last_step=facts.step,
        )


def _told(course: Course, kind: str, text: str, names: Names | tuple[str, ...]) -> RunFinding:
    first = names.first if isinstance(names, Names) else names
    node = _node(course, first[0]) if first else None
    at = [step.step for step in course.steps]
    found = tell_of_run(course, kind, text, at=at, node=node, nodes=first)
    return dataclasses.replace(found, node=first[0]) if first and node is None else found


def _node(course: Course, name: str) -> Node | None:
    graph = course.graph
    same = (node for node in graph.nodes if name == node.name or name in node.aliases)
    within = (node for node in graph.nodes if node.name.startswith(f"{name}."))
    return next(same, None) or next(within, None)


def _listed(names: Names) -> str:
    more = f" and {names.count - 5} more" if names.count > 5 else ""
    return ", ".join(names.first[:5]) + more


def _find_strangers(course: Course, facts: TrainingFacts) -> Iterator[RunFinding]:
    strangers = sum(optimizer.strangers for optimizer in facts.optimizers)
    in_copies = bool(_SHORT & set(facts.dtypes)) or facts.is_opaque
    if not strangers or not facts.unoptimized or in_copies:
        return
    names = ", ".join(one.name for one in facts.optimizers if one.strangers)
    text = (
        f"{names} holds {strangers} parameters that the model does not have, and "
        f"{facts.unoptimized.count} of the model's are in no optimizer: {_listed(facts.unoptimized)}. "
        "It was probably made before the model was changed."
    )
    yield _told(course, "stale_optimizer", text, facts.unoptimized)


def _find_twice(course: Course, facts: TrainingFacts) -> Iterator[RunFinding]:
    if facts.held_twice:
        text = (
            f"{_listed(facts.held_twice)}: held twice, by two optimizers, by two groups or in one "
            "group, so that each step moves it twice."
        )
        yield _told(course, "optimized_twice", text, facts.held_twice)


def _find_equal(course: Course, facts: TrainingFacts) -> Iterator[RunFinding]:
    parallel = course.kept.once(
        ("parallel", course.graph_hash, facts.equal),
        lambda: [one for one in facts.equal if not _follow_each_other(course.graph, one)],
    )
    if not parallel:
        return
    more = f" So did {len(parallel) - 1} further sets of weights." if len(parallel) > 1 else ""
    text = (
        f"{tell_names(parallel[0].first)} began with equal elements, are not tied, and are all "
        f"trained.{more}"
    )
    names = tuple(name for one in parallel for name in one.first)
    yield _told(course, "equal_weights", text, names)


def _find_unregistered(course: Course, facts: TrainingFacts) -> Iterator[RunFinding]:
    if facts.unregistered:
        text = (
            f"{_listed(facts.unregistered)}: a tensor that learns, or a plain list, tuple or dict of "
            "modules or parameters, which the model does not know: model.parameters() leaves it out."
        )
        yield _told(course, "unregistered", text, facts.unregistered)


def _find_modes(course: Course, facts: TrainingFacts) -> Iterator[RunFinding]:
    trained = course.kept.once(
        ("trained", course.graph_hash, facts.evaluating),
        lambda: tuple(one for one in facts.evaluating.first if not _is_frozen(course, one)),
    )
    if not trained:
        return
    whole = "" if facts.is_training else " The whole model is: model.train() was not called."
    text = (
        f"{tell_names(trained)}: in evaluation mode in a training. A batch normalization then uses old "
        f"means instead of those of the batch, and a dropout does nothing.{whole}"
    )
    yield _told(course, "batch_norm", text, trained)


def _find_early_clip(course: Course, facts: TrainingFacts) -> Iterator[RunFinding]:
    if facts.early_clips and not any(step.has("clipped") for step in course.steps):
        text = (
            f"{_listed(facts.early_clips)}: gradients are clipped before the backward, when there are "
            "none, and not afterwards."
        )
        yield _told(course, "clip_before_backward", text, ())


def _find_switch(course: Course) -> Iterator[RunFinding]:
    """Yield that modules left training mode in the middle of the training and did not come back."""
    found = [(step.step, step.numbers.get(EVALUATING, 0.0)) for step in course.steps]
    series = [(step, count if count == count else 0.0) for step, count in found]
    more = [step for step, count in series if count > series[0][1]]
    if len(more) < max(LEAST_STEPS, HABIT * len(series)):
        return
    norms = _norms(course.graph)
    first = norms[0] if norms else None
    text = (
        f"From step {more[0]} on, {max(n for _, n in series):.0f} batch normalizations or dropouts are in "
        "evaluation mode: model.train() was probably not called after a validation."
    )
    names = [node.name for node in norms]
    yield tell_of_run(
        *(course, "batch_norm", text),
        at=more,
        node=first,
        nodes=names,
        measure=EVALUATING,
        numbers=series,
    )


def _norms(graph: Graph) -> list[Node]:
    """Return the parameters of batch normalizations."""
    users = {edge.source: graph.nodes[edge.target] for edge in graph.edges}
    return [
        node
        for index, node in enumerate(graph.nodes)
        if node.kind == "parameter" and index in users and "BatchNorm" in users[index].operation
    ]


def _is_frozen(course: Course, module: str) -> bool:
    """Return whether the parameters of a module require no gradient: then its mode is meant."""
    own = [
        n for n in course.graph.nodes if n.kind == "parameter" and n.name.startswith(f"{module}.")
    ]
    return bool(own) and not any(node.requires_grad for node in own)


def _follow_each_other(graph: Graph, names: Names) -> bool:
    """Return whether equal weights are used one after another, as in copied layers: they soon differ."""
    sources: dict[int, list[int]] = {}
    for edge in graph.edges:
        sources.setdefault(edge.target, []).append(edge.source)
    owners: dict[int, str] = {}  # the weight that a node is, or is a view of
    behind: dict[int, frozenset[str]] = {}  # the weights that a node's data come from
    for index, node in enumerate(graph.nodes):
        of = sources.get(index, [])
        if node.name in names.first:
            owners[index] = node.name
        elif len(of) == 1 and of[0] in owners:
            owners[index] = owners[of[0]]
        else:
            own = {owners[one] for one in of if one in owners}
            data: frozenset[str] = frozenset().union(*(behind.get(one, ()) for one in of))
            if own and data - own:
                return True
            behind[index] = data | own
    return False
