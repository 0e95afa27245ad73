"""What the findings of a training of 2,000 nodes x 2,000 steps cost.

``python -m tests.benchmarks.run_findings_cost`` prints seconds on the clock and of the processor for the
first answer, for one that is kept, and the greatest memory.
"""

from __future__ import annotations

import pathlib
import resource
import tempfile
import time

from tb_gradgraph.record import EventFiles
from tb_gradgraph.serve import Parameters, Reader, answer_run_findings
from tests.benchmarks.flow_cost import STEPS, log_long_training

LAYERS = 500  # of four nodes each


def measure(logdir: pathlib.Path) -> None:
    """Ask twice, and print what it took."""
    reader = Reader(EventFiles(logdir))
    parameters = Parameters({"run": next(iter(reader.runs())), "tag": "net"})
    for which in ("first answer", "kept answer"):
        clock, processor = time.perf_counter(), time.process_time()
        answer_run_findings(reader, parameters)
        took = time.perf_counter() - clock, time.process_time() - processor
        print(f"{which}: {took[0]:.4f} s on the clock, {took[1]:.4f} s of the processor")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{LAYERS * 4} nodes, {STEPS} steps; at most {peak:.0f} MiB")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        log_long_training(pathlib.Path(directory) / "run", LAYERS)
        measure(pathlib.Path(directory))
