"""Tensors in, statistics out."""

from tb_gradgraph.summarize.batch import StatisticsBatch

__all__ = ["StatisticsBatch"]
