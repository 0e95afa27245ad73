"""Follows a training loop and makes the records of its steps."""

from tb_gradgraph.training.cadence import Cadence
from tb_gradgraph.training.idle import IdleWatch
from tb_gradgraph.training.own.own_calls import OwnCalls
from tb_gradgraph.training.own.own_numbers import OwnFound, OwnNumbers, OwnRows
from tb_gradgraph.training.own.own_reading import OwnGradients
from tb_gradgraph.training.own.own_selection import own_rows
from tb_gradgraph.training.own.registry import registered, statistic
from tb_gradgraph.training.quantities.group_settings import prefixes_of
from tb_gradgraph.training.reading.followed import followed, why_not_followed
from tb_gradgraph.training.reading.parameter_rows import Parameters
from tb_gradgraph.training.reading.structures import Structures
from tb_gradgraph.training.step.room import UPDATE_MEMORY
from tb_gradgraph.training.step.setting import Setting
from tb_gradgraph.training.watch import Watch

__all__ = [
    "Cadence",
    "IdleWatch",
    "OwnCalls",
    "OwnFound",
    "OwnGradients",
    "OwnNumbers",
    "OwnRows",
    "Parameters",
    "Setting",
    "Structures",
    "UPDATE_MEMORY",
    "Watch",
    "followed",
    "own_rows",
    "prefixes_of",
    "registered",
    "statistic",
    "why_not_followed",
]
