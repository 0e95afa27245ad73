"""Write the golden records of this format: ``python -m tests.golden.write_golden``.

Only where the writer changed what it writes, into files of a new name: old ones stay, for they
must be read forever. ``_v1`` are from before weights, optimizer steps and reasons, every row stored,
``_v1_2`` from before processes and placements, ``_v1_3`` from before quantities, ``_v1_4`` from
before values, ``_v1_5`` from before statistics of the user's own, ``_v1_6`` from before facts of trainings,
``_v1_7`` from before they said why nothing was recorded.
"""

from __future__ import annotations

import dataclasses
import pathlib
import struct

import numpy as np

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.own_statistics import OwnMeasure
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.encode import encode_chunk, encode_facts, encode_graph
from tb_gradgraph.record.format.envelope import Strings, seal
from tb_gradgraph.statistics import FORWARD, OF_PARAMETERS, OF_VALUES, STATISTICS, StatisticsTable
from tb_gradgraph.training_facts import GroupFacts, Names, OptimizerFacts, TrainingFacts
from tests.record.samples import make_graph, make_record, make_table, with_count

HERE = pathlib.Path(__file__).parent
#: In which form this writer writes each kind.
NEWEST = {"manifest": "v1_3", "graph": "v1_5", "statistics": "v1_8"}
_LENGTHS = struct.Struct("<II")


def make_first_records() -> list[Record]:
    """Return two tags, two stages, a structure without gradients, float64, whole tensors of all types."""
    graph = make_graph()
    whole = {
        0: np.array([[1.5, np.nan], [np.inf, -np.inf]], np.float32),
        2: np.array([1 / 3, -0.0, 1e-320]),
        3: np.array(2 + 1j, np.complex64),
        4: np.zeros((0, 3), np.complex128),
        5: np.array([2**63 - 1]),
        6: np.array([True, False]),
        7: np.array([2**64 - 1], np.uint64),
    }
    wide = make_record(graph, 2, stage="clipped", backward_pass=1)
    wide.table.values[0, 0] = 1e300
    records = [
        make_record(graph, 0, table=StatisticsTable.empty(graph.row_count)),
        make_record(graph, 1, gradients=whole, values={6: np.float32(0.25)}),
        wide,
        with_count(make_record(graph, -3, tag="other", objective="größer"), 2, "nan", 2**33),
    ]
    for record in records:
        later = (*OF_PARAMETERS, "update_spread", *OF_VALUES)
        record.table.values[:, [STATISTICS.index(name) for name in later]] = np.nan
    return records


def make_golden_records() -> list[Record]:
    """Return the first records, and an optimizer's step of which only one row has numbers."""
    graph = make_graph()
    others = tuple(range(1, graph.row_count))
    table = make_table(graph, 5, absent=others)
    step = make_record(graph, 5, stage="applied", table=table, loss_scale=1024.0)
    step = dataclasses.replace(step, skipped=True, every_n_steps=50, cost=0.0078125)
    watched = make_record(graph, 6, tag="watched", every_n_steps=50)
    for record in (step, watched):  # it was exact when these were written
        for name in ("update_spread", "exp_avg_norm", "exp_avg_sq_norm", *OF_VALUES):
            record.table.values[:, STATISTICS.index(name)] = np.nan
    *first, other = make_first_records()
    return [*first, step, other, watched]


def make_measured_records() -> list[Record]:
    """Return the same with quantities, and with a reason why one is missing."""
    first, second, *others = make_golden_records()
    numbers = {"grad_norm": 1 / 3, "loss": np.nan, "note/größe": -np.inf}
    first = dataclasses.replace(first, quantities=numbers)
    reasons = {"noise_scale": "The step had one backward pass."}
    second = dataclasses.replace(second, quantities={"lr/0": 0.1}, quantity_reasons=reasons)
    return [first, second, *others]


def make_records_of_values() -> list[Record]:
    """Return the same, after which come the values of two of their forwards."""
    graph = make_graph()
    forwards = []
    for step in (1, -3):
        table = make_table(graph, 7 + step, absent=(2,))
        for name in (*OF_PARAMETERS, "update_spread"):
            table.values[:, STATISTICS.index(name)] = np.nan
        whole = {1: np.float32(0.5)}
        forwards.append(make_record(graph, step, stage=FORWARD, table=table, values=whole))
    return [*make_measured_records(), *forwards]


