"""Joins what the processes of one training recorded, each its own part. Needs no torch."""

from tb_gradgraph.ranks.joined_run import join_ranks, rank_directory, rank_of

__all__ = ["join_ranks", "rank_directory", "rank_of"]
