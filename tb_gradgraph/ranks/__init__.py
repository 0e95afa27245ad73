"""Joins what the processes of one training recorded, each its own part. Needs no torch."""

from tb_gradgraph.ranks.joined_run import join_ranks, rank_directory, rank_of
from tb_gradgraph.ranks.joining import Joining, Place, are_of_one, place_of, tell_other

__all__ = [
    "Joining",
    "Place",
    "are_of_one",
    "join_ranks",
    "place_of",
    "rank_directory",
    "rank_of",
    "tell_other",
]