def make_own_records() -> list[Record]:
    """Return the same with numbers of the user's own statistics."""
    first, second, *others = make_records_of_values()
    own = {"rank": {0: 1 / 3, 8: np.inf}, "share/größe": {2: np.nan}, "never": {}}
    measures = {
        "rank": OwnMeasure("gradient", "", "lower"),
        "share/größe": OwnMeasure("gradient", "%", "", "at lin/mm: ValueError: no"),
        "never": OwnMeasure("gradient", reason="at x: TypeError"),
    }
    return [first, dataclasses.replace(second, own=own, own_measures=measures), *others]


def make_facts() -> TrainingFacts:
    """Return the facts of a training, all of which differ from those of no training."""
    groups = (
        GroupFacts({"lr": 1 / 3, "betas/0": 0.9}, 3, Names(("lin.w", "größe"), 2)),
        GroupFacts({"lr": np.inf}, 1),
    )
    return TrainingFacts(
        tag="net",
        step=7,
        parameters=300,
        elements=2**40,
        frozen=2,
        dtypes={"float32": 299, "bfloat16": 1},
        is_training=False,
        has_scaler=True,
        is_opaque=True,
        optimizers=(OptimizerFacts("AdamW", groups, 1), OptimizerFacts("SGD")),
        unoptimized=Names(("b",), 270),
        held_twice=Names(("lin.w",), 1),
        equal=(Names(("a", "b"), 2), Names(("c", "d"), 20)),
        evaluating=Names(("bn",), 1),
        outer_evaluating=Names(("bn", "encoder"), 2),
        unregistered=Names(("blocks",), 1),
        early_clips=Names(("train.py:12 in train",), 1),
        why_nothing="nothing was recorded: größe",
    )


def make_newest_chunk() -> pb.StatisticsChunk:
    """Return records with all that a chunk may hold, and facts of a training."""
    chunk = encode_chunk(make_own_records(), stride=2)
    encode_facts(chunk, [make_facts()])
    return chunk


def make_graph_of_calls() -> Graph:
    """Return a graph with a node that a call made together with others."""
    placed = make_placed_graph()
    first, *others = placed.nodes
    first = dataclasses.replace(first, inside="cross_entropy")
    return Graph((first, *others), placed.edges, placed.scopes)


def make_golden_graph() -> Graph:
    """Return a graph with a reason why no gradient arrives."""
    graph = make_graph()
    note = "Cut off from the loss by detach (net.py:7 in forward)."
    first = dataclasses.replace(graph.nodes[0], reason="cut", note=note)
    return Graph((first, *graph.nodes[1:]), graph.edges, graph.scopes)


def make_placed_graph() -> Graph:
    """Return the same, of some of whose gradients a process has a part."""
    return make_golden_graph().placed({0: "fsdp:S0,tp:R", 1: "tp:R"})


def make_golden_messages() -> dict[str, pb.Manifest | pb.GraphRecord | pb.StatisticsChunk]:
    """Return one message of each kind."""
    session = "00000000000000abcdef"
    manifest = pb.Manifest(
        session=session, writer_version="0.1.0", torch_version="2.13.0", start_time=1.7e9,
        rank=3, world_size=4, run_id="a training",
        mesh_name=["fsdp", "tp"], mesh_size=[2, 2], mesh_place=[1, 1],
    )  # fmt: skip
    return {
        "manifest": manifest,
        "graph": encode_graph(make_graph_of_calls()),
        "statistics": make_newest_chunk(),
    }


def read_golden(name: str) -> Strings:
    """Read header and payload of a golden record: two lengths, then the two strings."""
    content = (HERE / name).read_bytes()
    header, payload = _LENGTHS.unpack_from(content)
    start = _LENGTHS.size
    assert len(content) == start + header + payload
    return content[start : start + header], content[start + header :]


if __name__ == "__main__":
    for kind, message in make_golden_messages().items():
        path = HERE / f"{kind}_{NEWEST[kind]}.bin"
        if path.exists():
            continue
        strings = seal(message)
        lengths = _LENGTHS.pack(*map(len, strings))
        path.write_bytes(lengths + b"".join(strings))
