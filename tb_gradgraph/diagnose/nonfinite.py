"""Find where NaN and infinity began, in the order in which the backward ran."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, describe_node, tell
from tb_gradgraph.diagnose.forward.overflow import is_overflow
from tb_gradgraph.diagnose.structure.kept_with_graph import kept_with_graph
from tb_gradgraph.graph import Graph
from tb_gradgraph.statistics import NONFINITE, NONFINITE_COLUMNS, STATISTICS, StatisticsTable

#: How many gradients are named that NaN or infinity only reached.
MAX_NAMED = 5

_COUNTS = {name: STATISTICS.index(name) for name in (*NONFINITE, "numel")}


@dataclasses.dataclass(frozen=True, slots=True)
class _State:
    """What is known about a gradient: whether it holds NaN, and whether it holds any non-finite element."""

    nan: bool
    nonfinite: bool


_MAY_BE_OF_FORWARD = (
    " Values were not recorded, so the forward may have made it already: values=True tells."
)
_SKIPS = "the scaler skips the step and lowers it"
_FINITE = _State(False, False)
_CAME_IN = {
    "nonfinite_origin": "the gradient came in finite",
    "nan_victim": "infinity came in",
}


def find_nonfinite(
    graph: Graph,
    table: StatisticsTable,
    forward_origin: str,
    values_are_known: bool = True,
    loss_scale: float = 1.0,
) -> Iterator[Finding]:
    """Find the nodes where NaN and infinity began, and the nodes that they reached.

    An *origin* sent a non-finite gradient although it got a finite one, or is a root that started
    with a non-finite one. A *victim* turned infinity into NaN, as ``inf * 0`` does. If a node's own
    gradient was not recorded, the nearest recorded nodes towards the loss are used instead.

    Args:
        graph: The graph that the pass ran over.
        table: Statistics of its gradients.
        forward_origin: Where in the forward they already began; "" if they did not. No operation of
            the backward is then to blame.
        values_are_known: Whether values of the forward were recorded. If not, it is said that the
            forward may have made them.
        loss_scale: The factor of a GradScaler. If it alone can have made them, all are notes.
    """
    if not (table.values[table.present][:, NONFINITE_COLUMNS] > 0).any():
        return
    states = _read_states(table)
    turns = [] if forward_origin else list(_find_turns(graph, table, states, loss_scale))
    origins = [turn for turn in turns if turn.finding.kind == "nonfinite_origin"]
    is_mild = bool(origins) and all(turn.is_overflow for turn in origins)
    for turn in turns:
        yield _finish(turn.finding, values_are_known, is_mild)
    told = {turn.row for turn in turns}
    rest = [row for row, state in states.items() if state.nonfinite and row not in told]
    why = f" They came from the forward: it began at {forward_origin}." if forward_origin else ""
    for found in _list_reached(graph, table, rest, "" if forward_origin else "further ", why):
        yield _milder(found) if is_mild else found


@dataclasses.dataclass(frozen=True, slots=True)
class _Turn:
    """A place where the gradient became non-finite: the row that shows it, and the finding."""

    row: int
    finding: Finding
    is_overflow: bool = False  # whether the factor of a GradScaler may have done it


def _finish(found: Finding, values_are_known: bool, is_mild: bool) -> Finding:
    if is_mild:
        text = f"{found.text} The factor of the GradScaler can have made it: {_SKIPS}."
        return _milder(dataclasses.replace(found, text=text))
    if not values_are_known and found.kind == "nonfinite_origin":
        return dataclasses.replace(found, text=found.text + _MAY_BE_OF_FORWARD)
    return found


def _milder(found: Finding) -> Finding:
    return tell(found.kind, found.row, found.node, found.text, is_mild=True)


def _read_states(table: StatisticsTable) -> dict[int, _State]:
    """Return the state of every row that has a gradient."""
    nan = table.values[:, _COUNTS["nan"]] > 0
    nonfinite = np.asarray((table.values[:, NONFINITE_COLUMNS] > 0).any(axis=1))
    return {
        row: _State(bool(nan[row]), bool(nonfinite[row]))
        for row in np.flatnonzero(table.present).tolist()
    }


@kept_with_graph
def _consumers(graph: Graph) -> list[list[int]]:
    """List, for each slot, the nodes that use it."""
    users: list[list[int]] = [[] for _ in range(graph.slot_count)]
    for edge in graph.edges:
        users[int(graph.slot_offsets[edge.source]) + edge.source_slot].append(edge.target)
    return users


def _incoming_states(graph: Graph, states: dict[int, _State]) -> list[_State]:
    """Return the state of the gradient that each node got, from its slots or the nearest recorded ones."""
    users = _consumers(graph)
    incoming = [_FINITE] * len(graph.nodes)
    for index in reversed(range(len(graph.nodes))):
        start, end = graph.slot_offsets[index : index + 2].tolist()
        found: list[_State] = []
        for row in range(start, end):
            known = states.get(row)
            found += [known] if known else [incoming[user] for user in users[row]]
        incoming[index] = _State(
            any(state.nan for state in found), any(state.nonfinite for state in found)
        )
    return incoming


def _find_turns(
    graph: Graph, table: StatisticsTable, states: dict[int, _State], loss_scale: float
) -> Iterator[_Turn]:
    """Yield where the gradient became non-finite."""
    for row, finding in _find_bad_roots(graph, table, states):
        yield _Turn(row, finding)
    incoming = _incoming_states(graph, states)
    told: set[tuple[str, int, str]] = set()
    for sent in _list_sent(graph, states):
        came = [incoming[user] for user in sent.users]
        came_in = _State(any(one.nan for one in came), any(one.nonfinite for one in came))
        turn = _turn(came_in, states.get(sent.row, _FINITE))
        if turn is None:
            continue
        start, end = graph.slot_offsets[sent.users[0] : sent.users[0] + 2].tolist()
        is_seen = len(sent.users) == 1 and any(row in states for row in range(start, end))
        blamed = ("node", sent.users[0], turn) if is_seen else ("row", sent.row, turn)
        if blamed in told:
            continue
        told.add(blamed)
        is_scaled = is_overflow(graph, table, sent.source, sent.users, loss_scale)
        if is_seen:
            node = graph.nodes[sent.users[0]]
            text = f"{_CAME_IN[turn]}, and {_count(table, sent.row)} left it."
            text = f"{describe_node(graph, node)}: {text}"
            yield _Turn(sent.row, tell(turn, start, node.name, text), is_scaled)
        else:
            yield _Turn(sent.row, _turned_unseen(graph, table, turn, sent), is_scaled)


@dataclasses.dataclass(frozen=True, slots=True)
class _Sent:
    """A gradient with a row, and the nodes that sent it; several if only their sum was read."""

    row: int
    source: int
    users: tuple[int, ...]


def _list_sent(graph: Graph, states: Mapping[int, _State]) -> list[_Sent]:
    """List the gradients that nodes sent, in backward order.

    If a slot has several users and the share of one was not read, the slot's gradient says
    something about all of them together, but not about a single one.
    """
    users: dict[tuple[int, int], set[int]] = {}
    for edge, row in zip(graph.edges, graph.edge_rows.tolist()):
        if not graph.nodes[edge.target].requires_grad:
            continue  # it uses the slot's values and sends no gradient back
        if row not in states:
            row = int(graph.slot_offsets[edge.source]) + edge.source_slot
        users.setdefault((row, edge.source), set()).add(edge.target)
    sent = [_Sent(row, source, tuple(sorted(found))) for (row, source), found in users.items()]
    return sorted(sent, key=lambda one: -one.users[-1])


def _turned_unseen(graph: Graph, table: StatisticsTable, turn: str, sent: _Sent) -> Finding:
    """Say that the gradient became non-finite among nodes that were not read, and where it first shows."""
    node, row = graph.nodes[sent.source], sent.row
    if len(sent.users) > 1:
        names = ", ".join(graph.nodes[user].name for user in sent.users[:MAX_NAMED])
        names += " .." if len(sent.users) > MAX_NAMED else ""
        text = (
            f"{describe_node(graph, node)}: {_CAME_IN[turn]} at each of the {len(sent.users)} "
            f"operations that use it ({names}), and {_count(table, row)} left them together. "
            "What each of them sent was not recorded."
        )
        return tell(turn, row, node.name, text)
    text = (
        f"Somewhere between the loss and {describe_node(graph, node)}: at the last recorded nodes "
        f"before it {_CAME_IN[turn]}, and it shows {_count(table, row)}. The nodes between were not "
        'recorded; a watch with level="op" reads every one.'
    )
    return tell(turn, row, node.name, text)


def _turn(incoming: _State, outgoing: _State) -> str | None:
    """Say how a node made the gradient worse, if it did."""
    if outgoing.nonfinite and not incoming.nonfinite:
        return "nonfinite_origin"
    if outgoing.nan and not incoming.nan:
        return "nan_victim"
    return None


def _find_bad_roots(
    graph: Graph, table: StatisticsTable, states: dict[int, _State]
) -> Iterator[tuple[int, Finding]]:
    users = _consumers(graph)
    for index, node in enumerate(graph.nodes):
        for row in range(*graph.slot_offsets[index : index + 2].tolist()):
            if not users[row] and row in states and states[row].nonfinite:
                text = (
                    f"{describe_node(graph, node)}: the backward began with {_count(table, row)}."
                )
                yield row, tell("nonfinite_origin", row, node.name, text)


def _list_reached(
    graph: Graph, table: StatisticsTable, rows: list[int], further: str, why: str
) -> Iterator[Finding]:
    owners = np.searchsorted(graph.slot_offsets, rows, side="right") - 1
    slots = [
        (row, graph.nodes[owner]) for row, owner in zip(rows, owners) if row < graph.slot_count
    ]
    if not slots:
        return
    slots.sort(key=lambda pair: (pair[1].kind != "parameter", -pair[0]))
    row, first = slots[0]
    if len(slots) == 1:
        text = f"{describe_node(graph, first)}: {_count(table, row)}."
    else:
        names = ", ".join(node.name for _, node in slots[:MAX_NAMED])
        more = f" and {len(slots) - MAX_NAMED} more" if len(slots) > MAX_NAMED else ""
        text = f"{len(slots)} {further}gradients are not finite: {names}{more}."
    yield tell("nonfinite", row, first.name, text + why)


def _count(table: StatisticsTable, row: int) -> str:
    numbers = table.values[row]
    words = {"nan": "NaN", "posinf": "+inf", "neginf": "-inf"}
    parts = [
        f"{numbers[_COUNTS[name]]:.0f} {word}"
        for name, word in words.items()
        if numbers[_COUNTS[name]] > 0
    ]
    return f"{', '.join(parts) or 'no non-finite'} of {numbers[_COUNTS['numel']]:.0f} elements"
