"""Finds what looks wrong in a graph and its statistics, ranked by severity."""

from tb_gradgraph.diagnose.finding import Finding
from tb_gradgraph.diagnose.kinds import KINDS, SEVERITIES
from tb_gradgraph.diagnose.magnitude import cancelled_rows
from tb_gradgraph.diagnose.missing import who_gave_none
from tb_gradgraph.diagnose.not_optimized import is_stranger, join_tables, rows_of_no_optimizer
from tb_gradgraph.diagnose.optimizer_step import OptimizerStep, find_in_step
from tb_gradgraph.diagnose.rules import findings, rank
from tb_gradgraph.diagnose.run import Course, RunFinding, course_of, find_in_course
from tb_gradgraph.diagnose.structure.by_module import fold_by_module, tell_many

__all__ = [
    "KINDS",
    "SEVERITIES",
    "Course",
    "Finding",
    "OptimizerStep",
    "RunFinding",
    "cancelled_rows",
    "course_of",
    "find_in_course",
    "find_in_step",
    "findings",
    "fold_by_module",
    "is_stranger",
    "join_tables",
    "rank",
    "rows_of_no_optimizer",
    "tell_many",
    "who_gave_none",
]
