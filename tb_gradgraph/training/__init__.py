"""Follows a training loop and makes the records of its steps."""

from tb_gradgraph.training.cadence import Cadence
from tb_gradgraph.training.idle import IdleWatch
from tb_gradgraph.training.quantities.group_settings import prefixes_of
from tb_gradgraph.training.quantities.totals import grad_norm
from tb_gradgraph.training.reading.followed import followed, why_not_followed
from tb_gradgraph.training.reading.parameter_rows import Parameters
from tb_gradgraph.training.reading.structures import Structures
from tb_gradgraph.training.step.room import UPDATE_MEMORY
from tb_gradgraph.training.step.setting import Setting
from tb_gradgraph.training.watch import Watch

__all__ = [
    "Cadence",
    "IdleWatch",
    "Parameters",
    "Setting",
    "Structures",
    "UPDATE_MEMORY",
    "Watch",
    "followed",
    "grad_norm",
    "prefixes_of",
    "why_not_followed",
]
