"""What handing one recorded step to the writing thread costs the training's thread."""

from __future__ import annotations

import statistics
import tempfile
import time

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from tb_gradgraph.graph import Graph, Node, Record, Slot
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.session import Session
from tb_gradgraph.statistics import HISTOGRAM_BINS, STATISTICS, StatisticsTable
from tests.benchmarks.measure import Figure

SLOTS = 2000
STEPS = 200


def make_graph() -> Graph:
    slot = Slot("", (64, 64), "float32")
    nodes = (
        Node(f"#0/Mul.{nr}", f"mul.{nr}", "operation", "MulBackward0", -1, (slot,), False)
        for nr in range(SLOTS)
    )
    return Graph(tuple(nodes), (), ())


def make_record(graph: Graph, step: int, random: np.random.Generator) -> Record:
    table = StatisticsTable(
        random.random((SLOTS, len(STATISTICS))),
        np.ones(SLOTS, bool),
        random.integers(0, 4096, (SLOTS, HISTOGRAM_BINS)).astype(np.uint16),
    )
    return Record("benchmark", graph.hash, step, time.time(), 0, table, objective="loss")


def measure_enqueueing() -> list[Figure]:
    graph, random = make_graph(), np.random.default_rng(0)
    records = [make_record(graph, step, random) for step in range(STEPS)]
    times = []
    with tempfile.TemporaryDirectory() as logdir, SummaryWriter(logdir) as writer:
        sink = WriterSink(writer)
        session = Session(sink.add_summary, flush_writer=sink.flush)
        session.write_graph("benchmark", graph)
        for record in records:
            start = time.perf_counter()
            session.write_record(record)
            times.append(time.perf_counter() - start)
            time.sleep(0.005)  # a training's step, in which the other thread works
        session.close()
    microseconds = 1e6 * statistics.median(times)
    name = f"enqueueing one recorded step of {SLOTS:,} slots, on the caller's thread"
    return [Figure(name, microseconds, "us", 1000)]
