"""Computes statistics of tensors."""

from tb_gradgraph.summarize.arithmetic.elements import (
    computable,
    in_memory_order,
    is_computed,
    is_readable,
    real_floats,
    wide_dtype,
)
from tb_gradgraph.summarize.arithmetic.end_to_end import whole_arrays
from tb_gradgraph.summarize.arithmetic.norms import norms
from tb_gradgraph.summarize.arithmetic.sample import sample_limit
from tb_gradgraph.summarize.arithmetic.transfer import Transfer
from tb_gradgraph.summarize.batch import StatisticsBatch
from tb_gradgraph.summarize.keyed import ChosenStatistics, KeyedBatch
from tb_gradgraph.summarize.native import (
    SWITCH,
    NativeSnapshot,
    is_available,
    is_built,
    native_grad_states,
    native_norms,
)
from tb_gradgraph.summarize.pending import PendingStatistics

__all__ = [
    "ChosenStatistics",
    "KeyedBatch",
    "NativeSnapshot",
    "PendingStatistics",
    "SWITCH",
    "StatisticsBatch",
    "Transfer",
    "computable",
    "in_memory_order",
    "is_available",
    "is_built",
    "is_computed",
    "is_readable",
    "native_grad_states",
    "native_norms",
    "norms",
    "real_floats",
    "sample_limit",
    "whole_arrays",
    "wide_dtype",
]
