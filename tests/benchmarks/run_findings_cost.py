"""What the findings of a training of 2,000 nodes x 2,000 steps cost, at first and as it grows.

``python -m tests.benchmarks.run_findings_cost`` prints seconds on the clock and of the processor for the
first answer, for one that is kept, and for one step more, and the greatest memory: of a training of which
only gradients were recorded, and of one with the steps of its optimizer and quantities.
"""

from __future__ import annotations

import dataclasses
import pathlib
import resource
import statistics
import tempfile
import time
from collections.abc import Callable

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record import EventFiles, read_logdir
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.session import Session
from tb_gradgraph.serve import Parameters, Reader, answer_run_findings
from tb_gradgraph.serve.evidence.recorded_course import RecordedCourse
from tb_gradgraph.statistics import STATISTICS, StatisticsTable
from tests.benchmarks.flow_cost import STEPS, log_long_training

LAYERS = 500  # of four nodes each
MORE = 20  # steps that are added one by one
_EVERY_CHUNK = 25


def log_optimizer_steps(logdir: pathlib.Path, graph: Graph) -> None:
    """Write what a watch with an optimizer records of each step, with made-up healthy numbers."""
    random = np.random.default_rng(0)
    is_parameter = np.zeros(graph.row_count, bool)
    for at, node in enumerate(graph.nodes):
        is_parameter[graph.slot_offsets[at]] = node.kind == "parameter"
    with SummaryWriter(str(logdir)) as writer:
        sink = WriterSink(writer)
        session = Session(sink.add_summary, flush_writer=sink.flush, torch_version="2.13")
        session.write_graph("net", graph)
        for step in range(STEPS):
            for stage, present in (
                ("backward", ~np.zeros_like(is_parameter)),
                ("applied", is_parameter),
            ):
                values = np.full((graph.row_count, len(STATISTICS)), np.nan)

                def put(name: str, numbers: object) -> None:
                    values[present, STATISTICS.index(name)] = numbers  # noqa: B023

                count = int(present.sum())
                put("l2_norm", np.exp(0.5 * random.standard_normal(count)))
                put("numel", 16)
                for name in ("nan", "posinf", "neginf"):
                    put(name, 0)
                quantities = {"loss": 1 / (1 + step), "grad_norm": 30 + random.standard_normal()}
                if stage == "applied":
                    put("weight_norm", 2 + 0.01 * random.standard_normal(count))
                    put("update_norm", 2e-3 * np.exp(0.5 * random.standard_normal(count)))
                    put("update_ratio", 1e-3 * np.exp(0.5 * random.standard_normal(count)))
                    quantities = {"lr/0": 1e-3, "weight_decay/0": 0.01}
                histogram = np.zeros((graph.row_count, StatisticsTable.empty(1).histogram.shape[1]))
                table = StatisticsTable(values, present, histogram.astype(np.uint16))
                place = ("net", graph.hash, step, 1.7e9 + step, 0)
                facts = {"objective": "loss", "stage": stage, "every_n_steps": 1}
                session.write_record(Record(*place, table, quantities=quantities, **facts))
            if step % _EVERY_CHUNK == 0:
                session.flush()
        session.close()


def measure(logdir: pathlib.Path) -> None:
    """Ask twice, then let the training grow, and print what it took."""
    reader = Reader(EventFiles(logdir))
    (run,) = reader.runs().values()
    parameters = Parameters({"run": run.name, "tag": "net"})
    for which in ("first answer", "kept answer"):
        _tell(which, *_timed(lambda: answer_run_findings(reader, parameters)))
    reader, kept = Reader(EventFiles(logdir)), None
    entries, took = reader.runs()[run.name].records["net"], []
    for last in range(STEPS - MORE - 1, STEPS):
        view = dataclasses.replace(
            run, records={"net": tuple(one for one in entries if one.step <= last)}
        )
        kept = kept or RecordedCourse(reader)
        took.append(_timed(lambda: kept.find(view, "net")))  # noqa: B023
    clock, processor = (list(some) for some in zip(*took[1:]))
    _tell("one step more (median)", statistics.median(clock), statistics.median(processor))
    _tell("one step more (longest)", max(clock), max(processor))
    print(f"kept: {kept.nbytes / 2**20:.0f} MiB")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{LAYERS * 4} nodes, {STEPS} steps, {len(entries)} records; at most {peak:.0f} MiB")


def _timed(ask: Callable[[], object]) -> tuple[float, float]:
    clock, processor = time.perf_counter(), time.process_time()
    ask()
    return time.perf_counter() - clock, time.process_time() - processor


def _tell(which: str, clock: float, processor: float) -> None:
    print(f"{which}: {clock:.4f} s on the clock, {processor:.4f} s of the processor")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        log_long_training(root / "gradients" / "run", LAYERS)
        measure(root / "gradients")
        (logged,) = read_logdir(root / "gradients")
        (graph,) = logged.graphs.values()
        log_optimizer_steps(root / "steps" / "run", graph)
        measure(root / "steps")
