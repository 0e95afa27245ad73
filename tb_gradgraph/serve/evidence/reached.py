"""Find parameters that got no gradient in one record, but get one in others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tb_gradgraph.diagnose import is_stranger
from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader

#: How many records before, and how many after, are looked at.
_ASKED = 8


def list_reached(reader: Reader, run: RunView, entry: Entry, graph: Graph) -> Collection[int]:
    """List the rows that this pass left out and that others do not.

    These are parameters with a gradient in another pass of the same step, or both before and after
    it: those of idle experts, of the other net of a GAN, of dropped layers. A copy of the model's
    weights that an optimizer steps on may also have got its gradient by hand, at any stage.
    """
    if entry.stage != "backward" or reader.present(run, entry)[: graph.slot_count].all():
        return ()
    every = run.records[entry.tag]
    passes = [one for one in every if one.stage == "backward"]
    same = [one for one in passes if one.step == entry.step and one != entry]
    before = [one for one in passes if one.step < entry.step][-_ASKED:]
    after = [one for one in passes if one.step > entry.step][:_ASKED]
    keys = _keys(reader, run, same) | (_keys(reader, run, before) & _keys(reader, run, after))
    strangers = {f"{node.key}:0" for node in graph.nodes if is_stranger(node)}
    if strangers:
        stages = [one for one in every if one.stage not in ("backward", "forward")]
        keys |= strangers & _keys(reader, run, stages[:_ASKED])
    return frozenset(row for row, key in enumerate(graph.row_keys) if key in keys)


def _keys(reader: Reader, run: RunView, entries: Sequence[Entry]) -> set[str]:
    return reader.keys_with(run, entries, "l2_norm")
