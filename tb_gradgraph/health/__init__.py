"""Answers whether the trainings in a log directory are healthy. Needs no torch."""

from tb_gradgraph.health.healthy import UnhealthyError, assert_healthy, counts
from tb_gradgraph.health.logged import findings, findings_of_run
from tb_gradgraph.health.trainings import Training, examine, examine_run, worst_first

__all__ = [
    "Training",
    "UnhealthyError",
    "assert_healthy",
    "counts",
    "examine",
    "examine_run",
    "findings",
    "findings_of_run",
    "worst_first",
]
