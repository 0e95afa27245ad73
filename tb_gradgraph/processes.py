"""Which of the processes of a training this one is."""

from __future__ import annotations

import os

from torch import distributed


def process_rank() -> int:
    """Give this process's number among those of the training; 0 of the main one, or the only one."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    told = os.environ.get("RANK", "")  # by torchrun, to a process that has not joined yet
    return int(told) if told.isdecimal() else 0
