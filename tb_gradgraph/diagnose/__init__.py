"""Graph and statistics in, ranked findings out."""

from tb_gradgraph.diagnose.by_module import fold_by_module, tell_many
from tb_gradgraph.diagnose.finding import Finding
from tb_gradgraph.diagnose.not_optimized import rows_of_no_optimizer, updated_rows
from tb_gradgraph.diagnose.optimizer_step import OptimizerStep, find_in_step
from tb_gradgraph.diagnose.rules import findings, rank

__all__ = [
    "Finding",
    "OptimizerStep",
    "find_in_step",
    "findings",
    "fold_by_module",
    "rank",
    "rows_of_no_optimizer",
    "tell_many",
    "updated_rows",
]
