"""Tensors in, statistics out."""

from tb_gradgraph.summarize.arithmetic.norms import norms
from tb_gradgraph.summarize.batch import StatisticsBatch
from tb_gradgraph.summarize.pending import PendingStatistics

__all__ = ["PendingStatistics", "StatisticsBatch", "norms"]
