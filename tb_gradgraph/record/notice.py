"""Warnings from threads of ours, where raising would end them."""

from __future__ import annotations

import logging
import warnings

_logger = logging.getLogger(__name__)


def warn(text: str) -> None:
    """Warn the user; where the user's filters make an error of it, log it."""
    try:
        warnings.warn(f"tb_gradgraph: {text}", RuntimeWarning, stacklevel=3)
    except RuntimeWarning:  # training goes on all the same
        _logger.error("tb_gradgraph: %s", text)
